package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/network"
	"wiretime/study"
)

var started = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// spec returns a run of three cells with the given number of repeats.
func spec(repeats int) RunSpec {
	s := RunSpec{
		StudyName: "first", StudyText: "name: first\n", Seed: 1<<64 - 1, Version: "v0.1",
		Environment: json.RawMessage(`{"kernel":"6.1"}`), Started: started,
		Metrics: []study.Metric{
			{Name: "plt", Unit: "ms", Title: "PLT", Definition: "navigation start until the last byte"},
			{Name: "drops", Unit: "packets", Title: "Drops", Definition: "packets lost"},
		},
	}
	for _, protocol := range []string{"https/1.1", "h2", "h3"} {
		s.Cells = append(s.Cells, pageCell(protocol))
	}
	for repeat := range repeats {
		for i := range s.Cells {
			c := s.Cells[len(s.Cells)-1-i]
			s.Plan = append(s.Plan, study.PlannedLoad{Cell: c, Repeat: repeat, Seed: 1<<63 + uint64(len(s.Plan))})
		}
	}
	return s
}

// pageCell is a cell of pages over a protocol.
func pageCell(protocol string) study.Cell {
	return study.NewCell(study.Pages(), map[study.Axis]string{
		study.AxisSite: "flags", study.AxisProtocol: protocol, study.AxisNetwork: "cable", study.AxisLoader: "chromium",
	}, network.Path{Name: "cable"})
}

func mustOpen(t *testing.T, dir string, mode Mode) *Store {
	t.Helper()
	s, err := Open(dir, mode)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, s *Store, repeats int) []Planned {
	t.Helper()
	run, err := s.BeginRun(spec(repeats))
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	return pending
}

// measured returns a valid attempt at p.
func measured(p Planned) LoadRecord {
	return LoadRecord{Planned: p, Attempt: p.Attempts + 1, Started: started, Wall: 1500 * time.Millisecond, Validity: Valid,
		Values: map[string]float64{"plt": 1000.25 + float64(p.Index), "drops": 3}}
}

