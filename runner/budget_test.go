package runner

import (
	"testing"
	"time"

	"wiretime/network"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
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
		queue = append(queue, &job{planned: store.Planned{Index: i, Cell: pageCell(map[study.Axis]string{})}, Job: workload.Job{Estimate: workload.Estimate{Processor: time.Second, Duration: 2 * time.Second}}, cores: 1})
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

// TestPaceByCells: a cell's loads are expected to take what its own took, and those of a cell that has not run what was
// estimated, corrected by how wrong the estimates of others on its clock were.
func TestPaceByCells(t *testing.T) {
	loads := func(protocol, clock string, each time.Duration) *job {
		cell := pageCell(map[study.Axis]string{study.AxisProtocol: protocol, study.AxisClock: clock})
		return &job{planned: store.Planned{Cell: cell}, Job: workload.Job{Estimate: workload.Estimate{Processor: each, Duration: each}}, cores: 1}
	}
	h2, h3 := loads("h2", study.ClockVirtual, time.Second), loads("h3", study.ClockVirtual, 2*time.Second)
	real := loads("h2", study.ClockReal, 10*time.Second)
	p := newPace([]*job{h2, h2, h2, h3, h3, real}, 6)
	for i, c := range []struct {
		j    *job
		took time.Duration
		want time.Duration
	}{
		{h2, 3 * time.Second, 2*3*time.Second + 2*3*2*time.Second + 10*time.Second},
		{h2, 5 * time.Second, 4*time.Second + 2*4*2*time.Second + 10*time.Second},
		{h3, time.Second, 4*time.Second + time.Second + 10*time.Second},
		{h3, time.Second, 4*time.Second + 10*time.Second},
		{real, 7 * time.Second, 4 * time.Second},
		{h2, 4 * time.Second, 0},
	} {
		if _, _, left := p.note(c.j, c.took, true); left != c.want {
			t.Errorf("%v left after load %d, want %v", left, i, c.want)
		}
	}
}

// TestPaceOfLongRuns notes an attempt in a run of 10,000 loads, which takes as little as in a run of ten.
func TestPaceOfLongRuns(t *testing.T) {
	for _, loads := range []int{10, 10_000} {
		queue := make([]*job, loads)
		for i := range queue {
			queue[i] = &job{planned: store.Planned{Index: i, Cell: pageCell(map[study.Axis]string{})}, cores: 1}
		}
		p := newPace(queue, loads)
		const most = 50
		if allocations := testing.AllocsPerRun(3, func() { p.note(queue[0], time.Second, false) }); allocations > most {
			t.Errorf("%d loads: %.0f allocations, want at most %d", loads, allocations, most)
		}
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
		{"a document, own loader", pageload.Fetch, document, true, study.ClockVirtual},
		{"a large page, browser", pageload.Chromium, flags(t), true, study.ClockReal},
		{"a document, Firefox", pageload.Firefox, document, true, study.ClockVirtual},
		{"no kernel", pageload.Fetch, document, false, study.ClockReal},
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
