package report

import (
	"errors"
	"math"
	"strings"
	"testing"

	"wiretime/store"
	"wiretime/study"
)

// results are cells of one site and network, whose loads took what is given.
func cellResults(of map[string][]float64, protocols ...string) []store.Result {
	var all []store.Result
	for _, p := range protocols {
		all = append(all, store.Result{Cell: protocolCell(p), Values: map[string][]float64{"plt": of[p]}})
	}
	return all
}

func protocolCell(protocol string) study.Cell {
	return page("n", map[study.Axis]string{study.AxisProtocol: protocol})
}

func TestAClaimHoldsWhereTheIntervalLiesInItsRange(t *testing.T) {
	results := cellResults(map[string][]float64{
		"slow":   {100, 101, 102, 103, 104, 105, 106},
		"fast":   {50, 51, 52, 53, 54, 55, 56},
		"spread": {60, 70, 80, 103, 130, 140, 150},
		"same":   {100, 100, 100, 100, 100, 100, 100},
		"few":    {50, 51, 52},
		"none":   nil,
		"zero":   {0, 0, 0, 0, 0, 0, 0},
	}, "slow", "fast", "spread", "same", "few", "none", "zero")
	none := math.Inf(1)
	for _, c := range []struct {
		a, b      string
		low, high float64
		open      bool
		want      string
	}{
		{"fast", "slow", 0, 1, true, Held},
		{"slow", "fast", 0, 1, true, Refuted},
		{"slow", "fast", 1.5, none, false, Held},
		{"fast", "slow", 0.9, 1.1, false, Refuted},
		{"spread", "slow", 0, 1, true, Undecided},
		{"same", "same", 0, 1, true, Refuted},
		{"same", "same", 0, 1, false, Held},
		{"same", "same", 1, none, true, Refuted},
		{"same", "same", 1, none, false, Held},
		{"few", "slow", 0, 1, true, Undecided},
		{"none", "slow", 0, 1, true, Unmeasured},
		{"slow", "zero", 0, 1, true, Unmeasured},
	} {
		judged := JudgeClaims(results, nil, []store.Claim{{Text: "x", Low: c.low, High: c.high, Open: c.open,
			Pairs: []store.ClaimPair{{Metric: "plt", Cell: protocolCell(c.a).Key(), ToMetric: "plt", ToCell: protocolCell(c.b).Key()}}}}, 1)
		if got := judged[0]; got.Pairs[0].Outcome != c.want || got.Verdict != c.want || got.Pairs[0].Name != "" {
			t.Errorf("%s to %s in %v to %v is %+v, want %s", c.a, c.b, c.low, c.high, got, c.want)
		}
	}
}

func TestAVerdictCountsPairsByWhatTellsThemApart(t *testing.T) {
	results := cellResults(map[string][]float64{
		"a": {1, 1, 1, 1, 1, 1}, "b": {2, 2, 2, 2, 2, 2}, "c": {3, 3, 3, 3, 3, 3}, "d": nil,
	}, "a", "b", "c", "d")
	below := func(pairs ...[2]string) store.Claim {
		c := store.Claim{Ratio: "below 1", High: 1, Open: true}
		for _, p := range pairs {
			c.Pairs = append(c.Pairs, store.ClaimPair{Metric: "plt", Cell: protocolCell(p[0]).Key(), ToMetric: "plt", ToCell: protocolCell(p[1]).Key()})
		}
		return c
	}
	for want, claim := range map[string]store.Claim{
		"held in all 2 protocols":                                   below([2]string{"a", "b"}, [2]string{"a", "c"}),
		"held in 1 of 3 protocols, refuted in 1, not measured in 1": below([2]string{"b", "c"}, [2]string{"b", "a"}, [2]string{"b", "d"}),
		"refuted in all 2 protocols":                                below([2]string{"b", "a"}, [2]string{"c", "a"}),
	} {
		if got := JudgeClaims(results, nil, []store.Claim{claim}, 1)[0].Verdict; got != want {
			t.Errorf("the verdict is %q, want %q", got, want)
		}
	}
	if got := JudgeClaims(results, nil, []store.Claim{below([2]string{"a", "b"}, [2]string{"a", "c"})}, 1)[0].Pairs[1].Name; got != "to c" {
		t.Errorf("the second pair is called %q", got)
	}
	both := JudgeClaims(results, nil, []store.Claim{below([2]string{"a", "b"}, [2]string{"c", "b"}, [2]string{"c", "a"})}, 1)[0]
	if got := both.Pairs[2].Name; got != "c to a" {
		t.Errorf("of pairs that differ on both sides the third is called %q", got)
	}
}

// paperStudy is strategyStudy with what a paper might have said of it.
func TestTheReportHoldsWhatPapersPrintedAndClaimed(t *testing.T) {
	s := strategyStudy
	s.paper = func(r *store.RunSpec) {
		for row, network := range []string{"3g-weak", "lte", "cable"} {
			for column, strategy := range []string{"sequential", "parallel-2", "browser"} {
				key := ""
				for _, c := range r.Cells {
					if c.Network.Name == network && c.On(study.AxisStrategy) == strategy {
						key = c.Key()
					}
				}
				if row == 1 && column == 1 {
					continue // the paper has none
				}
				r.Published = append(r.Published, store.Figure{Table: 1, Row: row + 1, Column: column + 1, Source: "Somebody (2012), table 3",
					Metric: "plt", Unit: "s", RowLabel: network, ColumnLabel: strategy, Cell: key, Printed: "2.5", Value: 2500})
			}
		}
		for _, ratio := range []store.Claim{{Text: "One after another is slower.", Ratio: "above 1", Low: 1, High: math.Inf(1), Open: true}, {Text: "It is twice as fast.", Ratio: "below 0.5", High: 0.5, Open: true}} {
			for i := range r.Cells {
				for j := range r.Cells {
					if a, b := r.Cells[i], r.Cells[j]; a.Network.Name == b.Network.Name && a.On(study.AxisStrategy) == "sequential" && b.On(study.AxisStrategy) == "browser" {
						ratio.Pairs = append(ratio.Pairs, store.ClaimPair{Metric: "plt", Cell: a.Key(), ToMetric: "plt", ToCell: b.Key()})
					}
				}
			}
			r.Claims = append(r.Claims, ratio)
		}
	}
	st, run := s.keep(t)
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Printed) != 1 || len(d.Printed[0].Figures) != 8 || len(d.Printed[0].Rows) != 3 || len(d.Printed[0].Columns) != 3 || d.Printed[0].Scale != 1000 {
		t.Fatalf("printed are %+v", d.Printed)
	}
	for _, f := range d.Printed[0].Figures {
		for _, cell := range d.Cells {
			if cell.Network == d.Printed[0].Rows[f.Row] && cell.Strategy == d.Printed[0].Columns[f.Column] && math.Abs(f.Ratio*2500-cell.Summaries["plt"].Median) > 1e-6 {
				t.Errorf("%+v stands for %+v", f, cell)
			}
		}
	}
	if len(d.Claims) != 2 || len(d.Claims[0].Pairs) != 3 || d.Claims[0].Pairs[1].Name != "lte" || d.Claims[0].Test != "ratio of PLT above 1" || d.Claims[1].Verdict != "refuted in all 3 networks" {
		t.Errorf("claims are %+v", d.Claims)
	}
	if *keepReport != "" {
		if err := Write(strings.TrimSuffix(*keepReport, ".html")+"-paper.html", d); err != nil && !errors.Is(err, ErrNotBuilt) {
			t.Error(err)
		}
	}
}