// stage writes a capture of the given size where Commit will look for it.
func stage(t *testing.T, s *Store, id string, size int) {
	t.Helper()
	dir, err := s.StageDir(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"load.pcapng", "logs/server.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestARunIsReadBackAsItWasMeasured(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd ?name#with%41 space")
	s := mustOpen(t, dir, Create)
	pending := begin(t, s, 1)
	want := spec(1)
	for i, p := range pending {
		if p.Index != i || p.Cell.Key() != want.Plan[i].Cell.Key() || p.Seed != want.Plan[i].Seed || p.Attempts != 0 {
			t.Errorf("planned load %d is %+v, want %+v", i, p, want.Plan[i])
		}
	}

	// h3 is late once, h2 is unsupported, https/1.1 fails permanently.
	late := measured(pending[0])
	late.Validity, late.Reason = Invalid, "late packets"
	late.Pages = []study.Page{{URL: "https://a.test/", DCL: 200, OnLoad: 300.5, PLT: 280}, {URL: "https://a.test/next", Started: 800, DCL: -1, OnLoad: -1, PLT: 40}}
	late.Violations = []study.Violation{{Rule: 3, Detail: "p99 lateness 2.5 ms"}, {Rule: 4, Detail: "1 miss"}}
	again := measured(pending[0])
	again.Attempt = 2
	unsupported := measured(pending[1])
	unsupported.Validity, unsupported.Reason, unsupported.Values = Unsupported, "no such protocol here", nil
	failed := measured(pending[2])
	failed.Validity, failed.Reason, failed.Values, failed.Final = Failed, "timeout after 120 s", nil, true

	stage(t, s, late.ID(), 10)
	if err := s.Commit(late); err != nil {
		t.Fatal(err)
	}
	left, err := s.Pending(1)
	if err != nil || len(left) != 3 || left[0].Attempts != 1 {
		t.Fatalf("after a late load %d are pending, the first with %d attempts (%v); want 3 and 1", len(left), left[0].Attempts, err)
	}
	if err := s.FinishRun(1, started); err == nil || !strings.Contains(err.Error(), "3 of its 3 loads remain") {
		t.Errorf("finishing with loads pending: %v", err)
	}
	for _, r := range []LoadRecord{again, unsupported, failed} {
		if err := s.Commit(r); err != nil {
			t.Fatal(err)
		}
	}
	if r, ok, err := s.UnfinishedRun(); err != nil || !ok || r.ID != 1 || r.Done != 3 || !r.Finished.IsZero() {
		t.Errorf("unfinished run %+v %v %v", r, ok, err)
	}
	if err := s.FinishRun(1, started.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.UnfinishedRun(); ok || err != nil {
		t.Errorf("a run is still unfinished (%v)", err)
	}
	mustClose(t, s)

	s = mustOpen(t, dir, Read)
	defer mustClose(t, s)
	runs, err := s.Runs()
	if err != nil {
		t.Fatal(err)
	}
	wantRun := Run{ID: 1, StudyName: "first", StudyText: "name: first\n", Seed: 1<<64 - 1, Version: "v0.1",
		Environment: json.RawMessage(`{"kernel":"6.1"}`), Started: started, Finished: started.Add(time.Minute), Keep: study.KeepAll, Planned: 3, Done: 3}
	if d := cmp.Diff([]Run{wantRun}, runs); d != "" {
		t.Error("runs differ:", d)
	}
	metrics, err := s.Metrics(1)
	if d := cmp.Diff(want.Metrics, metrics); d != "" || err != nil {
		t.Error("metrics differ:", d, err)
	}

	got, err := s.Load("r1-0000-a1")
	if err != nil {
		t.Fatal(err)
	}
	wantLoad := Load{ID: "r1-0000-a1", Run: 1, Cell: want.Cells[2], Seed: 1 << 63, Attempt: 1, Started: started,
		Wall: 1500 * time.Millisecond, Validity: Invalid, Reason: "late packets", Artefacts: filepath.Join(dir, "loads", "r1-0000-a1"),
		Values: late.Values, Violations: late.Violations, Pages: late.Pages}
	if d := cmp.Diff(wantLoad, got); d != "" {
		t.Error("load differs:", d)
	}
	if names := entries(t, got.Artefacts); !cmp.Equal(names, []string{"load.pcapng", "logs"}) {
		t.Errorf("artefacts are %v", names)
	}

	results, err := s.Results(1, "plt", "drops")
	if err != nil {
		t.Fatal(err)
	}
	wantResults := []Result{
		{Cell: want.Cells[0], Values: map[string][]float64{}, Failed: 1, Planned: 1},
		{Cell: want.Cells[1], Values: map[string][]float64{}, Unsupported: 1, Planned: 1},
		{Cell: want.Cells[2], Values: map[string][]float64{"plt": {1000.25}, "drops": {3}}, Valid: 1, Invalid: 1, Planned: 1},
	}
	if d := cmp.Diff(wantResults, results); d != "" {
		t.Error("results differ:", d)
	}
}

func TestValuesComeInTheOrderOfThePlan(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	pending := begin(t, s, 3)
	for i := range pending {
		if err := s.Commit(measured(pending[len(pending)-1-i])); err != nil {
			t.Fatal(err)
		}
	}
	results, err := s.Results(1, "plt", "drops")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{1002.25, 1005.25, 1008.25}, results[0].Values["plt"]); d != "" {
		t.Error(d)
	}
}

func TestCommitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*LoadRecord)
		want   string
	}{
		{"a metric the run does not declare", func(r *LoadRecord) { r.Values["speed"] = 1 }, "metric speed"},
		{"a value that is no number", func(r *LoadRecord) { r.Values["plt"] = nan() }, "metric plt: NaN is not a measurement"},
		{"an unknown verdict", func(r *LoadRecord) { r.Validity = "fine" }, "CHECK constraint"},
		{"a planned load that does not exist", func(r *LoadRecord) { r.Planned.ID = 99 }, "FOREIGN KEY"},
		{"a planned load of another place", func(r *LoadRecord) { r.Planned.Index = 1 }, "its planned load"},
		{"an attempt made before", func(r *LoadRecord) { *r = measured(r.Planned); r.Planned.Index = 2; r.Planned.ID++ }, "UNIQUE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
			defer mustClose(t, s)
			pending := begin(t, s, 1)
			if err := s.Commit(func() LoadRecord { r := measured(pending[2]); r.Validity = Invalid; return r }()); err != nil {
				t.Fatal(err)
			}
			r := measured(pending[0])
			if strings.Contains(tt.name, "before") {
				r = measured(pending[1])
			}
			tt.change(&r)
			stage(t, s, r.ID(), 10)
			err := s.Commit(r)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if names := entries(t, s.path(loadsName)); len(names) != 0 {
				t.Errorf("a refused load left %v", names)
			}
			if left, _ := s.Pending(1); len(left) != 3 {
				t.Errorf("%d loads pending, want all 3", len(left))
			}
		})
	}
}

