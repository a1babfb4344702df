package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wiretime/kernel"
	"wiretime/network"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

// point says what campaign to simulate.
type point struct {
	Workers   int
	Loads     int
	Artefacts int    // that each attempt leaves
	Rate      int    // loads a minute that all workers together make; 0: as many as they can
	Seed      uint64 // of all that is drawn
}

// page is what the made loads are said to have loaded. It is made on the spot, so nothing needs to be fetched.
const page = "objects@40x20kB"

// studyOf returns a study of 20 cells with so many loads, as their pages would be planned.
func studyOf(p point) (*study.Study, error) {
	s := &study.Study{
		Name: "simulation", Seed: p.Seed, Workload: study.Pages(), Keep: study.KeepAll, Source: []byte("name: simulation\n"),
		Matrix: map[study.Axis][]string{
			study.AxisSite: {page}, study.AxisLoader: {"builtin"}, study.AxisProtocol: {"http/1.1", "https/1.1", "h2", "h3"}, study.AxisClock: {study.ClockVirtual},
		},
		Options: study.Options{DNS: study.DNSEmulated, LateLimit: study.Late{Share: 0.01}, Retries: 2, Timeout: time.Minute, Fallback: study.FallbackNone},
	}
	for _, name := range []string{"3g-weak", "3g-good", "lte", "cable", "dsl"} {
		path, err := network.Profile(name)
		if err != nil {
			return nil, err
		}
		s.Networks = append(s.Networks, path)
		s.Matrix[study.AxisNetwork] = append(s.Matrix[study.AxisNetwork], name)
	}
	for _, axis := range s.Workload.Axes {
		if s.Matrix[axis.Axis] == nil {
			s.Matrix[axis.Axis] = []string{axis.Usual}
		}
	}
	cells := len(s.Cells(nil))
	if p.Loads%cells != 0 {
		return nil, fmt.Errorf("%d loads cannot be divided among %d cells: name a multiple", p.Loads, cells)
	}
	return s, s.UseRepeats(p.Loads / cells)
}

// planned is a run in a store, and its batches.
type planned struct {
	study    *study.Study
	run      store.Run
	batches  []runner.Batch
	cells    []study.Cell
	programs map[string]string
}

// plan plans a campaign as 'wiretime campaign run' does.
func plan(ctx context.Context, p point, st *store.Store, dir string) (*planned, error) {
	s, err := studyOf(p)
	if err != nil {
		return nil, err
	}
	sites, err := runner.Sites(ctx, site.Library{Dir: filepath.Join(dir, "sites"), Cache: filepath.Join(dir, "cache")}, []string{page})
	if err != nil {
		return nil, err
	}
	all, err := planWith(s, sites, st, dir)
	return all, errors.Join(err, runner.CloseSites(sites))
}

func planWith(s *study.Study, sites map[string]*site.Site, st *store.Store, dir string) (*planned, error) {
	k, err := noKernel(filepath.Join(dir, "kernel"))
	if err != nil {
		return nil, err
	}
	cells := s.Cells(nil)
	for i, c := range cells {
		cells[i].Network = runner.Network(c, sites[page], s.Options)
	}
	id, err := st.BeginRun(store.RunSpec{
		StudyName: s.Name, StudyText: string(s.Source), Seed: s.Seed, Version: runner.Version(), Environment: json.RawMessage("{}"),
		Started: time.Now(), Keep: s.Keep, Metrics: runner.Metrics(s.Workload), Cells: cells, Plan: s.Plan(cells),
	})
	if err != nil {
		return nil, err
	}
	all := &planned{study: s, programs: map[string]string{"wiretime": "simulated", "kernel": "none"}}
	all.batches, all.cells, err = runner.Divide(runner.Config{Store: st, Run: id, Seed: s.Seed, Options: s.Options, Sites: sites, Kernel: k, Programs: all.programs})
	if err == nil {
		all.run, err = st.Run(id)
	}
	return all, err
}

// noKernel returns a kernel that can do all but run, because planning asks what it can do.
func noKernel(dir string) (kernel.Kernel, error) {
	k := kernel.Kernel{Path: filepath.Join(dir, "linux"), Version: "simulated"}
	text, err := json.Marshal(kernel.Record{Version: k.Version})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = errors.Join(os.WriteFile(k.Path, nil, 0o600), os.WriteFile(filepath.Join(dir, "kernel.json"), text, 0o600))
	}
	return k, err
}
