package runner

import (
	"testing"
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
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

// TestEstimateLoad checks which part of a load decides how long it is expected
// to take: its bytes, the queue for connections, or the processor.
func TestEstimateLoad(t *testing.T) {
	processor := pageCost + 196*resourceCost
	tests := []struct {
		name, loader, protocol string
		path                   network.Path
		want                   time.Duration
	}{
		{"bytes on a slow link", station.Chromium, "h2", path(100_000, 500*time.Millisecond), fixedTime + 6*500*time.Millisecond + 21952*time.Millisecond},
		{"requests in a queue", station.Chromium, "https/1.1", path(10_000_000, 200*time.Millisecond), fixedTime + (6+32)*200*time.Millisecond},
		{"the processor on a fast link", station.Chromium, "h3", path(1_000_000_000, time.Millisecond), processor},
		{"no limit of the rate", station.Chromium, "h2", path(0, 0), processor},
		{"no browser", station.Fetch, "h2", path(0, 0), max(fixedTime, fetchCost+196*fetchResourceCost)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := estimateLoad(test.loader, study.VisitCold, test.path, flags(t), row(t, test.protocol), 0)
			if e.duration != test.want {
				t.Errorf("expected to take %v, want %v", e.duration, test.want)
			}
			if share := e.share(); share <= 0 || share > 1 {
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
			one := estimateLoad(station.Chromium, study.VisitCold, slow, flags(t), h3, think)
			got := estimateLoad(station.Chromium, test.visit, slow, test.site, h3, think)
			times := func(n int, d time.Duration) time.Duration { return time.Duration(int64(n) * int64(d)) }
			if want := times(test.pages, one.duration) + times(test.pauses, think); got.duration != want || got.processor != times(test.pages, one.processor) {
				t.Errorf("expected to take %v, %v of them computing, want %v, %v", got.duration, got.processor, want, times(test.pages, one.processor))
			}
			one = estimateVirtual(station.Builtin, study.VisitCold, flags(t), h3)
			got = estimateVirtual(station.Builtin, test.visit, test.site, h3)
			if got.duration != times(test.pages, one.duration) || got.processor != times(test.pages, one.processor) {
				t.Errorf("in a guest expected to take %v, want %v", got.duration, times(test.pages, one.duration))
			}
		})
	}
}

// TestBudgetKeepsOrder checks that a load which needs the whole machine is not
// passed by later ones that would fit beside those under way.
func TestBudgetKeepsOrder(t *testing.T) {
	b := newBudget(1)
	take := func(share float64) {
		if err := b.take(t.Context(), share); err != nil {
			t.Error(err)
		}
	}
	take(0.5)
	order := make(chan string, 2)
	waiting := make(chan struct{})
	done := make(chan struct{})
	go func() {
		close(waiting)
		take(5) // more than the whole means the whole
		order <- "whole"
		b.give(5)
	}()
	<-waiting
	for b.permits.TryAcquire(1) { // until the whole is asked for, small shares are free
		b.permits.Release(1)
	}
	go func() {
		defer close(done)
		take(0.1)
		order <- "small"
		b.give(0.1)
	}()
	b.give(0.5)
	<-done
	if first := <-order; first != "whole" {
		t.Errorf("%s came first, want the whole, which asked first", first)
	}
}

// TestPaceCountsDownToNothing notes one load after the other.
func TestPaceCountsDownToNothing(t *testing.T) {
	var queue []*job
	for i := range 4 {
		queue = append(queue, &job{planned: store.Planned{Index: i, Cell: pageCell(map[study.Axis]string{})}, estimate: estimate{time.Second, 2 * time.Second, 1}})
	}
	p := newPace(queue, 10) // six of ten are done already
	before := time.Hour
	for i, j := range queue {
		done, planned, left := p.note(j, 2*time.Second, true)
		if done != 7+i || planned != 10 {
			t.Errorf("%d of %d done, want %d of 10", done, planned, 7+i)
		}
		// Half a core each for two seconds: one second of the whole core.
		if want := time.Duration(3-i) * time.Second; left != want || left >= before {
			t.Errorf("%v left after load %d, want %v", left, i, want)
		}
		before = left
	}
}

// TestFasterClock weighs computing in a guest, of which there is one per core,
// against computing outside, where half of the machine must stay idle. Without the
// virtual clock there is no choice.
func TestFasterClock(t *testing.T) {
	slow := path(100_000, 500*time.Millisecond)
	document := &site.Site{Name: "document", Page: "https://www.page.test/", Resources: []site.Resource{{Method: "GET", URL: "https://www.page.test/", Size: 1400}}}
	tests := []struct {
		name, loader string
		page         *site.Site
		virtual      bool
		want         string
	}{
		{"a document, own loader", station.Fetch, document, true, study.ClockVirtual},
		{"a large page, browser", station.Chromium, flags(t), true, study.ClockReal},
		{"a document, Firefox", station.Firefox, document, true, study.ClockReal},
		{"no kernel", station.Fetch, document, false, study.ClockReal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := pageCell(map[study.Axis]string{study.AxisSite: test.page.Name, study.AxisLoader: test.loader, study.AxisVisit: study.VisitCold})
			c.Network = slow
			if clock := FasterClock(c, test.page, study.Options{}, test.virtual); clock != test.want {
				t.Errorf("the clock is %s, want %s", clock, test.want)
			}
		})
	}
}
