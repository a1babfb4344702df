package firefox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// TestWhatFirefoxKeepsOfAVisit checks what docs/measuring.md says of Firefox when it returns to a
// page and when it reloads it: it requests the document alone, on an open connection, although all
// of the page's responses have validators.
func TestWhatFirefoxKeepsOfAVisit(t *testing.T) {
	needtest.Long(t)
	page, err := site.Make(site.Spec{
		Name: "page", Objects: 12, Domains: 1, Total: 60_000, Sizes: site.SizesEqual, Depth: 2, Mix: site.Mix2013(), Seed: 1, Validators: true,
	})
	must(t, err)
	for _, quic := range []bool{false, true} {
		b := newBenchWith(t, quic, page.Origins()...)
		for _, p := range protocol.All() {
			if p.NoBrowser != "" || quic != (p.Transport == "udp") {
				continue
			}
			for _, visit := range []string{"again", "reload"} {
				t.Run(strings.ReplaceAll(p.Name, "/", "-")+" "+visit, func(t *testing.T) {
					v, err := b.browser.Open(t.Context(), nil)
					must(t, err)
					dir := t.TempDir()
					link := network.Link{Delay: 5 * time.Millisecond}
					r, err := pageload.Run(t.Context(), b.lab, pageload.Load{Order: pageload.Order{
						Path: network.Path{Name: "test", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 1,
						TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: p.Name, Visit: visit, Timeout: time.Minute,
					}, Site: page, Authority: b.authority, Session: v, Dir: dir})
					must(t, err)
					must(t, r.LoadError)
					ev := &evidence.Evidence{
						Protocol: p.Name, Visit: visit, HAR: r.HAR, Server: r.Server, Packets: labtest.ReadCapture(t, dir), Timing: r.Timing, ServerLost: r.ServerLost,
					}
					for _, violation := range metric.Pages().Violations(ev) {
						t.Errorf("rule %d is broken: %s", violation.Rule, violation.Detail)
					}
					if len(r.Server) != 1 || r.Server[0].Status != 304 || r.Server[0].URL != r.HAR.Log.Entries[0].Request.URL {
						t.Errorf("the server saw %+v, want one conditional request for the document", r.Server)
					}
					cached := slices.ContainsFunc(r.HAR.Log.Entries, func(e capture.Entry) bool { return e.FromCache != "" })
					if !cached || r.Timing.OnLoad <= 0 || r.DNSQueries > 0 {
						t.Errorf("from the cache: %v; onLoad %v; %d queries", cached, r.Timing.OnLoad, r.DNSQueries)
					}
				})
			}
		}
	}
}
