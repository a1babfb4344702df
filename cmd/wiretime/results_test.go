package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
)

// kept makes a store with a run of h2 and h3 on the given clocks.
func kept(t *testing.T, dir string, clocks ...string) {
	t.Helper()
	var cells []study.Cell
	for _, clock := range clocks {
		for _, protocol := range []string{"h2", "h3"} {
			cells = append(cells, pageCell(map[study.Axis]string{study.AxisProtocol: protocol, study.AxisClock: clock, study.AxisVisit: "cold", study.AxisStrategy: "browser", study.AxisServer: "wiretime"}))
		}
	}
	keep(t, dir, cells)
}

// pageCell is a cell of one page over one network, by Chromium.
func pageCell(values map[study.Axis]string) study.Cell {
	values[study.AxisSite], values[study.AxisNetwork], values[study.AxisLoader] = "page", "cable", "chromium"
	return study.NewCell(study.Pages(), values, network.Path{Name: "cable"})
}

// keep makes a store with a run of page cells, six loads each. The n-th load of a cell takes
// 1000 ms and n more; h3 takes 50 ms of processor time on the real clock. The n-th load asked
// for n URLs that the archive lacks. The first load of all is a journey. change may alter the
// run before it begins.
func keep(t *testing.T, dir string, cells []study.Cell, change ...func(*store.RunSpec)) {
	t.Helper()
	spec := store.RunSpec{StudyName: "kept", StudyText: "name: kept", Metrics: []study.Metric{
		{Name: "plt", Unit: "ms", Title: "PLT", Definition: "until the last byte"},
		{Name: "misses", Unit: "requests", Title: "Misses"}, {Name: "inexact", Unit: "requests", Title: "Inexact answers"}}}
	for _, f := range change {
		f(&spec)
	}
	fill(t, dir, spec, cells, 6, func(r *store.LoadRecord) {
		plt := 1000 + float64(r.Planned.Repeat)
		if r.Planned.Cell.Over() == "h3" && r.Planned.Cell.Clock() == "real" {
			plt += 50
		}
		r.Values = map[string]float64{"plt": plt, "misses": 0, "inexact": float64(r.Planned.Repeat)}
		r.Pages = pages[r.Planned.Index]
	})
}

// fill makes a store with a run of cells, so many loads each. measure gives each load its values.
func fill(t *testing.T, dir string, spec store.RunSpec, cells []study.Cell, repeats int, measure func(*store.LoadRecord)) {
	t.Helper()
	st, err := store.Open(dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if spec.Environment == nil {
		spec.Environment = json.RawMessage(`{}`)
	}
	spec.Started, spec.Cells = time.Unix(1, 0), cells
	for _, c := range cells {
		for repeat := range repeats {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: c, Repeat: repeat})
		}
	}
	run, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		r := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Validity: store.Valid}
		measure(&r)
		if err := st.Commit(r); err != nil {
			t.Fatal(err)
		}
	}
}

// pages are those of the loads that have several, by their place in the plan.
var pages = map[int][]study.Page{0: {
	{URL: "https://page.test/", DCL: 300, OnLoad: 700.25, PLT: 600},
	{URL: "https://page.test/next", Started: 1700, DCL: -1, OnLoad: 400, PLT: 400},
}}

// TestResultsShowAStatistic: the loads of a cell take 1000 to 1005 ms.
func TestResultsShowAStatistic(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	keep(t, dir, []study.Cell{pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "virtual"})})
	for statistic, want := range map[string][2]string{
		"median": {"\nMedians, with their 95 % interval;", "1002 [1000..1005]"},
		"mean":   {"\nMeans, with their 95 % interval;", "1002 [1001..1004]"},
		"max":    {"\nMaxima, with", "1005 (1000..1005)"},
		"p95":    {"\nPercentiles p95, with", "1005 (1000..1005)"},
	} {
		r := self(t).run(t, "results", "--store", dir, "--statistic", statistic)
		if !strings.Contains(r.out, want[0]) || !strings.Contains(r.out, want[1]) {
			t.Errorf("%q are not in\n%s%s", want, r.out, r.errors)
		}
	}
	if r := self(t).run(t, "results", "--store", dir, "--statistic", "average"); r.code != 2 || !strings.Contains(r.errors, "read --statistic: unknown statistic") {
		t.Errorf("exit code %d, %s", r.code, r.errors)
	}
}

// TestResultsDrawSparklines: the loads of h2 take 1000 to 1005 ms, those of h3 50 ms more; the last load of a cell takes more than
// the first.
func TestResultsDrawSparklines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	kept(t, dir, "real")
	u := self(t)
	r := u.run(t, "results", "--store", dir, "--sparklines")
	for _, want := range []string{"unsupported  PLT, 1000..1055 ms\n", "  0            **                  \n", "  0                              **\n"} {
		if !strings.Contains(r.out, strings.ReplaceAll(want, "*", "@")) {
			t.Errorf("%q is not in\n%s%s", want, r.out, r.errors)
		}
	}
	if r := u.run(t, "results", "--store", dir); strings.Contains(r.out, "1000..1055 ms") || strings.Contains(r.out, "@") {
		t.Errorf("in a pipe it draws\n%s", r.out)
	}
	if shown := u.onTerminal(t, "results", "--store", dir); !strings.Contains(shown, "PLT, 1000..1055 ms") || !strings.Contains(shown, "█") {
		t.Errorf("on a terminal it does not draw: %q", shown)
	}
}

