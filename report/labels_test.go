package report

import (
	"slices"
	"testing"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// two returns two values of an axis, the usual one first.
func two(axis study.AxisInfo) []string {
	switch axis.Axis {
	case study.AxisClock:
		return []string{study.ClockReal, study.ClockVirtual}
	case study.AxisLinkDelay:
		return []string{"10ms", "20ms"}
	case study.AxisLoss:
		return []string{"0%", "1%"}
	case study.AxisReconnections:
		return []string{"0", "3"}
	case study.AxisLossDirection:
		return []string{study.LossBoth, study.LossDown}
	case study.AxisDelayVariation:
		return []string{study.VariationDrawn, study.VariationNone}
	}
	if axis.Usual == "" {
		return []string{"one", "two"}
	}
	return []string{axis.Usual, "two"}
}

// varied returns the cells of a workload that vary on two axes, which may be the same, and agree
// on all others.
func varied(w *study.Workload, a, b study.AxisInfo) []store.Result {
	var results []store.Result
	values := map[study.Axis]string{}
	for _, axis := range w.Axes {
		values[axis.Axis] = two(axis)[0]
	}
	for _, values[a.Axis] = range two(a) {
		for _, values[b.Axis] = range two(b) {
			c := study.NewCell(w, values, network.Path{})
			if c.Network.Name = c.On(study.AxisNetwork); !w.Has(study.AxisNetwork) {
				c.Network.Name = c.Link().Name()
			}
			if !slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.Key() == c.Key() }) {
				results = append(results, store.Result{Cell: c})
			}
		}
	}
	return results
}

// Readers, and the page's tables, tell the cells of a section apart by their labels. So an axis
// by which cells differ is told by the section or by the label, whichever axes a study varies.
func TestCellsOfASectionHaveLabelsOfTheirOwn(t *testing.T) {
	for _, w := range study.Workloads() {
		for i, a := range w.Axes {
			for _, b := range w.Axes[i:] {
				results := varied(w, a, b)
				c := collector{axes: AxesOf(results)}
				c.addCells(results)
				if want := map[bool]int{true: 2, false: 4}[a.Axis == b.Axis]; len(c.data.Cells) != want {
					t.Fatalf("%s by %s and %s: %d cells, want %d", w.Name, a.Axis, b.Axis, len(c.data.Cells), want)
				}
				for _, s := range c.data.Sections {
					labels := map[string]bool{}
					for _, cell := range s.Cells {
						labels[c.data.Cells[cell].Label] = true
					}
					if len(labels) != len(s.Cells) {
						t.Errorf("%s by %s and %s: %d cells of section %s, %s, %s clock have the labels %v", w.Name, a.Axis, b.Axis, len(s.Cells), s.Site, s.Network, s.Clock, labels)
					}
				}
			}
		}
	}
}

func TestSectionsSayOnWhatTheirCellsAgree(t *testing.T) {
	info := study.Pages().Info
	for _, c := range []struct {
		a, b study.Axis
		want []string
	}{
		{study.AxisProtocol, study.AxisNetwork, []string{"network"}},
		{study.AxisProtocol, study.AxisVisit, []string{"network", "visit"}},
		{study.AxisProtocol, study.AxisServer, []string{"network", "server"}},
		{study.AxisVisit, study.AxisServer, []string{"network", "visit"}},
		{study.AxisStrategy, study.AxisClock, []string{"network", "clock"}},
		{study.AxisServer, study.AxisStrategy, []string{"network", "strategy"}},
	} {
		results := varied(study.Pages(), info(c.a), info(c.b))
		if got := AxesOf(results).same(results); !slices.Equal(got, c.want) {
			t.Errorf("by %s and %s: cells agree on %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
