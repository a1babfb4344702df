package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// recorded returns a run of six loads of one batch, as it is in a store.
func recorded(t *testing.T) (*run, []*job) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "s"), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	queue := plan(t, 6, pageload.Fetch)
	spec := store.RunSpec{StudyName: "recorded", Environment: []byte("{}"), Started: time.Now()}
	seen := map[string]bool{}
	for i, j := range queue {
		if key := j.planned.Cell.Key(); !seen[key] {
			seen[key] = true
			spec.Cells = append(spec.Cells, j.planned.Cell)
		}
		spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: j.planned.Cell, Repeat: i, Seed: 1})
	}
	id, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := st.Plan(id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range queue {
		queue[i].planned = planned[i]
	}
	return &run{Config: Config{Store: st, Run: id}, congestion: map[string][]string{study.ClockVirtual: {"cubic"}}}, queue
}

// TestBootsAreThoseOfTheStore boots guests for loads as they were booted when the loads were made.
func TestBootsAreThoseOfTheStore(t *testing.T) {
	type made struct {
		index, attempt int
		how            *store.Making
	}
	for _, c := range []struct {
		name  string
		loads []made
		want  []string // the boots: which loads, for which attempt
	}{
		{"from the beginning of the batch", []made{{2, 1, &store.Making{Boot: 0, Attempt: 1}}}, []string{"0 to 2, attempt 1"}},
		{"two loads of one boot", []made{{4, 1, &store.Making{Boot: 0, Attempt: 1}}, {1, 1, &store.Making{Boot: 0, Attempt: 1}}}, []string{"0 to 4, attempt 1"}},
		{"after a load at which guests were lost", []made{{5, 1, &store.Making{Boot: 3, Attempt: 1}}, {1, 1, &store.Making{Boot: 0, Attempt: 1}}}, []string{"3 to 5, attempt 1", "0 to 1, attempt 1"}},
		{"again, after its guest was lost once", []made{{2, 2, &store.Making{Boot: 0, Attempt: 1}}}, []string{"0 to 2, attempt 1"}},
		{"a later attempt in a guest of its own", []made{{4, 3, &store.Making{Boot: 4, Attempt: 3}}}, []string{"4 to 4, attempt 3"}},
		{"an earlier version, first attempt", []made{{3, 1, nil}}, []string{"0 to 3, attempt 1"}},
		{"an earlier version, later attempt", []made{{3, 2, nil}}, []string{"3 to 3, attempt 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, queue := recorded(t)
			var loads []store.Load
			for _, m := range c.loads {
				record := store.LoadRecord{Planned: queue[m.index].planned, Attempt: m.attempt, Started: time.Now(), Validity: store.Valid, Making: m.how}
				if err := r.Store.Commit(record); err != nil {
					t.Fatal(err)
				}
				l, err := r.Store.Load(record.ID())
				if err != nil {
					t.Fatal(err)
				}
				loads = append(loads, l)
			}
			boots, err := r.boots(queue, loads)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range boots {
				got = append(got, fmt.Sprintf("%d to %d, attempt %d", b.jobs[0].planned.Index, b.jobs[len(b.jobs)-1].planned.Index, b.attempt))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestABootThatIsNotInTheBatch(t *testing.T) {
	r, queue := recorded(t)
	record := store.LoadRecord{Planned: queue[0].planned, Attempt: 1, Started: time.Now(), Validity: store.Valid, Making: &store.Making{Boot: 99, Attempt: 1}}
	if err := r.Store.Commit(record); err != nil {
		t.Fatal(err)
	}
	l, err := r.Store.Load(record.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.boots(queue, []store.Load{l}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
}

// TestMedianLoad chooses the load that stands for its cell.
func TestMedianLoad(t *testing.T) {
	metrics := []study.Metric{{Name: "bytes", Unit: "B"}, {Name: "dcl", Unit: "ms"}, {Name: "onload", Unit: "ms"}, {Name: "plt", Unit: "ms"}}
	load := func(id string, kept bool, metric string, value float64) store.CellLoad {
		return store.CellLoad{ID: id, Kept: kept, Values: map[string]float64{metric: value, "bytes": -value}}
	}
	for _, c := range []struct {
		name  string
		loads []store.CellLoad
		want  string
	}{
		{"the one in the middle", []store.CellLoad{load("a", true, "onload", 3), load("b", true, "onload", 1), load("c", true, "onload", 2)}, "c"},
		{"of two that are as near the first", []store.CellLoad{load("a", true, "onload", 1), load("b", true, "onload", 2)}, "a"},
		{"the nearest that has artefacts", []store.CellLoad{load("a", true, "onload", 9), load("b", false, "onload", 5), load("c", true, "onload", 2)}, "c"},
		{"without onLoad the first time", []store.CellLoad{load("a", true, "plt", 1), load("b", true, "plt", 9), load("c", true, "plt", 8)}, "c"},
		{"rather one without the metric than none", []store.CellLoad{load("a", true, "other", 1), load("b", false, "onload", 9)}, "a"},
		{"no artefacts", []store.CellLoad{load("a", false, "onload", 1)}, ""},
		{"no loads", nil, ""},
	} {
		if got := medianLoad(metrics, c.loads); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
