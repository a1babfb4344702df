package lab

import (
	"os"
	"strings"
	"testing"

	"wiretime/network"
)

// TestTCPWindow checks that a TCP window limits the buffers on both hosts, and that the lab's own buffers are
// restored for the next hosts without one.
func TestTCPWindow(t *testing.T) {
	l := newLab(t)
	path := network.Path{Name: "free", Access: []network.Access{{Name: "access"}}}
	for _, c := range []struct {
		window     int
		rmem, wmem string
	}{
		{0, "4096 131072 6291456", "4096 16384 4194304"},
		{65536, "4096 65536 65536", "4096 16384 65536"},
		{33554432, "4096 131072 33554432", "4096 16384 33554432"},
		{0, "4096 131072 6291456", "4096 16384 4194304"},
	} {
		tcp := renoTen
		tcp.Window = c.window
		h, err := l.Prepare(path, tcp)
		if err != nil {
			t.Fatal(err)
		}
		for name, host := range map[string]*Namespace{"client": h.Client, "server": h.Server} {
			for parameter, want := range map[string]string{"tcp_rmem": c.rmem, "tcp_wmem": c.wmem} {
				var text []byte
				err := host.Do(func() (err error) {
					text, err = os.ReadFile("/proc/sys/net/ipv4/" + parameter)
					return err
				})
				if got := strings.Join(strings.Fields(string(text)), " "); err != nil || got != want {
					t.Errorf("window %d: the %s's %s is %s, %v; want %s", c.window, name, parameter, got, err, want)
				}
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSACK checks that selective acknowledgements are switched off on both hosts, and on again for the next hosts.
func TestSACK(t *testing.T) {
	l := newLab(t)
	path := network.Path{Name: "free", Access: []network.Access{{Name: "access"}}}
	for _, off := range []bool{false, true, false} {
		tcp := renoTen
		tcp.NoSACK = off
		h, err := l.Prepare(path, tcp)
		if err != nil {
			t.Fatal(err)
		}
		for name, host := range map[string]*Namespace{"client": h.Client, "server": h.Server} {
			var text []byte
			err := host.Do(func() (err error) {
				text, err = os.ReadFile("/proc/sys/net/ipv4/tcp_sack")
				return err
			})
			if isOff := strings.TrimSpace(string(text)) == "0"; err != nil || isOff != off {
				t.Errorf("off %t: the %s's tcp_sack is %q, %v", off, name, text, err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
