package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/store"
	"wiretime/study"
)

func TestResultsShowWhatPapersPrintedAndClaimed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	cell := func(strategy string) study.Cell {
		return pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "virtual", study.AxisVisit: "cold", study.AxisStrategy: strategy, study.AxisServer: "wiretime"})
	}
	pair := func(a, b string) store.ClaimPair {
		return store.ClaimPair{Metric: "plt", Cell: cell(a).Key(), ToMetric: "plt", ToCell: cell(b).Key()}
	}
	keep(t, dir, []study.Cell{cell("browser"), cell("sequential"), cell("unlimited")}, func(r *store.RunSpec) {
		r.Published = []store.Figure{
			{Table: 1, Row: 1, Column: 1, Source: "Somebody (2012), table 3", Metric: "plt", Unit: "s", RowLabel: "page", ColumnLabel: "browser", Cell: cell("browser").Key(), Printed: "0.50", Value: 500},
			{Table: 1, Row: 1, Column: 2, Source: "Somebody (2012), table 3", Metric: "plt", Unit: "s", RowLabel: "page", ColumnLabel: "sequential", Cell: cell("sequential").Key(), Printed: "2.005", Value: 2005},
		}
		r.Claims = []store.Claim{
			{Text: "They take equally long.", Ratio: "0.9 to 1.1", Low: 0.9, High: 1.1, Pairs: []store.ClaimPair{pair("browser", "sequential"), pair("unlimited", "sequential")}},
			{Text: "One is faster.", Ratio: "below 0.9", High: 0.9, Open: true, Pairs: []store.ClaimPair{pair("browser", "sequential"), pair("unlimited", "sequential")}},
			{Text: "One is slower.", Ratio: "above 1", Low: 1, High: math.Inf(1), Open: true, Pairs: []store.ClaimPair{pair("browser", "sequential")}},
		}
	})
	r := self(t).run(t, "results", "--store", dir)
	for _, text := range []string{
		"\nPublished: Somebody (2012), table 3; PLT, s\n",
		"page  browser     0.50       1 [1..1]  2.00\n",
		"      sequential  2.005      1 [1..1]  0.50\n",
		"\n1. They take equally long.\n   ratio of PLT 0.9 to 1.1 (here 1.000 to 1.000): held in all 2 strategies.\n\n",
		"\n2. One is faster.\n   ratio of PLT below 0.9 (here 1.000 to 1.000): refuted in all 2 strategies.\n",
		"   browser    refuted  1.000 [0.99",
		"\n3. One is slower.\n   ratio of PLT above 1 (here 1.000): not decided.\n",
	} {
		if !strings.Contains(r.out, text) {
			t.Errorf("%q is not in\n%s%s", text, r.out, r.errors)
		}
	}

	without := filepath.Join(t.TempDir(), "without")
	kept(t, without, "real")
	r = self(t).run(t, "results", "--store", without)
	for _, text := range []string{"Published", "Claims"} {
		if r.code != 0 || strings.Contains(r.out, text) {
			t.Errorf("%q is in the results of a run without any:\n%s%s", text, r.out, r.errors)
		}
	}
}
