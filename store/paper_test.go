package store

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withPaper returns spec with two printed tables and two claims.
func withPaper() RunSpec {
	s := spec(1)
	s.Published = []Figure{
		{Table: 1, Row: 1, Column: 1, Source: "Somebody (2012), table 3", Metric: "plt", Unit: "s", RowLabel: "flags", ColumnLabel: "h2", Cell: pageCell("h2").Key(), Printed: "2.50", Value: 2500, Statistic: "median"},
		{Table: 1, Row: 2, Column: 2, Source: "Somebody (2012), table 3", Metric: "plt", Unit: "s", RowLabel: "flags", ColumnLabel: "h3", Cell: pageCell("h3").Key(), Printed: "1", Value: 1000, Statistic: "max", Loads: "1-100"},
		{Table: 2, Row: 1, Column: 1, Source: "Another", Metric: "drops", Unit: "packets", RowLabel: "", ColumnLabel: "h2", Cell: pageCell("h2").Key(), Printed: "7", Value: 7, Statistic: "p95"},
	}
	s.Claims = []Claim{
		{Text: "HTTP/3 is faster.", Statistic: "median", Ratio: "below 1", High: 1, Open: true, Pairs: []ClaimPair{
			{Metric: "plt", Cell: pageCell("h3").Key(), ToMetric: "plt", ToCell: pageCell("h2").Key()},
			{Metric: "plt", Cell: pageCell("h3").Key(), ToMetric: "plt", ToCell: pageCell("https/1.1").Key()},
		}},
		{Text: "It loses twice as much.", Statistic: "mean", Ratio: "at least 2", Low: 2, High: math.Inf(1), Pairs: []ClaimPair{
			{Metric: "drops", Cell: pageCell("h3").Key(), ToMetric: "drops", ToCell: pageCell("h2").Key(), Loads: "2-100", ToLoads: "1-2"},
		}},
		{Text: "The gap grows with the loss.", Statistic: "median", High: math.Inf(1), Grows: "difference", Along: "loss", Pairs: []ClaimPair{
			{Metric: "plt", Cell: pageCell("h3").Key(), ToMetric: "plt", ToCell: pageCell("h2").Key()},
		}},
	}
	return s
}

// holdsThePaper checks everything that withPaper adds.
func holdsThePaper(t *testing.T, s *Store, run int64) {
	t.Helper()
	published, err := s.Published(run)
	if d := cmp.Diff(withPaper().Published, published); d != "" || err != nil {
		t.Error(d, err)
	}
	claims, err := s.Claims(run)
	if d := cmp.Diff(withPaper().Claims, claims); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestWhatPapersPrintedAndClaimedIsReadBack(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	for range 2 { // each run has its own
		run, err := s.BeginRun(withPaper())
		if err != nil {
			t.Fatal(err)
		}
		holdsThePaper(t, s, run)
	}
	run, err := s.BeginRun(spec(1))
	if err != nil {
		t.Fatal(err)
	}
	published, err := s.Published(run)
	claims, err2 := s.Claims(run)
	if published != nil || claims != nil || err != nil || err2 != nil {
		t.Errorf("a run without any has %v, %v (%v, %v)", published, claims, err, err2)
	}
}

func TestFiguresAndClaimsAreOfTheRunsOwnCells(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	for name, spoil := range map[string]func(*RunSpec){
		"a figure": func(r *RunSpec) { r.Published[1].Cell = "flags/gopher" },
		"a claim":  func(r *RunSpec) { r.Claims[1].Pairs[0].ToCell = "flags/gopher" },
	} {
		r := withPaper()
		spoil(&r)
		if _, err := s.BeginRun(r); err == nil {
			t.Errorf("%s of a cell that the run lacks was kept", name)
		}
	}
	if runs, err := s.Runs(); len(runs) != 0 || err != nil {
		t.Errorf("the store holds %v (%v)", runs, err)
	}
}

func TestExportJSONHoldsWhatPapersPrintedAndClaimed(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	run, err := s.BeginRun(withPaper())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.ExportJSON(&out, run); err != nil {
		t.Fatal(err)
	}
	var document struct {
		Published []Figure
		Claims    []Claim
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	want := withPaper()
	for i := range want.Claims { // of the range, the words are exported
		want.Claims[i].Low, want.Claims[i].High, want.Claims[i].Open = 0, 0, false
	}
	if d := cmp.Diff(want.Published, document.Published); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want.Claims, document.Claims); d != "" {
		t.Error(d)
	}
}
