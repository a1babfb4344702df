package runner

import (
	"fmt"
	"slices"
	"testing"

	"wiretime/network"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// plan is a plan of n loads on the virtual clock that alternates between the loaders and between
// protocols.
func plan(t *testing.T, n int, loaders ...string) []*job {
	t.Helper()
	page := flags(t)
	var queue []*job
	for i := range n {
		values := map[study.Axis]string{study.AxisClock: study.ClockVirtual, study.AxisLoader: loaders[i%len(loaders)], study.AxisProtocol: "h2"}
		if i%4 >= 2 {
			values[study.AxisProtocol] = "h3"
		}
		j := pageJob(t, &run{}, page, network.Path{}, values)
		j.planned.Index = i
		queue = append(queue, j)
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
	fresh := plan(t, 4*workload.ManyLoads, pageload.Fetch, pageload.Chromium)
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
	for _, b := range batches(plan(t, 8*workload.ManyLoads, pageload.Fetch, pageload.Chromium)) {
		first := b.jobs[0]
		most := workload.ManyLoads
		if first.planned.Cell.By() == pageload.Chromium {
			most = workload.BrowserLoads
		}
		if len(b.jobs) > most {
			t.Errorf("batch %d has %d loads by %s, want %d at most", b.number, len(b.jobs), first.planned.Cell.By(), most)
		}
		for _, j := range b.jobs {
			if j.planned.Cell.By() != first.planned.Cell.By() {
				t.Errorf("batch %d has loads by %s and %s", b.number, first.planned.Cell.By(), j.planned.Cell.By())
			}
			if most == workload.BrowserLoads && j.planned.Cell.Over() != first.planned.Cell.Over() {
				t.Errorf("batch %d asks a browser for %s and %s", b.number, first.planned.Cell.Over(), j.planned.Cell.Over())
			}
		}
	}
}

// TestOnlyBrowsersGetGuestsWithABrowser checks what guests are given for loaders.
func TestOnlyBrowsersGetGuestsWithABrowser(t *testing.T) {
	for loader, browser := range map[string]bool{pageload.Chromium: true, pageload.Fetch: false, pageload.Builtin: false, pageload.Firefox: true} {
		queue := plan(t, 2*workload.ManyLoads, loader)
		r := &run{Config: Config{Options: study.Options{Fallback: study.FallbackNone}}}
		r.station.Chromium, r.station.Firefox = "/usr/bin/chromium", "/usr/bin/firefox"
		all := batches(queue)
		b := r.orders(all[0].jobs, 1)
		memory := r.machine(all[0], all[0].jobs[0], 1, 0).Memory
		if (b.Station.Chromium != "") != browser || (b.Station.Firefox != "") != browser || b.Station.Lab.Unblocked == browser || (memory >= programMemory) != browser || (len(b.Loads) == workload.BrowserLoads) != browser {
			t.Errorf("%s: %d loads, browsers %q and %q, unblocked %v, %d bytes", loader, len(b.Loads), b.Station.Chromium, b.Station.Firefox, b.Station.Lab.Unblocked, memory)
		}
	}
}

// TestGuestsAreBootedForWhatIsPending marks one load after the other, and asks what guests are
// booted for: in the first round for whole batches, as long as one of their loads is pending, and
// in later rounds for the pending loads, one by one.
func TestGuestsAreBootedForWhatIsPending(t *testing.T) {
	queue := plan(t, 8, pageload.Fetch)
	for _, j := range queue {
		j.attempt = 2
	}
	g := &guests{batches: batches(queue)}
	for i, j := range queue {
		first, later := g.boots(0), g.boots(1)
		if len(first) != 1 || len(first[0].jobs) != len(queue) || first[0].attempt != 1 {
			t.Errorf("with %d loads done, the first round is %+v", i, first)
		}
		if len(later) != len(queue)-i || len(later[0].jobs) != 1 || later[0].jobs[0] != j || later[0].attempt != 2 {
			t.Errorf("with %d loads done, the second round is %+v", i, later)
		}
		j.planned.Done = true
	}
	if len(g.boots(0))+len(g.boots(1)) > 0 {
		t.Error("guests are booted with all loads done")
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

// pageCell is a cell of pages, by the usual values where there are none.
func pageCell(values map[study.Axis]string) study.Cell {
	return study.NewCell(study.Pages(), values, network.Path{Name: values[study.AxisNetwork]})
}

// pageJob binds a load of a page over a path, with the usual value on each axis that values lacks.
func pageJob(t *testing.T, r *run, page *site.Site, p network.Path, values map[study.Axis]string) *job {
	t.Helper()
	r.Sites = map[string]*site.Site{page.Name: page}
	if len(p.Access) == 0 {
		p = path(0, 0)
	}
	cell := pageCell(values).With(study.AxisSite, page.Name)
	cell.Network = p
	j, err := r.job(store.Planned{Cell: cell, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