// TestCommitKeepsAllOrNone commits three attempts of which one cannot be kept, and then three that can.
func TestCommitKeepsAllOrNone(t *testing.T) {
	for bad := range 3 {
		s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
		defer mustClose(t, s)
		var records []LoadRecord
		for _, p := range begin(t, s, 1) {
			r := measured(p)
			stage(t, s, r.ID(), 10)
			records = append(records, r)
		}
		records[bad].Values["speed"] = 1
		if err := s.Commit(records...); err == nil || !strings.Contains(err.Error(), "keep load "+records[bad].ID()+": metric speed") {
			t.Errorf("error %v, want one about the metric speed of %s", err, records[bad].ID())
		}
		if loads, err := s.Loads(1); err != nil || len(loads) != 0 {
			t.Errorf("%d loads after the error, %v", len(loads), err)
		}
		if names := entries(t, s.path(loadsName)); len(names) != 0 {
			t.Errorf("the refused loads left %v", names)
		}
		if left, err := s.Pending(1); err != nil || len(left) != 3 {
			t.Errorf("%d loads are pending, want all 3; %v", len(left), err)
		}
		delete(records[bad].Values, "speed")
		for _, r := range records {
			stage(t, s, r.ID(), 10)
		}
		if err := s.Commit(records...); err != nil {
			t.Error(err)
		}
		if left, err := s.Pending(1); err != nil || len(left) != 0 {
			t.Errorf("%d loads are pending after they were kept; %v", len(left), err)
		}
	}
}

func nan() float64 { var zero float64; return zero / zero }

func TestADoneLoadTakesNoFurtherAttempt(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	p := begin(t, s, 1)[0]
	first := measured(p)
	stage(t, s, first.ID(), 10)
	if err := s.Commit(first); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Attempt = 2
	for _, r := range []LoadRecord{second, first} {
		stage(t, s, r.ID(), 20)
		if err := s.Commit(r); err == nil {
			t.Errorf("%s was kept although %s is valid", r.ID(), first.ID())
		}
	}
	info, err := os.Stat(s.path(loadsName, first.ID(), "load.pcapng"))
	if err != nil || info.Size() != 10 {
		t.Errorf("the first attempt's capture: %v %v", info, err)
	}
}

func TestBeginRunRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*RunSpec)
		want   string
	}{
		{"an empty plan", func(s *RunSpec) { s.Plan = nil }, "the plan holds no load"},
		{"an unknown cell", func(s *RunSpec) { s.Plan[1].Cell = pageCell("gopher") }, `planned load 1: the run has no cell "site=flags protocol=gopher `},
		{"a clock that was never chosen", func(s *RunSpec) { s.Cells[1] = s.Cells[1].With(study.AxisClock, "auto") }, "protocol=h2 "},
		{"a cell twice", func(s *RunSpec) { s.Cells[1] = s.Cells[0] }, "protocol=https/1.1 "},
		{"a load twice", func(s *RunSpec) { s.Plan[1] = s.Plan[0] }, "planned load 1"},
		{"an environment that is not JSON", func(s *RunSpec) { s.Environment = json.RawMessage("{") }, "json_valid"},
	}
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := spec(1)
			tt.change(&r)
			if _, err := s.BeginRun(r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if runs, err := s.Runs(); len(runs) != 0 || err != nil {
				t.Errorf("runs %v (%v), want none", runs, err)
			}
		})
	}
}

func TestUnknownRunsAndLoads(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	_, run := s.Run(7)
	_, load := s.Load("r7-0001-a1")
	_, results := s.Results(7)
	for _, c := range []struct {
		err  error
		want string
	}{{run, "`wiretime results`"}, {load, "'wiretime export csv'"}, {results, "`wiretime results`"}} {
		if !errors.Is(c.err, ErrNotFound) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %s named", c.err, c.want)
		}
	}
	for _, id := range []string{"", "..", "../../etc", "r1-0001-a1.part", "r1-0001-a1/x"} {
		if _, err := s.StageDir(id); err == nil {
			t.Errorf("a folder was staged for %q", id)
		}
	}
}

func TestLoadsOfSeveralLabsAreKeptAtOnce(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	pending := begin(t, s, 4)
	errs := make(chan error)
	for _, p := range pending {
		r := measured(p)
		stage(t, s, r.ID(), 10)
		go func() { errs <- s.Commit(r) }()
	}
	for range pending {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if left, err := s.Pending(1); len(left) != 0 || err != nil {
		t.Errorf("%d loads pending (%v)", len(left), err)
	}
}
