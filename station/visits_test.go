package station

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
)

func TestExplore(t *testing.T) {
	binary, err := chromium.Find("")
	if err != nil {
		t.Skip(err)
	}
	page, err := site.Objects(8, 5000)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Lab: lab.Config{AccessLinks: 1, InstantDNS: true, TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304}},
		Chromium: binary, ForceQUIC: page.Origins(), Authority: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	link := network.Link{Delay: 20 * time.Millisecond}
	path := network.Path{Name: "one", Access: []network.Access{{Name: "access", Up: link, Down: link}}}
	for _, p := range []string{"https/1.1", "h2", "h3"} {
		for _, v := range []string{"cold", "resumed", "0rtt", "connected", "cached"} {
			if v == "0rtt" && p != "h3" {
				continue
			}
			dir := filepath.Join("/tmp/team/explore", fmt.Sprintf("%s-%s", p[:2], v))
			os.RemoveAll(dir)
			os.MkdirAll(dir, 0o755)
			r, err := s.Load(t.Context(), Order{Loader: Chromium, Protocol: p, Path: path, Seed: 1, TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Timeout: 20 * time.Second, Visit: v}, page, dir)
			if err != nil {
				t.Fatal(err)
			}
			conns, resumed, early, status := map[int64]bool{}, map[int64]bool{}, 0, map[int]int{}
			for _, e := range r.Server {
				conns[e.Connection] = true
				if e.Resumed {
					resumed[e.Connection] = true
				}
				if e.EarlyData {
					early++
				}
				status[e.Status]++
			}
			cache := map[string]int{}
			hs := map[int]int{}
			if r.HAR != nil {
				for _, e := range r.HAR.Log.Entries {
					cache[e.FromCache]++
					hs[e.Response.Status]++
				}
			}
			t.Logf("%-10s %-10s err=%v requests=%d %v conns=%v resumed=%d early=%d har cache=%v status=%v ttfb=%.1f onload=%.1f dns=%d", p, v, r.LoadError, len(r.Server), status, keys(conns), len(resumed), early, cache, hs, r.Timing.TTFB, r.Timing.OnLoad, r.DNSQueries)
		}
	}
}

func keys(m map[int64]bool) []int64 {
	var out []int64
	for k := range m {
		out = append(out, k)
	}
	return out
}
