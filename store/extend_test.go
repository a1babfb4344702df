package store

import (
	"errors"
	"testing"
	"time"

	"wiretime/study"
)

// TestExtend: a finished run that is extended has the plan of a run with more repeats, keeps its loads, and is unfinished until the new ones are done.
func TestExtend(t *testing.T) {
	st := mustOpen(t, t.TempDir(), Create)
	defer mustClose(t, st)
	cells := []study.Cell{pageCell("h2"), pageCell("h3")}
	plan := func(repeats int) []study.PlannedLoad { return (&study.Study{Seed: 1, Repeats: repeats}).Plan(cells) }
	run, err := st.BeginRun(RunSpec{StudyName: "short", Environment: []byte("{}"), Started: time.Unix(1, 0), Cells: cells, Plan: plan(2)})
	if err != nil {
		t.Fatal(err)
	}
	do := func() {
		t.Helper()
		pending, err := st.Pending(run)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pending {
			if err := st.Commit(LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Validity: Valid}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.FinishRun(run, time.Unix(3, 0)); err != nil {
			t.Fatal(err)
		}
	}
	do()
	for _, repeats := range []int{5, 5, 3} { // again, and with fewer, nothing is added
		if err := st.Extend(run, plan(repeats)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := st.Run(run)
	if err != nil || r.Planned != 10 || r.Done != 4 || !r.Finished.IsZero() {
		t.Fatalf("the extended run is %+v, %v", r, err)
	}
	has, err := st.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range plan(5) {
		if p := has[i]; p.Index != i || p.Seed != want.Seed || p.Repeat != want.Repeat || p.Cell.Key() != want.Cell.Key() || p.Done != (i < 4) {
			t.Errorf("load %d is %+v, want %+v", i, p, want)
		}
	}
	do()
	if err := st.Extend(run, (&study.Study{Seed: 2, Repeats: 9}).Plan(cells)); err == nil {
		t.Error("a plan with other seeds extends the run")
	}
	lock := st.lock
	defer func() { st.lock = lock }()
	st.lock = nil
	if err := st.Extend(run, plan(9)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a store that is open for reading: %v", err)
	}
}
