package report

import (
	"fmt"
	"strings"
	"testing"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

func newBootstrap() *stats.Bootstrap { return stats.NewBootstrap(1) }

func TestWhatAComparisonSays(t *testing.T) {
	with := func(axis study.Axis, word string) map[study.Axis]string { return map[study.Axis]string{axis: word} }
	lcp := func(r store.Result, median float64) store.Result {
		r.Values["lcp"] = around(median, 0, 6)
		return r
	}
	for _, c := range []struct {
		name    string
		results []store.Result
		want    string
	}{
		{"one place", []store.Result{made("lte", "h2", onload(1000, 10, 7), nil), made("lte", "h3", onload(1250, 10, 7), nil)},
			"By onLoad, h2 is fastest: h3 takes 25 % longer (95 % interval 24 to 26 %)."},
		{"more than twice", []store.Result{made("lte", "h2", onload(1000, 0, 7), nil), made("lte", "h3", onload(2500, 0, 7), nil)},
			"By onLoad, h2 is fastest: h3 takes 2.5 times as long."},
		{"one place that is not decided", []store.Result{made("lte", "h2", onload(1000, 300, 7), nil), made("lte", "h3", onload(1010, 300, 7), nil)},
			"Here no protocol is clearly fastest: the intervals do not tell h2 and h3 apart."},
		{"one place with too few loads", []store.Result{made("lte", "h2", onload(1000, 1, 3), nil), made("lte", "h3", onload(2000, 1, 3), nil)},
			"Here there are too few loads to tell: it takes six valid ones on each side."},
		{"a single protocol", []store.Result{made("lte", "h2", onload(1000, 1, 6), nil), made("3g", "h2", onload(1000, 1, 6), nil)},
			"Nothing is ranked, since the run has a single protocol."},
		{"no valid load", []store.Result{made("lte", "h2", onload(0, 0, 0), nil), made("lte", "h3", onload(0, 0, 0), nil)},
			"No cell has a valid load yet, so there is nothing to compare."},
		{"one protocol alone has valid loads", []store.Result{made("lte", "h2", onload(1, 0, 6), nil), made("lte", "h3", onload(0, 0, 0), nil)},
			"No two cells can be compared: nowhere does more than one protocol have valid loads."},
		{"networks", []store.Result{
			made("3g", "h2", onload(1000, 0, 6), nil), made("3g", "h3", onload(1240, 0, 6), nil),
			made("cable", "h2", onload(1000, 0, 6), nil), made("cable", "h3", onload(1800, 0, 6), nil),
			made("lte", "h2", onload(1330, 0, 6), nil), made("lte", "h3", onload(1000, 0, 6), nil),
		}, "By onLoad, h2 is fastest on 3g and cable: h3 takes 24 to 80 % longer. h3 is fastest on lte: h2 takes 33 % longer. No comparison is left undecided."},
		{"everywhere, from little to much", []store.Result{
			made("3g", "h2", onload(1000, 0, 6), nil), made("3g", "h3", onload(1005, 0, 6), nil),
			made("lte", "h2", onload(1000, 0, 6), nil), made("lte", "h3", onload(3000, 0, 6), nil),
		}, "By onLoad, h2 is fastest in all 2 comparisons: h3 takes from 0.5 % longer to 3.0 times as long. No comparison is left undecided."},
		{"some are open", []store.Result{
			made("3g", "h2", onload(1000, 0, 6), nil), made("3g", "h3", onload(1100, 0, 6), nil),
			made("cable", "h2", onload(1000, 500, 6), nil), made("cable", "h3", onload(1001, 500, 6), nil),
			made("lte", "h2", onload(1000, 0, 3), nil), made("lte", "h3", onload(1001, 0, 3), nil),
			made("wlan", "h2", onload(1000, 0, 6), nil), made("wlan", "h3", onload(0, 0, 0), nil),
		}, "By onLoad, h2 is fastest on 3g: h3 takes 10 % longer. On cable no protocol is clearly fastest: the intervals do not tell h2 and h3 apart. " +
			"On lte there are too few loads to tell: it takes six valid ones on each side. 1 comparison could not be made, since fewer than two cells have valid loads there."},
		{"sites and visits", []store.Result{
			made("lte", "h2", onload(1000, 0, 6), with(study.AxisSite, "a")), made("lte", "h3", onload(1100, 0, 6), with(study.AxisSite, "a")),
			made("lte", "h2", onload(1200, 0, 6), with(study.AxisSite, "b")), made("lte", "h3", onload(1000, 0, 6), with(study.AxisSite, "b")),
		}, "By onLoad, h2 is fastest for site a: h3 takes 10 % longer. h3 is fastest for site b: h2 takes 20 % longer. No comparison is left undecided."},
		{"several sites, and too few loads everywhere", []store.Result{
			made("lte", "h2", onload(1000, 0, 3), with(study.AxisSite, "a")), made("lte", "h3", onload(1100, 0, 3), with(study.AxisSite, "a")),
			made("lte", "h2", onload(1200, 0, 3), with(study.AxisSite, "b")), made("lte", "h3", onload(1000, 0, 3), with(study.AxisSite, "b")),
		}, "In all 2 comparisons there are too few loads to tell: it takes six valid ones on each side."},
		{"several visits", []store.Result{
			made("lte", "h2", onload(1000, 0, 6), with(study.AxisVisit, "cold")), made("lte", "h3", onload(1100, 0, 6), with(study.AxisVisit, "cold")),
			made("lte", "h2", onload(1000, 0, 6), with(study.AxisVisit, "resumed")), made("lte", "h3", onload(1200, 0, 6), with(study.AxisVisit, "resumed")),
			made("lte", "h2", onload(1000, 9, 6), with(study.AxisVisit, "reload")), made("lte", "h3", onload(1001, 9, 6), with(study.AxisVisit, "reload")),
		}, "By onLoad, h2 is fastest for visits cold and resumed: h3 takes 10 to 20 % longer. For visit reload no protocol is clearly fastest: the intervals do not tell h2 and h3 apart."},
		{"another metric", []store.Result{
			lcp(made("3g", "h2", onload(1000, 0, 6), nil), 900), lcp(made("3g", "h3", onload(1100, 0, 6), nil), 800),
			lcp(made("lte", "h2", onload(1000, 0, 6), nil), 700), lcp(made("lte", "h3", onload(1100, 0, 6), nil), 800),
		}, "By onLoad, h2 is fastest in all 2 comparisons: h3 takes 10 % longer. No comparison is left undecided. By other metrics another protocol is fastest in some of them: by LCP in 1."},
	} {
		if got := overviewOfPages(c.results).said(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestWhereSomethingHolds has a grid of rates by round-trip times in which h2 is fastest where the test says.
func TestWhereSomethingHolds(t *testing.T) {
	for _, c := range []struct {
		fastest func(rate, rtt float64) bool
		want    string
	}{
		{func(_, rtt float64) bool { return rtt >= 100 }, "where the RTT is at least 100 ms (4 of 6 comparisons)"},
		{func(_, rtt float64) bool { return rtt <= 100 }, "where the RTT is at most 100 ms (4 of 6 comparisons)"},
		{func(_, rtt float64) bool { return rtt == 100 }, "where the RTT is 100 ms (2 of 6 comparisons)"},
		{func(rate, _ float64) bool { return rate == 1 }, "where the rate is 1 Mbit/s (3 of 6 comparisons)"},
		{func(rate, rtt float64) bool { return rate == 1 && rtt == 50 }, "for rate 1 Mbit/s with RTT 50 ms"},
		{func(rate, rtt float64) bool { return rtt >= 100 || rate == 1 }, "in 5 of 6 comparisons, mostly where the RTT is at least 100 ms"},
		{func(_, _ float64) bool { return true }, "in all 6 comparisons"},
	} {
		results := gridRun()
		for i, r := range results {
			results[i].Values = onload(200, 0, 6)
			if (r.Cell.Over() == "h2") == c.fastest(numberOf(r.Cell, "rate"), numberOf(r.Cell, "rtt")) {
				results[i].Values = onload(100, 0, 6)
			}
		}
		got := overviewOfPages(results).said()
		if !strings.Contains(got, "h2 is fastest "+c.want+":") {
			t.Errorf("got %s\nwant h2 fastest %s", got, c.want)
		}
	}
}

func numberOf(c study.Cell, id string) float64 {
	n, _ := c.Workload.Number(id)
	value, _ := n.Of(c)
	return value
}

func TestWhatIsSaidOfGoodput(t *testing.T) {
	goodput := func(transport string, median float64) store.Result {
		r := store.Result{Cell: streamOver(transport, study.Link{})}
		r.Values = map[string][]float64{"goodput": around(median, 0, 6)}
		return r
	}
	results := []store.Result{goodput("tcp", 80), goodput("quic", 100)}
	o := overviewOf(results, []study.Metric{{Name: "goodput", Title: "Goodput", Unit: "Mbit/s"}}, streamKind.overview, 1)
	if got, want := o.said(), "By Goodput, quic is highest: tcp is 20 % lower."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatBecameOfTheLoads(t *testing.T) {
	for _, c := range []struct {
		counts  Counts
		reasons []string
		want    string
	}{
		{Counts{}, nil, "No load was planned."},
		{Counts{Planned: 1, Valid: 1}, nil, "The one planned load has a valid attempt."},
		{Counts{Planned: 72, Valid: 72}, nil, "All 72 planned loads have a valid attempt."},
		{Counts{Planned: 72, Valid: 72, Invalid: 1}, []string{"1 with late packets"}, "All 72 planned loads have a valid attempt. 1 attempt does not count: 1 were invalid (1 with late packets)."},
		{Counts{Planned: 288, Valid: 258, Without: 30, Failed: 90}, nil, "Of 288 planned loads, 258 have a valid attempt and 30 have none after all retries. 90 attempts do not count: 90 failed."},
		{Counts{Planned: 9, Valid: 3, Unsupported: 4, Pending: 2}, nil, "Of 9 planned loads, 3 have a valid attempt, 4 cannot run here and 2 are still to be measured."},
	} {
		if got := c.counts.said(c.reasons); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.counts, got, c.want)
		}
	}
}

func TestWhatWasMeasured(t *testing.T) {
	many := []store.Result{}
	for i := range 9 {
		many = append(many, made(fmt.Sprint("n", i), "h2", onload(1, 0, 1), map[study.Axis]string{study.AxisInitCwnd: fmt.Sprint(1 + i%2)}))
	}
	resumed := []store.Result{made("lte", "h2", onload(1, 0, 7), map[study.Axis]string{study.AxisVisit: study.VisitResumed})}
	var session []store.Result
	for _, load := range []string{"1", "2", "3"} {
		session = append(session, store.Result{Cell: page("lte", map[study.Axis]string{study.AxisProtocol: "h2", study.AxisLoad: load}), Planned: 5})
	}
	for _, c := range []struct {
		name  string
		whole []store.Result
		want  string
	}{
		{"many networks", many, "This run loaded s over h2 on 9 networks with chromium, initial windows 1 and 2: 9 cells, once each, in seeded random order."},
		{"a visit", resumed, "This run loaded s over h2 on lte with chromium, visit resumed: 1 cell, 7 times each, in seeded random order."},
		{"sessions", session, "This run loaded s over h2 on lte with chromium: 2 cells, 5 times each, in sessions of 3 loads, in seeded random order."},
	} {
		results, _ := Pooled(c.whole)
		if got := AxesOf(results).measured(results, c.whole, overviewOfPages(results)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
