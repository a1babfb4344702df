package store

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/study"
)

// measuredStore makes a store whose run has so many repeats of three cells. Every tenth load is late at its first attempt.
func measuredStore(t *testing.T, repeats int) *Store {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	t.Cleanup(func() { mustClose(t, s) })
	pending := begin(t, s, repeats)
	var records []LoadRecord
	for i, p := range pending {
		r := measured(p)
		if i%10 == 0 {
			late := measured(p)
			late.Validity, late.Reason = Invalid, "late packets"
			late.Violations = []study.Violation{{Rule: 1, Detail: "wrong"}, {Rule: 1, Detail: "wrong again"}, {Rule: 3, Detail: "late packets"}}
			records = append(records, late)
			r.Attempt = 2
		}
		records = append(records, r)
	}
	if err := s.Commit(records...); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestResultsAreThoseOfTheLoads compares the results with the loads, which are read in batches, and the faults with the
// loads' violations.
func TestResultsAreThoseOfTheLoads(t *testing.T) {
	s := measuredStore(t, 1+2*batch/3)
	results, err := s.Results(1, "drops", "plt")
	if err != nil {
		t.Fatal(err)
	}
	whole, loads, err := s.ResultsAndLoads(1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, results); d != "" {
		t.Error("results differ from those of whole loads:", d)
	}
	names := []string{"plt"}
	for i := range mostColumns {
		names = append(names, fmt.Sprint("unknown ", i))
	}
	of33, err := s.Results(1, names...)
	if d := cmp.Diff(whole, of33); d != "" || err != nil {
		t.Errorf("results with %d metrics, error %v: %s", len(names), err, d)
	}
	largest := 0
	err = s.eachBatch(1, func(some []Load) error {
		largest = max(largest, len(some))
		return nil
	})
	if err != nil || largest > batch+batch/10 {
		t.Errorf("a batch has %d loads of %d planned ones, error %v", largest, batch, err)
	}
	late := 0
	for i, l := range loads {
		if i > 0 && (l.Index < loads[i-1].Index || l.Index == loads[i-1].Index && l.Attempt <= loads[i-1].Attempt) {
			t.Fatalf("load %s follows %s", l.ID, loads[i-1].ID)
		}
		if l.Validity == Invalid {
			late++
		}
	}
	planned := 3 * (1 + 2*batch/3)
	if want := (planned + 9) / 10; late != want || len(loads) != planned+want || results[0].Planned != planned/3 || results[0].Pending != 0 {
		t.Errorf("%d loads, %d of them late, and %d planned in the first cell; want %d, %d and %d", len(loads), late, results[0].Planned, planned+want, want, planned/3)
	}
	of, err := s.LoadsOf(1, results[1].Cell)
	if err != nil || len(of) != results[1].Valid+results[1].Invalid {
		t.Errorf("%d loads of the second cell, error %v", len(of), err)
	}
	for _, l := range of {
		if l.Cell.Key() != results[1].Cell.Key() {
			t.Fatalf("load %s is of cell %s", l.ID, l.Cell.Key())
		}
	}
	if faults, err := s.Faults(1); err != nil || faults.WrongProtocol != late || faults.Unsupported != nil {
		t.Errorf("faults are %+v, error %v; want %d of a wrong protocol", faults, err, late)
	}
}

func TestUnsupportedLoadsAreCountedByReason(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	for i, p := range begin(t, s, 2) {
		r := measured(p)
		r.Validity, r.Reason, r.Values = Unsupported, []string{"z: there is none", "a: there is none", "z: there is none"}[i%3], nil
		r.Violations = []study.Violation{{Rule: 1, Detail: "not measured at all"}}
		if err := s.Commit(r); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := s.Faults(1)
	if err != nil {
		t.Fatal(err)
	}
	want := Faults{Unsupported: []UnsupportedLoads{{"z: there is none", 4}, {"a: there is none", 2}}}
	if d := cmp.Diff(want, faults); d != "" {
		t.Error(d)
	}
}

// TestCostOfALoad bounds what one more load costs an overview and an export, by allocations.
func TestCostOfALoad(t *testing.T) {
	few, many := measuredStore(t, 100), measuredStore(t, 1100)
	for _, c := range []struct {
		name string
		read func(*Store) error
		most float64 // allocations for each load
	}{
		{"results", func(s *Store) error { _, err := s.Results(1, "plt", "drops"); return err }, 12},
		{"CSV", func(s *Store) error { return s.ExportCSV(io.Discard, 1) }, 110},
		{"JSON", func(s *Store) error { return s.ExportJSON(io.Discard, 1) }, 250},
	} {
		allocations := func(s *Store) float64 {
			return testing.AllocsPerRun(1, func() {
				if err := c.read(s); err != nil {
					t.Fatal(err)
				}
			})
		}
		if each := (allocations(many) - allocations(few)) / 3300; each > c.most {
			t.Errorf("%s: %.1f allocations for each load, want at most %v", c.name, each, c.most)
		} else {
			t.Logf("%s: %.1f allocations for each load", c.name, each)
		}
	}
}

// TestCostOfACommit bounds what one more load of a batch costs, by allocations: statements are prepared for the whole batch, and a load's
// values go into the database together.
func TestCostOfACommit(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	run, err := s.BeginRun(wideSpec(1000))
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(loads int) float64 {
		var records []LoadRecord
		return testing.AllocsPerRun(1, func() { // which calls it twice
			records = records[:0]
			for _, p := range pending[:loads] {
				records = append(records, wide(p))
			}
			pending = pending[loads:]
			if err := s.Commit(records...); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(40), allocations(400)
	each := (many - few) / 360
	t.Logf("%.0f allocations for each load", each)
	if each > 300 {
		t.Errorf("%.0f allocations for each load with %d values, want at most 300", each, manyMetrics)
	}
}
