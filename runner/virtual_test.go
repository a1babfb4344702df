package runner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
)

// plan is a plan of n loads on the virtual clock that alternates between loaders
// and protocols.
func plan(t *testing.T, n int) []*job {
	t.Helper()
	page := flags(t)
	var queue []*job
	for i := range n {
		cell := pageCell(map[study.Axis]string{study.AxisClock: study.ClockVirtual, study.AxisLoader: station.Fetch, study.AxisProtocol: "h2", study.AxisVisit: study.VisitCold, study.AxisStrategy: study.StrategyBrowser, study.AxisServer: study.ServerOwn})
		if i%2 == 1 {
			cell = cell.With(study.AxisLoader, station.Chromium)
		}
		if i%4 >= 2 {
			cell = cell.With(study.AxisProtocol, "h3")
		}
		queue = append(queue, &job{planned: store.Planned{Index: i, Cell: cell}, site: page, protocol: row(t, cell.Over()), attempt: 1})
	}
	return queue
}

// TestBatchesFollowFromThePlan divides a plan among guests, and again when parts
// of it are done: each load must be in the same batch, at the same place.
func TestBatchesFollowFromThePlan(t *testing.T) {
	places := func(queue []*job) (all []string) {
		for _, b := range batches(queue) {
			for i, j := range b.jobs {
				all = append(all, fmt.Sprintf("%d: batch %d, place %d", j.planned.Index, b.number, i))
			}
		}
		return all
	}
	fresh := plan(t, 4*fetchBatch)
	want := places(fresh)
	if len(want) != len(fresh) {
		t.Fatalf("%d places for %d loads", len(want), len(fresh))
	}
	for i, j := range fresh {
		j.planned.Done = i%3 == 0
	}
	if got := places(fresh); !slices.Equal(got, want) {
		t.Errorf("batches depend on what is done:\n%v\nwant\n%v", got, want)
	}
}

// TestBatchesHoldWhatOneGuestCanLoad checks that no guest needs two browsers, nor
// more loads than a guest is booted for.
func TestBatchesHoldWhatOneGuestCanLoad(t *testing.T) {
	for _, b := range batches(plan(t, 8*fetchBatch)) {
		first := b.jobs[0]
		most := fetchBatch
		if first.planned.Cell.By() == station.Chromium {
			most = browserBatch
		}
		if len(b.jobs) > most {
			t.Errorf("batch %d has %d loads by %s, want %d at most", b.number, len(b.jobs), first.planned.Cell.By(), most)
		}
		for _, j := range b.jobs {
			if j.planned.Cell.By() != first.planned.Cell.By() {
				t.Errorf("batch %d has loads by %s and %s", b.number, first.planned.Cell.By(), j.planned.Cell.By())
			}
			if most == browserBatch && j.protocol.Transport != first.protocol.Transport {
				t.Errorf("batch %d asks a browser for %s and %s", b.number, first.protocol.Name, j.protocol.Name)
			}
		}
	}
}

// TestLoadersWithoutABrowserShareAGuestWithNone checks what guests are given for
// loaders by their names: a browser only for browsers, of which any that is not
// known here is taken for one.
func TestLoadersWithoutABrowserShareAGuestWithNone(t *testing.T) {
	for loader, browser := range map[string]bool{station.Chromium: true, station.Fetch: false, station.Builtin: false, "firefox": true} {
		queue := plan(t, 2*fetchBatch)
		for _, j := range queue {
			j.planned.Cell = j.planned.Cell.With(study.AxisLoader, loader)
		}
		r := &run{Config: Config{Options: study.Options{Fallback: study.FallbackNone}}}
		r.station.Chromium = "/usr/bin/chromium"
		all := batches(queue)
		b := r.orders(all[0].jobs, 1)
		memory := r.machine(all[0], all[0].jobs[0], 1, 0).Memory
		if (b.Station.Chromium != "") != browser || b.Station.Lab.Unblocked == browser || (memory >= browserMemory) != browser || (len(b.Loads) == browserBatch) != browser {
			t.Errorf("%s: %d loads, browser %q, unblocked %v, %d bytes", loader, len(b.Loads), b.Station.Chromium, b.Station.Lab.Unblocked, memory)
		}
	}
}

// TestOrdersSayHowToVisit checks what a station is told of a cell and a study.
func TestOrdersSayHowToVisit(t *testing.T) {
	r := &run{Config: Config{Options: study.Options{ThinkTime: 3 * time.Second, Fallback: study.FallbackH2}}}
	j := plan(t, 1)[0]
	j.planned.Cell = j.planned.Cell.With(study.AxisVisit, study.VisitZeroRTT).With(study.AxisStrategy, "parallel-2")
	if o := r.order(j, "id").Page; o.Visit != "0rtt" || o.Strategy != "parallel-2" || o.ThinkTime != 3*time.Second || o.Fallback != "h2" {
		t.Errorf("the order is %+v", o)
	}
	r.Options.Fallback = study.FallbackNone
	if o := r.order(j, "id").Page; o.Fallback != "" {
		t.Errorf("without a fallback the order names %q", o.Fallback)
	}
}

// TestBatchIsPendingUntilItsLastLoadIsDone marks one load after the other.
func TestBatchIsPendingUntilItsLastLoadIsDone(t *testing.T) {
	b := batches(plan(t, 8))[0]
	for _, j := range b.jobs {
		if !b.pending() {
			t.Errorf("not pending before load %d is done", j.planned.Index)
		}
		j.planned.Done = true
	}
	if b.pending() {
		t.Error("still pending with all loads done")
	}
}

// TestBootSeed checks that guests for different purposes have different seeds.
func TestBootSeed(t *testing.T) {
	seen := map[uint64][4]uint64{}
	for _, v := range [][4]uint64{{1, 0, 0, 1}, {2, 0, 0, 1}, {1, 1, 0, 1}, {1, 0, 1, 1}, {1, 0, 0, 2}} {
		seed := bootSeed(v[0], int(v[1]), int(v[2]), int(v[3]))
		if other, ok := seen[seed]; ok {
			t.Errorf("%v and %v have the same seed", v, other)
		}
		seen[seed] = v
	}
}

// TestGuestMemoryGrowsWithThePage checks that a guest gets more for a larger page.
func TestGuestMemoryGrowsWithThePage(t *testing.T) {
	queue := plan(t, 1)
	small := new(run).machine(&batch{jobs: queue}, queue[0], 1, 0).Memory
	queue[0].site = &site.Site{Resources: []site.Resource{{Size: 100 << 20}}}
	if large := new(run).machine(&batch{jobs: queue}, queue[0], 1, 0).Memory; large < small+100<<20 {
		t.Errorf("%d bytes for a page of 100 MiB, %d for a small one", large, small)
	}
}

// pageCell is a cell of pages, by the usual values where there are none.
func pageCell(values map[study.Axis]string) study.Cell {
	return study.NewCell(study.Pages(), values, network.Path{Name: values[study.AxisNetwork]})
}
