package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"wiretime/store"
	"wiretime/study"
)

// around returns n values, evenly spaced, whose median is the given one and whose range is spread.
func around(median, spread float64, n int) []float64 {
	var values []float64
	for i := range n {
		values = append(values, median+spread*(float64(i)/float64(max(1, n-1))-0.5))
	}
	return values
}

// made is a cell of a page with its figures.
func made(over, protocol string, values map[string][]float64, more map[study.Axis]string) store.Result {
	axes := map[study.Axis]string{study.AxisProtocol: protocol}
	maps.Copy(axes, more)
	n := len(values["onload"])
	return store.Result{Cell: page(over, axes), Values: values, Valid: n, Planned: n}
}

func onload(median, spread float64, n int) map[string][]float64 {
	return map[string][]float64{"onload": around(median, spread, n)}
}

var pageTimes = []study.Metric{{Name: "onload", Title: "onLoad", Unit: "ms"}, {Name: "lcp", Title: "LCP", Unit: "ms"}}

func overviewOfPages(results []store.Result) Overview {
	return overviewOf(results, pageTimes, pageKind.overview, 1)
}

func TestOverviewOfAGrid(t *testing.T) {
	o := overviewOfPages(gridRun())
	var facets []string
	for _, f := range o.Facets {
		facets = append(facets, f.ID+": "+strings.Join(f.Values, " "))
	}
	if want := []string{"rate: 0.25 1", "rtt: 50 100 200"}; !slices.Equal(facets, want) {
		t.Errorf("the facets are %q, want %q", facets, want)
	}
	if o.Compared != "protocol" || !slices.Equal(o.Labels, []string{"h2", "h3"}) || len(o.Places) != 6 || len(o.Metrics) != 1 {
		t.Fatalf("%q compared, labels %q, %d places, metrics %v", o.Compared, o.Labels, len(o.Places), o.Metrics)
	}
	for _, p := range o.Places {
		s := p.Standings[0]
		if s.Best != 1 || len(s.Tied) != 0 || s.Few {
			t.Errorf("at %v the best is %d, tied with %v", p.At, s.Best, s.Tied)
		}
		if pair := s.Pairs[0]; pair == nil || pair[0] >= 2 || pair[1] <= 2 {
			t.Errorf("at %v the ratio of h2 to h3 has the interval %v, want one around 2", p.At, pair)
		}
		if got := [2]float64{float64(*s.Medians[0]), float64(*s.Medians[1])}; got[0] != 2*got[1] || s.N[0] != 6 {
			t.Errorf("at %v the medians are %v of %v loads", p.At, got, s.N)
		}
	}
}

func TestOverviewsPlacesAreSections(t *testing.T) {
	for _, s := range []synthetic{flagStudy, clockStudy, visitStudy} {
		s.repeats, s.flags = 2, 3
		d := collected(t, s)
		if len(d.Overview.Places) != len(d.Sections) {
			t.Fatalf("%s: %d places, %d sections", s.study, len(d.Overview.Places), len(d.Sections))
		}
		for i, p := range d.Overview.Places {
			var cells []int
			for label, cell := range p.Cells {
				if cell >= 0 {
					cells = append(cells, cell)
					if d.Cells[cell].Label != d.Overview.Labels[label] {
						t.Errorf("%s: cell %q stands under %q", s.study, d.Cells[cell].Label, d.Overview.Labels[label])
					}
				}
			}
			slices.Sort(cells)
			if !slices.Equal(cells, slices.Sorted(slices.Values(d.Sections[i].Cells))) {
				t.Errorf("%s: place %d has the cells %v, its section %v", s.study, i, cells, d.Sections[i].Cells)
			}
		}
	}
}

// Whatever a study varies, the values of its facets tell its places apart.
func TestFacetsTellPlacesApart(t *testing.T) {
	for _, w := range study.Workloads() {
		for i, a := range w.Axes {
			for _, b := range w.Axes[i:] {
				o := overviewOf(varied(w, a, b), nil, nil, 1)
				places := map[string]bool{}
				for _, p := range o.Places {
					places[fmt.Sprint(p.At)] = true
					if slices.Contains(p.At, -1) {
						t.Errorf("%s by %s and %s: a place is at %v", w.Name, a.Axis, b.Axis, p.At)
					}
				}
				if len(places) != len(o.Places) {
					t.Errorf("%s by %s and %s: %d places have %d different values on %v", w.Name, a.Axis, b.Axis, len(o.Places), len(places), o.Facets)
				}
			}
		}
	}
}

