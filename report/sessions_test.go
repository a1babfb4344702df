package report

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/store"
	"wiretime/study"
)

// sessionResults are those of sessions over protocols. Each session has the values of its loads, in their order; 0 is a
// load without a valid attempt.
func sessionResults(of map[string][][]float64, protocols ...string) []store.Result {
	var all []store.Result
	for load := range of[protocols[0]][0] {
		for _, p := range protocols {
			r := store.Result{Cell: protocolCell(p).With(study.AxisLoad, strconv.Itoa(load+1)), Values: map[string][]float64{}, Repeats: map[string][]int{}}
			for repeat, session := range of[p] {
				r.Planned++
				if v := session[load]; v > 0 {
					r.Valid++
					r.Values["plt"], r.Repeats["plt"] = append(r.Values["plt"], v), append(r.Repeats["plt"], repeat)
				}
			}
			all = append(all, r)
		}
	}
	return all
}

func TestASessionIsShownByItsFirstLoadAndTheOthers(t *testing.T) {
	results := sessionResults(map[string][][]float64{"a": {{9, 1, 3, 2}, {8, 2, 0, 4}}, "b": {{7, 1, 1, 1}, {7, 1, 1, 1}}}, "a", "b")
	pooled, at := Pooled(results)
	var labels []string
	for _, r := range pooled {
		labels = append(labels, r.Cell.Over()+" "+r.Cell.On(study.AxisLoad))
	}
	if d := cmp.Diff([]string{"a 1", "b 1", "a 2-4", "b 2-4"}, labels); d != "" {
		t.Fatal(d)
	}
	if r := pooled[2]; !cmp.Equal(r.Values["plt"], []float64{2, 3}) || r.Valid != 5 || r.Planned != 6 {
		t.Errorf("the later loads of a are %+v, want the median of each session", r)
	}
	for i, r := range results {
		if shown := pooled[at[r.Cell.Key()]].Cell; shown.Over() != r.Cell.Over() || (shown.Load() == 1) != (r.Cell.Load() == 1) {
			t.Errorf("result %d, %s, is shown with %s", i, r.Cell.Key(), shown.Key())
		}
	}
	alone := cellResults(map[string][]float64{"a": {1}}, "a")
	if same, _ := Pooled(alone); !cmp.Equal(same, alone) {
		t.Errorf("loads without a session became %+v", same)
	}
}

// TestFiguresOfSessions takes each statistic of each session as one value: sessions are independent of each other, and
// their loads are not.
func TestFiguresOfSessions(t *testing.T) {
	sessions := [][]float64{{9, 1, 3}, {9, 2, 1}, {8, 1, 3}, {9, 1, 3}, {9, 1, 3}, {9, 1, 3}, {90, 0, 3}} // the last one is not whole
	results := sessionResults(map[string][][]float64{"a": sessions}, "a")
	first := protocolCell("a").With(study.AxisLoad, "1").Key()
	figure := func(loads, statistic string) PrintedFigure {
		return CompareTables(results, []store.Figure{{Table: 1, Metric: "plt", Cell: first, Loads: loads, Statistic: statistic, Printed: "2", Value: 2}}, 1)[0].Figures[0]
	}
	for _, tt := range []struct {
		loads, statistic string
		value            float64
		n                int
		interval         bool
	}{
		{"1-3", study.Max, 9, 6, true},
		{"1-3", study.Min, 1, 6, true},
		{"1-3", study.Mean, 13.0 / 3, 6, true},
		{"1-3", study.Median, 3, 6, true},
		{"1-3", "p50", 3, 6, true},
		{"2-3", study.Max, 3, 6, true},
		{"2-3", study.Mean, 2, 6, true},
		{"", study.Median, 9, 7, true},
		{"", study.Max, 90, 7, false}, // of the first loads alone, which are a sample like any other
		{"", study.Mean, 143.0 / 7, 7, true},
	} {
		f := figure(tt.loads, tt.statistic)
		if f.Here.Value != tt.value || f.Here.N != tt.n || f.Here.Reached != tt.interval || f.Ratio != tt.value/2 {
			t.Errorf("%s of loads %q: %+v, want %v of %d values, interval %t", tt.statistic, tt.loads, f, tt.value, tt.n, tt.interval)
		}
	}
}

func TestAClaimOfSessionsNamesItsStatistic(t *testing.T) {
	six := func(s []float64) [][]float64 { return [][]float64{s, s, s, s, s, s} }
	results := sessionResults(map[string][][]float64{"a": six([]float64{20, 1, 1}), "b": six([]float64{10, 2, 2})}, "a", "b")
	key := func(p string) string { return protocolCell(p).Key() }
	for _, tt := range []struct {
		statistic, loads string
		want, test       string
	}{
		{study.Max, "1-3", Refuted, "ratio of maximum plt below 1"},
		{study.Min, "1-3", Held, "ratio of minimum plt below 1"},
		{study.Mean, "1-3", Refuted, "ratio of mean plt below 1"},
		{study.Median, "1-3", Held, "ratio of plt below 1"},
		{"p75", "1-3", Refuted, "ratio of p75 of plt below 1"},
		{study.Mean, "2-3", Held, "ratio of mean plt below 1"},
	} {
		c := JudgeClaims(results, nil, []store.Claim{{Statistic: tt.statistic, Ratio: "below 1", High: 1, Open: true,
			Pairs: []store.ClaimPair{{Metric: "plt", Cell: key("a"), ToMetric: "plt", ToCell: key("b"), Loads: tt.loads, ToLoads: tt.loads}}}}, 1)[0]
		if c.Verdict != tt.want || c.Test != tt.test {
			t.Errorf("%s of loads %s: %q, %s; want %q, %s", tt.statistic, tt.loads, c.Test, c.Verdict, tt.test, tt.want)
		}
	}
}
