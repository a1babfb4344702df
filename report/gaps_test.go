package report

import (
	"slices"
	"testing"

	"wiretime/store"
	"wiretime/study"
)

func TestGapsNameTheSitesThatLackSomething(t *testing.T) {
	result := func(site, protocol string, valid int, misses, inexact []float64) store.Result {
		return store.Result{Cell: page("n", map[study.Axis]string{study.AxisSite: site, study.AxisProtocol: protocol}), Valid: valid,
			Values: map[string][]float64{"misses": misses, "inexact": inexact}}
	}
	got := Gaps([]store.Result{
		result("shop", "h2", 3, []float64{0, 2, 1}, []float64{4, 4, 12}),
		result("whole", "h2", 3, []float64{0, 0, 0}, []float64{0, 0, 0}),
		result("shop", "h3", 2, []float64{0, 0}, []float64{0, 1}),
		result("news", "h2", 1, []float64{0}, []float64{1}),
		result("old", "h2", 1, nil, nil), // kept before there was such a metric
	})
	want := []string{
		"shop: misses in 2 of 5 valid loads, at most 2; inexact answers in 4 of 5 valid loads, at most 12",
		"news: inexact answers in 1 of 1 valid loads, at most 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
