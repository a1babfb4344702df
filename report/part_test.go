package report

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wiretime/store"
)

// TestParts reads cells without loads, one cell, and one load: each is as it is in a report of everything.
func TestParts(t *testing.T) {
	st, run := flagStudy.keep(t)
	whole, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("cells", func(t *testing.T) { cellsAreTheReports(t, st, run, whole) })
	t.Run("one cell", func(t *testing.T) { oneCellIsTheReports(t, st, run, whole) })
	t.Run("one load", func(t *testing.T) { oneLoadIsTheReports(t, st, whole) })
}

func cellsAreTheReports(t *testing.T, st *store.Store, run int64, whole Data) {
	var all []string
	for _, m := range whole.Metrics {
		all = append(all, m.Name)
	}
	got, err := CollectCells(st, run, all...)
	if err != nil {
		t.Fatal(err)
	}
	without := whole
	without.Loads, without.Words, without.MediansOnly, without.Cells = []Load{}, []string{""}, true, slices.Clone(whole.Cells)
	for i := range without.Cells {
		without.Cells[i].Loads, without.Cells[i].MedianLoad = []int{}, -1
	}
	if d := cmp.Diff(asJSON(t, without), asJSON(t, got)); d != "" {
		t.Error("the cells are not those of the report without its loads:\n", d)
	}
	few, err := CollectCells(st, run)
	if err != nil {
		t.Fatal(err)
	}
	if s := few.Cells[0].Summaries; len(s) == 0 || len(s) >= len(got.Cells[0].Summaries) || !cmp.Equal(s["plt"], got.Cells[0].Summaries["plt"]) {
		t.Errorf("without names of metrics, the first cell has the summaries %v", s)
	}
}

func asJSON(t *testing.T, value any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func oneCellIsTheReports(t *testing.T, st *store.Store, run int64, whole Data) {
	for i := range whole.Cells {
		got, kept, err := OfCell(st, run, i, Files{HAR: readSynthetic})
		if err != nil {
			t.Fatal(err)
		}
		want := whole.Cells[i]
		if d := cmp.Diff(want, got.Cells[0], cmpopts.IgnoreFields(Cell{}, "Loads", "MedianLoad")); d != "" {
			t.Errorf("cell %d differs from the report's:\n%s", i, d)
		}
		if len(got.Loads) != len(want.Loads) || len(kept) != len(want.Loads) {
			t.Fatalf("cell %d has %d loads, of which %d are the store's; want %d", i, len(got.Loads), len(kept), len(want.Loads))
		}
		for j, l := range want.Loads {
			theirs := whole.Loads[l]
			if got.Loads[j].ID != theirs.ID || kept[j].ID != theirs.ID || got.Loads[j].Cell != 0 || !cmp.Equal(got.Loads[j].Values, theirs.Values) {
				t.Errorf("load %d of cell %d is %+v, want %+v", j, i, got.Loads[j], theirs)
			}
			if median := l == want.MedianLoad; median != (got.Cells[0].MedianLoad == j) || median != (got.Loads[j].Waterfall != nil) {
				t.Errorf("load %s is the median load %v, has a waterfall %v", theirs.ID, got.Cells[0].MedianLoad == j, got.Loads[j].Waterfall != nil)
			}
		}
	}
	for _, none := range []int{-1, len(whole.Cells)} {
		if _, _, err := OfCell(st, run, none, Files{}); err == nil {
			t.Errorf("cell %d of %d was read", none, len(whole.Cells))
		}
	}
}

func oneLoadIsTheReports(t *testing.T, st *store.Store, whole Data) {
	for i, l := range whole.Loads {
		if i%17 != 0 && l.Validity == string(store.Valid) {
			continue
		}
		kept, err := st.Load(l.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, cell, siblings, err := OfLoad(st, kept, Files{HAR: readSynthetic})
		if err != nil {
			t.Fatal(err)
		}
		if cell != l.Cell || len(siblings) != len(whole.Cells[cell].Loads) || !cmp.Equal(got.Cells[0].Summaries, whole.Cells[cell].Summaries) {
			t.Errorf("load %s is of cell %d with %d loads, want cell %d", l.ID, cell, len(siblings), l.Cell)
		}
		one := got.Loads[0]
		if len(got.Loads) != 1 || one.ID != l.ID || one.Reason != l.Reason || !cmp.Equal(one.Values, l.Values) {
			t.Errorf("load %s is %+v", l.ID, one)
		}
		if l.Waterfall != nil && (one.Waterfall == nil || len(one.Waterfall.Requests) != len(l.Waterfall.Requests) || one.Waterfall.OnLoad != l.Waterfall.OnLoad) {
			t.Errorf("load %s lacks its waterfall", l.ID)
		}
	}
}