func TestResultsTellWhatArchivesLacked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	kept(t, dir, "virtual")
	r := self(t).run(t, "results", "--store", dir)
	if want := "\nWhat the archive lacked of page: inexact answers in 10 of 12 valid loads, at most 5.\n"; !strings.Contains(r.out, want) {
		t.Errorf("%q is not in\n%s%s", want, r.out, r.errors)
	}
}

func TestResultsKeepTheClocksApartAndCompareThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clocks        []string
		shows, spares []string
	}{
		{[]string{"real"}, []string{"initcwnd 10)\n"}, []string{"clock\n", "Two clocks", "processor time"}},
		{[]string{"virtual"}, []string{"initcwnd 10), virtual clock\n", "processor time counts as zero"}, []string{"Two clocks", "real clock"}},
		{[]string{"real", "virtual"}, []string{
			"initcwnd 10), real clock\n", "initcwnd 10), virtual clock\n",
			"Two clocks. 1 of 2 pairs on networks without loss (50 %) agree within 1 %.",
			"h2        1002.5    1002.5       1.000 [0.9", "h3        1052.5    1002.5       0.952 [0.9",
		}, nil},
	} {
		t.Run(fmt.Sprint(c.clocks), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			kept(t, dir, c.clocks...)
			r := self(t).run(t, "results", "--store", dir)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			for _, text := range c.shows {
				if !strings.Contains(r.out, text) {
					t.Errorf("%q is not in\n%s", text, r.out)
				}
			}
			for _, text := range c.spares {
				if strings.Contains(r.out, text) {
					t.Errorf("%q is in\n%s", text, r.out)
				}
			}
			shown := self(t).run(t, "show", "r1-0000-a1", "--store", dir)
			if !strings.Contains(shown.out, "clock                  "+c.clocks[0]+"\n") {
				t.Errorf("the load does not say its clock:\n%s", shown.out)
			}
		})
	}
}

// TestResultsNameVisitsAndStrategies shows tables of runs that use these axes, and
// that others do not mention them.
func TestResultsNameVisitsAndStrategies(t *testing.T) {
	t.Parallel()
	cell := func(protocol, visit, strategy string) study.Cell {
		return pageCell(map[study.Axis]string{study.AxisProtocol: protocol, study.AxisClock: "real", study.AxisVisit: visit, study.AxisStrategy: strategy, study.AxisServer: "wiretime"})
	}
	from := func(server string, c study.Cell) study.Cell {
		return c.With(study.AxisServer, server)
	}
	const place, byStrategy = "page over cable (chromium, cubic, initcwnd 10)", "page over cable and h2 (chromium, cubic, initcwnd 10)"
	for _, c := range []struct {
		name          string
		cells         []study.Cell
		shows, spares []string
	}{
		{"the usual ones", []study.Cell{cell("h2", "cold", "browser")}, []string{place + "\nprotocol  "}, []string{"visit", "strategy"}},
		{"visits", []study.Cell{cell("h2", "cold", "browser"), cell("h3", "cold", "browser"), cell("h2", "0rtt", "browser"), cell("h3", "0rtt", "browser")},
			[]string{place + ", cold visit\nprotocol", place + ", 0rtt visit\nprotocol"}, []string{"strategy"}},
		{"one visit that is not cold", []study.Cell{cell("h2", "cached", "browser")}, []string{place + ", cached visit\nprotocol"}, []string{"strategy"}},
		{"strategies of two protocols", []study.Cell{cell("h2", "cold", "browser"), cell("h3", "cold", "browser"), cell("h2", "cold", "sequential"), cell("h3", "cold", "sequential")},
			[]string{place + ", strategy browser\nprotocol", place + ", strategy sequential\nprotocol"}, []string{"visit"}},
		{"strategies of one protocol", []study.Cell{cell("h2", "cold", "browser"), cell("h2", "cold", "sequential")},
			[]string{byStrategy + "\nstrategy  ", "\nbrowser  ", "\nsequential  "}, []string{"visit", "protocol  "}},
		{"strategies of one protocol in two visits", []study.Cell{cell("h2", "cold", "browser"), cell("h2", "cold", "parallel-2"), cell("h2", "connected", "browser"), cell("h2", "connected", "parallel-2")},
			[]string{byStrategy + ", cold visit\nstrategy", byStrategy + ", connected visit\nstrategy"}, []string{"protocol  "}},
		{"servers of one protocol", []study.Cell{cell("h2", "cold", "browser"), from("nginx", cell("h2", "cold", "browser"))},
			[]string{byStrategy + "\nserver  ", "\nwiretime  ", "\nnginx  "}, []string{"visit", "protocol  ", "strategy"}},
		{"servers of two protocols", []study.Cell{cell("h2", "cold", "browser"), cell("h3", "cold", "browser"), from("caddy", cell("h2", "cold", "browser")), from("caddy", cell("h3", "cold", "browser"))},
			[]string{place + ", server wiretime\nprotocol", place + ", server caddy\nprotocol"}, []string{"visit", "strategy"}},
		{"one strategy of one protocol", []study.Cell{cell("h2", "cold", "unlimited")}, []string{place + ", strategy unlimited\nprotocol"}, []string{"visit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			keep(t, dir, c.cells)
			r := self(t).run(t, "results", "--store", dir)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			for _, text := range c.shows {
				if !strings.Contains(r.out, text) {
					t.Errorf("%q is not in\n%s", text, r.out)
				}
			}
			for _, text := range c.spares {
				if strings.Contains(r.out, text) {
					t.Errorf("%q is in\n%s", text, r.out)
				}
			}
		})
	}
}

