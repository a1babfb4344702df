package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"wiretime/english"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
)

// beginRun continues the store's unfinished run, or begins a new one.
func beginRun(ctx context.Context, o runOptions, st *store.Store, s *study.Study, w *ways, sites map[string]*site.Site, privilege string) (int64, error) {
	unfinished, ok, err := toResume(st, o.resume && o.repeats > 0)
	if err != nil {
		return 0, err
	}
	if o.slot > 0 {
		if run, begun, err := runOfDiary(st, s.Options.Slots.Diary); err != nil || begun {
			return run.ID, sameStudy(o, s, run, err)
		}
	}
	if ok && o.resume && o.repeats > 0 {
		if unfinished, err = extend(st, unfinished.ID, s); err != nil {
			return 0, err
		}
	}
	if ok && o.resume {
		fmt.Fprintf(stderr, "Going on with run %d of study %s: %d of %d loads are done.\n", unfinished.ID, unfinished.StudyName, unfinished.Done, unfinished.Planned)
		return unfinished.ID, nil
	}
	if ok {
		return 0, input(fmt.Errorf("begin a run: store %s has an unfinished run (run %d of study %s, %d of %d loads done); go on with --resume, or name another --store",
			o.store, unfinished.ID, unfinished.StudyName, unfinished.Done, unfinished.Planned))
	}
	file := o.study
	if !slices.Contains(builtin.Names(), file) {
		if file, err = filepath.Abs(file); err != nil {
			return 0, fmt.Errorf("find the study's folder: %w", err)
		}
	}
	cells := s.Cells(func(c study.Cell) string {
		if s.Options.Crowd == nil && w.virtual && !s.Foreign() && !w.mayBeReal() {
			return study.ClockVirtual
		}
		return runner.FasterClock(c, sites[c.On(study.AxisSite)], s.Options, w.virtual && !s.Foreign())
	})
	if len(cells) == 0 { // the study's file has some
		return 0, input(fmt.Errorf("begin a run of study %s: --clock %s leaves no cell to measure; choose another clock", s.Name, o.clock))
	}
	environment, err := runner.Environment(ctx, privilege, w.browsers, s.Matrix[study.AxisServer], w.kernel, w.state(), file, o.quick)
	if err != nil {
		return 0, err
	}
	if o.slot > 0 {
		if environment, err = runner.WithSlots(environment, s.Options.Slots); err != nil {
			return 0, err
		}
	}
	if environment, err = runner.WithSites(environment, cells, sites); err != nil {
		return 0, err
	}
	if s.Live() && len(s.Places()) == 0 {
		if environment, err = runner.AddToEnvironment(environment, w.live.Surroundings(w.untapped)); err != nil {
			return 0, err
		}
	}
	if s.Live() {
		if err := printPlan(stderr, s); err != nil {
			return 0, err
		}
	}
	metrics := runner.Metrics(s.Workload)
	if len(s.Places()) > 0 {
		metrics = append(metrics, runner.PlaceMetrics()...)
	}
	spec := store.RunSpec{
		StudyName: s.Name, StudyText: string(s.Source), Seed: s.Seed, Version: runner.Version(),
		Environment: environment, Started: time.Now(), Keep: s.Keep, Metrics: metrics,
	}
	for i, c := range cells {
		cells[i].Network = runner.Network(c, sites[c.On(study.AxisSite)], s.Options)
	}
	spec.Cells, spec.Plan = cells, s.Plan(cells)
	addPaper(&spec, s, cells)
	id, err := st.BeginRun(spec)
	if err == nil {
		fmt.Fprintf(stderr, "Run %d of study %s: %s of %s, kept in %s.\n", id, s.Name, english.Count(len(spec.Plan), "load"), english.Count(len(spec.Cells), "cell"), st.Dir())
	}
	return id, err
}

// extend adds loads to a run until each cell has as many as the study, and returns the run.
func extend(st *store.Store, id int64, s *study.Study) (store.Run, error) {
	results, err := st.Results(id)
	if err != nil {
		return store.Run{}, err
	}
	var cells []study.Cell // as the run has them, with their clocks
	for _, r := range results {
		cells = append(cells, r.Cell)
	}
	if err := st.Extend(id, s.Plan(cells)); err != nil {
		return store.Run{}, err
	}
	return st.Run(id)
}

// addPaper adds the study's printed figures and claims to a run. It leaves out those about
// cells that the run lacks because of --clock or --quick.
func addPaper(spec *store.RunSpec, s *study.Study, cells []study.Cell) {
	for i, p := range s.Published {
		for _, f := range p.Figures {
			picked := f.Cell.Pools(cells)
			if len(picked) == 0 {
				continue
			}
			cell, loads := picked[0].Unpool()
			spec.Published = append(spec.Published, store.Figure{Table: i + 1, Row: f.Row, Column: f.Column, Source: p.Source, Metric: p.Metric,
				Unit: p.Unit, RowLabel: f.RowLabel, ColumnLabel: f.ColumnLabel, Cell: cell.Key(), Printed: f.Printed, Value: f.Value, Statistic: p.Statistic, Loads: loads})
		}
	}
	for _, c := range s.Claims {
		claim := store.Claim{Text: c.Text, Statistic: c.Statistic, Ratio: c.Ratio.Text, Low: c.Ratio.Low, High: c.Ratio.High, Open: c.Ratio.Open, Along: c.Grows.Along, Grows: c.Grows.Of}
		for _, p := range c.Pairs(cells) {
			a, loads := p[0].Unpool()
			b, toLoads := p[1].Unpool()
			claim.Pairs = append(claim.Pairs, store.ClaimPair{Metric: c.Compare.Metric, Cell: a.Key(), ToMetric: c.To.Metric, ToCell: b.Key(), Loads: loads, ToLoads: toLoads})
		}
		if len(claim.Pairs) > 0 {
			spec.Claims = append(spec.Claims, claim)
		}
	}
}
