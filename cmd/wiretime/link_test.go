package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
)

// TestLinkDelaysAndCaptures fetches from a server outside the link and looks at
// how long it took, at the command's exit code and at the capture. Links put
// behind links add up.
func TestLinkDelaysAndCaptures(t *testing.T) {
	t.Parallel()
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			// The inner link leads to the namespace behind the outer one, where
			// the server listens.
			script := `cd "$1" && (python3 -m http.server 8000 --bind 100.64.1.2 >/dev/null 2>&1 & echo $! >pid)
for i in $(seq 100); do python3 -c 'import socket; socket.create_connection(("100.64.1.2", 8000))' 2>/dev/null && break; done
"$0" link --delay 30ms --rate 10mbit --pcap inner.pcapng -- sh -c 'curl -s -o /dev/null -w "%{time_connect}" http://100.64.1.2:8000/ && exit 7'
code=$?; kill $(cat pid); exit $code`
			r := u.run(t, "link", "--rtt", "200ms", "--", "sh", "-c", script, binary, u.home)
			if r.code != 7 {
				t.Fatalf("exit code %d, want the command's own 7: %s", r.code, r.errors)
			}
			seconds, err := strconv.ParseFloat(strings.TrimSpace(r.out), 64)
			if err != nil {
				t.Fatalf("curl printed %q", r.out)
			}
			if rtt := 60 * time.Millisecond; seconds < rtt.Seconds() {
				t.Errorf("connected in %g s, in less than the link's RTT of %v", seconds, rtt)
			}
			file, err := os.Open(filepath.Join(u.home, "inner.pcapng"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			packets, err := capture.ReadPcapng(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(packets.Records) < 10 {
				t.Errorf("the capture holds %d packets", len(packets.Records))
			}
		})
	}
}

// TestNetworks lists the named networks, each with its delay and its source.
func TestNetworks(t *testing.T) {
	t.Parallel()
	r := self(t).run(t, "networks")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	for _, name := range []string{"3g-weak", "wlan-good", "lulic-100k-10ms", "lulic-10240k-500ms", "perl-237ms", "lte", "cable", "satellite-geo"} {
		if !strings.Contains(r.out, "\n"+name+" ") {
			t.Errorf("network %s is not listed", name)
		}
	}
	one := self(t).run(t, "networks", "perl-237ms")
	if !strings.Contains(one.out, "118.5ms") || !strings.Contains(one.out, "source:") {
		t.Errorf("one network in full:\n%s", one.out)
	}
}