func TestLoadersArePlacesNotColumns(t *testing.T) {
	var results []store.Result
	for _, loader := range []string{"chromium", "builtin"} {
		for _, protocol := range []string{"http/1.1", "https/1.1", "h2", "h3"} {
			results = append(results, made("n", protocol, onload(100, 1, 6), map[study.Axis]string{study.AxisLoader: loader}))
		}
	}
	o := overviewOfPages(results)
	if len(o.Labels) != 4 || len(o.Places) != 2 || len(o.Facets) != 1 || o.Facets[0].Name != "loader" {
		t.Errorf("labels %q, %d places, facets %v; want 4 protocols in 2 places, by loader", o.Labels, len(o.Places), o.Facets)
	}
	alone := overviewOfPages([]store.Result{results[0], results[4]})
	if alone.Compared != "loader" || len(alone.Labels) != 2 || len(alone.Places) != 1 {
		t.Errorf("two loaders and nothing else: %q compared, labels %q, %d places", alone.Compared, alone.Labels, len(alone.Places))
	}
}

func TestStandings(t *testing.T) {
	two := func(x, y []float64) []store.Result {
		return []store.Result{{Values: map[string][]float64{"m": x}}, {Values: map[string][]float64{"m": y}}}
	}
	for _, c := range []struct {
		name    string
		results []store.Result
		more    bool
		want    string // best, tied, few
	}{
		{"a clear difference", two(around(100, 4, 7), around(110, 4, 7)), false, "0 [] false"},
		{"more is better", two(around(100, 4, 7), around(110, 4, 7)), true, "1 [] false"},
		{"overlapping", two(around(101, 40, 7), around(100, 40, 7)), false, "1 [0] false"},
		{"equal to the last bit", two(around(100, 0, 7), around(100, 0, 7)), false, "0 [1] false"},
		{"too few on one side", two(around(100, 1, 5), around(200, 1, 7)), false, "0 [1] true"},
		{"one side without values", two(nil, around(200, 1, 7)), false, "1 [] false"},
		{"a zero has no ratio", two(append(around(1, 0, 6), 0), around(200, 1, 7)), false, "1 [] false"},
	} {
		s := compareAt([]int{0, 1}, c.results, OverviewMetric{Name: "m", More: c.more}, true, newBootstrap())
		if got := fmt.Sprint(s.Best, s.Tied, s.Few); got != c.want {
			t.Errorf("%s: best, tied and few are %s, want %s", c.name, got, c.want)
		}
	}
	if s := compareAt([]int{0, -1}, two(nil, nil), OverviewMetric{Name: "m"}, true, newBootstrap()); s != nil {
		t.Errorf("without values the standing is %+v", s)
	}
}

// The intervals of pairs are in the order that the page expects: of label 0 to 1, 0 to 2, 1 to 2.
func TestPairsAreInOrder(t *testing.T) {
	var results []store.Result
	for _, median := range []float64{100, 200, 800} {
		results = append(results, store.Result{Values: map[string][]float64{"m": around(median, 0, 6)}})
	}
	s := compareAt([]int{0, 1, 2}, results, OverviewMetric{Name: "m"}, true, newBootstrap())
	text, err := json.Marshal(s)
	if want := `{"medians":[100,200,800],"n":[6,6,6],"pairs":[[0.5,0.5],[0.125,0.125],[0.25,0.25]],"best":0,"tied":[],"few":false}`; err != nil || string(text) != want {
		t.Errorf("the standing is %s (%v), want %s", text, err, want)
	}
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 0}} {
		low, high := s.ratio(pair[0], pair[1])
		want := float64(*s.Medians[pair[0]] / *s.Medians[pair[1]])
		if math.Abs(low-want) > 1e-9 || math.Abs(high-want) > 1e-9 {
			t.Errorf("the ratio of %d to %d is %v to %v, want %v", pair[0], pair[1], low, high, want)
		}
	}
}
