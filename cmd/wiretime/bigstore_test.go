package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/metric"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// sample is a load that a big store has many of.
type sample struct {
	values map[string]float64
	files  string // folder of its artefacts; empty if it left none
}

// sampled is what a big store consists of.
type sampled struct {
	metrics []study.Metric // that the run declares
	samples []sample
}

// madeUp returns a sample that has a value for each metric of pages, but no artefacts.
func madeUp() sampled {
	var from sampled
	s := sample{values: map[string]float64{}}
	for i, m := range metric.Pages().Metrics {
		from.metrics = append(from.metrics, m.Metric)
		s.values[m.Name] = 100.25 * float64(i+1)
	}
	s.values["misses"], s.values["inexact"] = 0, 0
	from.samples = []sample{s}
	return from
}

// bigStore makes a store in dir with a run of so many cells and loads, all valid. Cells have the samples in turn. The
// store itself keeps the first load of each cell. The others are copies that SQL makes of these rows, with other values:
// within a cell they are spread evenly over 10 %.
func bigStore(tb testing.TB, dir string, cells, loads int, from sampled) {
	tb.Helper()
	spec := store.RunSpec{StudyName: "big", StudyText: "name: big\n", Environment: json.RawMessage(`{}`), Started: time.Unix(1, 0), Metrics: from.metrics}
	protocols := []string{"http/1.1", "https/1.1", "h2", "h3"}
	link := network.Link{Rate: 5e6, Delay: 10 * time.Millisecond, Queue: network.Queue{Bytes: 64000}}
	for i := range cells {
		name := fmt.Sprintf("network-%d", i/len(protocols))
		spec.Cells = append(spec.Cells, study.NewCell(study.Pages(), map[study.Axis]string{
			study.AxisSite: "page", study.AxisNetwork: name, study.AxisLoader: "chromium", study.AxisProtocol: protocols[i%len(protocols)],
			study.AxisClock: study.ClockVirtual,
		}, network.Path{Name: name, Access: []network.Access{{Name: "a", Up: link, Down: link}}}))
	}
	for i := range loads {
		spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: spec.Cells[i%cells], Repeat: i / cells, Seed: uint64(i)})
	}
	st, err := store.Open(dir, store.Create)
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	run, err := st.BeginRun(spec)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := st.Plan(run)
	if err != nil {
		tb.Fatal(err)
	}
	for i, p := range plan[:min(cells, loads)] {
		s := from.samples[i%len(from.samples)]
		r := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Wall: time.Second, Validity: store.Valid, Values: s.values}
		if s.files != "" {
			staged, err := st.StageDir(r.ID())
			if err != nil {
				tb.Fatal(err)
			}
			linkFiles(tb, s.files, staged)
		}
		if err := st.Commit(r); err != nil {
			tb.Fatal(err)
		}
	}
	multiply(tb, dir)
	for _, p := range plan[min(cells, loads):] {
		if s := from.samples[p.Index%cells%len(from.samples)]; s.files != "" {
			to := filepath.Join(dir, "loads", store.LoadRecord{Planned: p, Attempt: 1}.ID())
			if err := os.Mkdir(to, 0o755); err != nil {
				tb.Fatal(err)
			}
			linkFiles(tb, s.files, to)
		}
	}
}

// multiply copies the load of each cell's first repeat to the cell's other repeats.
func multiply(tb testing.TB, dir string) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "wiretime.db"))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`BEGIN;
		INSERT INTO load (id, planned, attempt, started, wall_ms, validity, reason, artefacts)
			SELECT printf('r%d-%04d-a1', p.run, p.idx), p.id, 1, l.started + p.idx * 1000000000, l.wall_ms, l.validity, l.reason,
				CASE WHEN l.artefacts IS NOT NULL THEN printf('loads/r%d-%04d-a1', p.run, p.idx) END
			FROM planned p JOIN planned q ON q.cell = p.cell AND q.repeat = 0 JOIN load l ON l.planned = q.id WHERE p.repeat > 0;
		INSERT INTO value (load, metric, value)
			SELECT printf('r%d-%04d-a1', p.run, p.idx), v.metric,
				CASE WHEN m.unit = 'ms' THEN v.value * (1 + (p.repeat * 7919 % 1000) / 1e4) ELSE v.value END
			FROM planned p JOIN planned q ON q.cell = p.cell AND q.repeat = 0 JOIN load l ON l.planned = q.id JOIN value v ON v.load = l.id
				JOIN metric m ON m.run = p.run AND m.name = v.metric WHERE p.repeat > 0;
		UPDATE planned SET state = 'done';
		COMMIT`)
	if err != nil {
		tb.Fatal(err)
	}
}

func linkFiles(tb testing.TB, from, to string) {
	tb.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		if err := os.Link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestBigStore: the copies of a load are loads like those that the store keeps itself.
func TestBigStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "load.har"), []byte(`{"log":{}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	from := madeUp()
	from.samples = append(from.samples, from.samples[0])
	from.samples[0].files = files
	bigStore(t, dir, 8, 30, from)
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil || len(loads) != 30 {
		t.Fatalf("%d loads, error %v", len(loads), err)
	}
	for i, l := range loads {
		original := loads[i%8]
		if l.ID != fmt.Sprintf("r1-%04d-a1", i) || l.Cell.Key() != original.Cell.Key() || l.Validity != store.Valid || len(l.Values) != len(original.Values) {
			t.Errorf("load %d is %+v", i, l)
		}
		if har, err := readHAR(l); err != nil || (har != nil) != (i%8%2 == 0) {
			t.Errorf("load %d has the HAR %v, error %v", i, har, err)
		}
		if l.Repeat > 0 && l.Values["plt"] <= original.Values["plt"] {
			t.Errorf("load %d took %v ms, the first of its cell %v ms", i, l.Values["plt"], original.Values["plt"])
		}
	}
	var out strings.Builder
	if err := printResults(&out, st, 1, "median", false); err != nil || !strings.Contains(out.String(), "30 of 30 loads done") {
		t.Errorf("results, error %v:\n%s", err, out.String())
	}
}

// TestResultsReadNoFiles prints the results of loads whose HARs cannot be read.
func TestResultsReadNoFiles(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "load.har"), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	from := madeUp()
	from.samples[0].files = files
	dir := filepath.Join(t.TempDir(), "store")
	bigStore(t, dir, 8, 24, from)
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := printResults(io.Discard, st, 1, "median", false); err != nil {
		t.Error(err)
	}
	if err := writeReport(st, 1, filepath.Join(t.TempDir(), "report.html")); err == nil {
		t.Error("a report was written without reading the HARs: the loads have none that can be read")
	}
}
