package pageload

import (
	"testing"
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// flags is a page like the built-in one: 196 pictures of 1400 bytes on one host.
func flags(t *testing.T) *site.Site {
	t.Helper()
	s := &site.Site{Name: "flags", Page: "https://www.page.test/"}
	for range 196 {
		s.Resources = append(s.Resources, site.Resource{Method: "GET", URL: "https://www.page.test/flag.png", Size: 1400})
	}
	return s
}

func path(rate network.BitRate, rtt time.Duration) network.Path {
	link := network.Link{Rate: rate, Delay: rtt / 2}
	return network.Path{Name: "path", Access: []network.Access{{Name: "access", Up: link, Down: link}}}
}

func row(t *testing.T, name string) protocol.Protocol {
	t.Helper()
	p, err := protocol.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEstimateReal checks which part of a load decides how long it is expected
// to take: its bytes, the queue for connections, or the processor.
func TestEstimateReal(t *testing.T) {
	processor := pageCost + 196*resourceCost
	tests := []struct {
		name, loader, protocol string
		path                   network.Path
		want                   time.Duration
	}{
		{"bytes on a slow link", Chromium, "h2", path(100_000, 500*time.Millisecond), workload.Overhead + 6*500*time.Millisecond + 21952*time.Millisecond},
		{"requests in a queue", Chromium, "https/1.1", path(10_000_000, 200*time.Millisecond), workload.Overhead + (6+32)*200*time.Millisecond},
		{"the processor on a fast link", Chromium, "h3", path(1_000_000_000, time.Millisecond), processor},
		{"no limit of the rate", Chromium, "h2", path(0, 0), processor},
		{"no browser", Fetch, "h2", path(0, 0), max(workload.Overhead, fetchCost+196*fetchResourceCost)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := estimateReal(test.loader, study.VisitCold, test.path, flags(t), row(t, test.protocol), 0)
			if e.Duration != test.want {
				t.Errorf("expected to take %v, want %v", e.Duration, test.want)
			}
			if share := e.Share(); share <= 0 || share > 1 {
				t.Errorf("share %g of a core, want more than 0 and at most 1", share)
			}
		})
	}
}

// TestEstimatesOfSeveralPages checks what a load costs that is more than one page.
func TestEstimatesOfSeveralPages(t *testing.T) {
	const page = "https://www.page.test/"
	journey := *flags(t)
	journey.Journey = []string{page + "2", page + "3"}
	tabs := *flags(t)
	tabs.Tabs = []string{page + "2"}
	tests := []struct {
		name, visit string
		site        *site.Site
		pages       int // of one cold page's cost
		pauses      int
	}{
		{"one page", study.VisitCold, flags(t), 1, 0},
		{"a repeat visit", study.VisitCached, flags(t), 2, 0},
		{"a journey", study.VisitCold, &journey, 3, 2},
		{"a journey made before", study.VisitResumed, &journey, 6, 4},
		{"tabs", study.VisitCold, &tabs, 2, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			slow, h3 := path(100_000, 500*time.Millisecond), row(t, "h3")
			think := 10 * time.Second
			one := estimateReal(Chromium, study.VisitCold, slow, flags(t), h3, think)
			got := estimateReal(Chromium, test.visit, slow, test.site, h3, think)
			times := func(n int, d time.Duration) time.Duration { return time.Duration(int64(n) * int64(d)) }
			if want := times(test.pages, one.Duration) + times(test.pauses, think); got.Duration != want || got.Processor != times(test.pages, one.Processor) {
				t.Errorf("expected to take %v, %v of them computing, want %v, %v", got.Duration, got.Processor, want, times(test.pages, one.Processor))
			}
			one = estimateVirtual(Builtin, study.VisitCold, flags(t), h3)
			got = estimateVirtual(Builtin, test.visit, test.site, h3)
			if got.Duration != times(test.pages, one.Duration) || got.Processor != times(test.pages, one.Processor) {
				t.Errorf("in a guest expected to take %v, want %v", got.Duration, times(test.pages, one.Duration))
			}
		})
	}
}