func TestShowListsThePagesOfAJourney(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	keep(t, dir, []study.Cell{pageCell(map[study.Axis]string{study.AxisProtocol: "h3", study.AxisVisit: "0rtt"})})
	for load, want := range map[string][]string{
		"r1-0000-a1": {
			"visit                  0rtt\n", "strategy               browser\n",
			"page 1  https://page.test/      started at 0.0, DCL 300.0, onLoad 700.2, PLT 600.0 ms\n",
			"page 2  https://page.test/next  started at 1700.0, DCL unknown, onLoad 400.0, PLT 400.0 ms\n",
		},
		"r1-0001-a1": {"PLT              1051.000 ms\n"},
	} {
		r := self(t).run(t, "show", load, "--store", dir)
		for _, text := range want {
			if !strings.Contains(r.out, text) {
				t.Errorf("%q is not in\n%s%s", text, r.out, r.errors)
			}
		}
		if load != "r1-0000-a1" && strings.Contains(r.out, "page 1") {
			t.Errorf("a load of one page lists pages:\n%s", r.out)
		}
	}
}

// TestRowsOfATableHaveNamesOfTheirOwn varies each axis, and each pair of axes: heading and name
// tell the rows apart.
func TestRowsOfATableHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, w := range study.Workloads() {
		for i, a := range w.Axes {
			for _, b := range w.Axes[i:] {
				var results []store.Result
				values := map[study.Axis]string{}
				for _, values[a.Axis] = range []string{a.Usual, "2"} {
					for _, values[b.Axis] = range []string{b.Usual, "2"} {
						c := study.NewCell(w, values, network.Path{})
						for _, axis := range w.Path {
							c.Network.Name += c.On(axis) + " "
						}
						results = append(results, store.Result{Cell: c})
					}
				}
				axes, rows, keys := report.AxesOf(results), map[string]bool{}, map[string]bool{}
				for _, r := range results {
					rows[fmt.Sprintf("%s, %s clock: %s", place(r.Cell, axes), r.Cell.Clock(), rowName(r.Cell, axes))] = true
					keys[r.Cell.Key()] = true
				}
				if len(rows) != len(keys) {
					t.Errorf("%s by %s and %s: %d cells have the rows %v", w.Name, a.Axis, b.Axis, len(keys), rows)
				}
			}
		}
	}
}

// TestProgressLinesTellCellsApart varies each axis that network and subject do not name.
func TestProgressLinesTellCellsApart(t *testing.T) {
	t.Parallel()
	for _, w := range study.Workloads() {
		for _, a := range w.Axes {
			if a.Axis == w.Subject || a.Axis == study.AxisLoad || slices.Contains(w.Path, a.Axis) {
				continue // the line has it elsewhere
			}
			s := &study.Study{Workload: w, Matrix: map[study.Axis][]string{a.Axis: {"1", "2"}}}
			one := study.NewCell(w, map[study.Axis]string{a.Axis: "1"}, network.Path{})
			if two := one.With(a.Axis, "2"); way(s, one) == way(s, two) {
				t.Errorf("%s by %s: both cells are called %q", w.Name, a.Axis, way(s, one))
			}
		}
	}
	usual := study.NewCell(study.Pages(), map[study.Axis]string{study.AxisProtocol: "h2", study.AxisLoader: "chromium", study.AxisClock: study.ClockVirtual}, network.Path{})
	unusual := usual.With(study.AxisVisit, "0rtt").With(study.AxisServer, "nginx").With(study.AxisInitCwnd, "4")
	for cell, want := range map[*study.Cell]string{&usual: "h2", &unusual: "h2 initcwnd 4 0rtt nginx"} {
		if got := way(&study.Study{}, *cell); got != want {
			t.Errorf("the cell is called %q, want %q", got, want)
		}
	}
}
