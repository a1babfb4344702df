package studyfile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wiretime/network"
	"wiretime/study"
)

const liveStudy = `name: real-sites
repeats: 3
clock: live
matrix:
  sites: [https://www.example.com, "https://a.example/page?q=1"]
  protocols: [http/1.1, https/1.1, h2, h3]
  loaders: [chromium, builtin]
`

// liveWords are words with loaders that can load a URL, and one that cannot.
func liveWords() Vocabulary {
	w := words
	w.Loaders = []string{"chromium", "builtin", "fetch"}
	return w
}

// TestLive reads a study of real sites: its cells are on the live clock and have what this machine has.
func TestLive(t *testing.T) {
	for _, text := range []string{liveStudy, strings.Replace(liveStudy, "  protocols", "  networks: [live]\n  protocols", 1), strings.Replace(liveStudy, "clock: live", "clock: [live]", 1)} {
		s, err := Parse("study.yaml", []byte(text), liveWords())
		if err != nil {
			t.Fatal(err)
		}
		cells := s.Cells(nil)
		if !s.Live() || len(cells) != 16 {
			t.Fatalf("live %v, %d cells", s.Live(), len(cells))
		}
		c := cells[0]
		for axis, want := range map[study.Axis]string{
			study.AxisSite: "https://www.example.com/", study.AxisNetwork: network.Live, study.AxisClock: study.ClockLive,
			study.AxisCongestion: study.System, study.AxisInitCwnd: study.System, study.AxisVisit: study.VisitCold,
		} {
			if got := c.On(axis); got != want {
				t.Errorf("%s is %q, want %q", axis, got, want)
			}
		}
		if c.Network.Name != network.Live {
			t.Errorf("the network is %+v", c.Network)
		}
		if !slices.Contains(s.Matrix[study.AxisSite], "https://a.example/page?q=1") {
			t.Errorf("the sites are %q", s.Matrix[study.AxisSite])
		}
		if err := s.UseClock(study.ClockVirtual); err == nil {
			t.Error("another clock is accepted")
		}
	}
}

// TestLiveClaims: tables and claims name a site with or without its last slash.
func TestLiveClaims(t *testing.T) {
	text := liveStudy + `claims:
  - text: HTTP/2 is faster.
    metric: plt
    compare: {protocol: h2}
    to: {protocol: https/1.1}
    for: {site: https://www.example.com}
    ratio: below 1
`
	s, err := Parse("study.yaml", []byte(text), liveWords())
	if err != nil {
		t.Fatal(err)
	}
	if pairs := s.Claims[0].Pairs(s.Cells(nil)); len(pairs) != 2 {
		t.Errorf("%d pairs, want 2", len(pairs))
	}
}

// TestLiveSaysWhereAndWhatToDo: what cannot be said of somebody else's site is refused where it stands, with the reason.
func TestLiveSaysWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		old, new, position, says string
	}{
		{"https://www.example.com", "world-flags", "5:11", `invalid site "world-flags": want http or https and a host; on the live clock, sites are URLs`},
		{"https://www.example.com", "https://me:pw@a.example/", "5:11", "a store would keep its password"},
		{"https://www.example.com", "https://a.example/#top", "5:11", "the fragment behind # is not sent"},
		{"https://www.example.com", "ftp://a.example/", "5:11", "want http or https and a host"},
		{"https://www.example.com", "https://a.example:8443/", "5:3", "https://a.example:8443/ names a port, on which http/1.1 is not to be expected"},
		{"clock: live", "clock: virtual", "5:11", "is a URL, which only the live clock loads; write clock: live, or record the site"},
		{"clock: live", "clock: [real, live]", "3:15", "live cannot be combined with other clocks"},
		{"builtin]", "fetch]", "7:23", "the loader fetch fetches what a recording lists"},
		{"matrix:", "session: {loads: 2}\nmatrix:", "4:10", "session does not apply to studies on the live clock: each load is a first visit"},
		{"matrix:", "upload: {}\nmatrix:", "3:8", "only studies of pages have the live clock"},
		{"matrix:", "options: {late_limit: 1%}\nmatrix:", "4:23", "late_limit does not apply to studies on the live clock"},
		{"matrix:", "options: {freeze: true}\nmatrix:", "4:19", "freeze does not apply to studies on the live clock: a real site is loaded"},
		{"builtin]", "builtin]\n  networks: [cable]", "8:14", "on the live clock no network is emulated: remove networks, or write networks: [live]"},
		{"builtin]", "builtin]\n  visits: [cached]", "8:11", "visits does not apply to studies on the live clock"},
		{"builtin]", "builtin]\n  servers: [nginx]", "8:12", "servers does not apply to studies on the live clock: the servers are somebody else's"},
		{"builtin]", "builtin]\n  initcwnd: [10]", "8:13", "initcwnd does not apply to studies on the live clock"},
		{"builtin]", "builtin]\n  tls: ['1.2']", "8:8", "tls does not apply to studies on the live clock"},
		{"builtin]", "builtin]\n  hints: [preload]", "8:10", "hints does not apply to studies on the live clock"},
	} {
		text := strings.Replace(liveStudy, c.old, c.new, 1)
		_, err := Parse("study.yaml", []byte(text), liveWords())
		var mistakes Errors
		if !errors.As(err, &mistakes) {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if said := mistakes.Error(); !strings.Contains(said, "study.yaml:"+c.position+": ") || !strings.Contains(said, c.says) {
			t.Errorf("%s: says\n%s\nwant %s: %s", c.new, said, c.position, c.says)
		}
	}
}
