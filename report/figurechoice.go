package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// picks reports whether a cell has one of the values on each axis, or of each number, that the choice names.
func (d *drawer) picks(c Choice, cell study.Cell) bool {
	for name, wanted := range c {
		if slices.Contains(wanted, cell.On(study.Axis(name))) && d.axes.Workload.Has(study.Axis(name)) {
			continue
		}
		i := slices.IndexFunc(d.numbers, func(n study.Number) bool { return n.ID == name })
		if i < 0 {
			return false
		}
		has, ok := d.numbers[i].Of(cell)
		if !ok || !slices.ContainsFunc(wanted, func(word string) bool {
			v, err := strconv.ParseFloat(word, 64)
			return err == nil && math.Abs(v-has) <= 1e-9*math.Abs(has)
		}) {
			return false
		}
	}
	return true
}

// number returns the number with the ID that key of the specification names.
func (d *drawer) number(key, id string) (study.Number, error) {
	i := slices.IndexFunc(d.numbers, func(n study.Number) bool { return n.ID == id })
	if i < 0 {
		return study.Number{}, fmt.Errorf("unknown number %q for %s: the study has %s", id, key, strings.Join(d.ids(), ", "))
	}
	return d.numbers[i], nil
}

// values returns the values on an axis, in the order of the cells.
func (d *drawer) values(axis study.Axis) []string {
	var values []string
	for _, r := range d.results {
		if v := r.Cell.On(axis); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func (d *drawer) ids() []string {
	var ids []string
	for _, n := range d.numbers {
		ids = append(ids, n.ID)
	}
	return ids
}

// names lists the axes and the numbers that a choice may name.
func (d *drawer) names() []string {
	names := map[string]bool{}
	for _, id := range d.ids() {
		names[id] = true
	}
	for _, a := range d.axes.Workload.Axes {
		names[string(a.Axis)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// labels returns the labels of the lines that cells have, in their order.
func (d *drawer) labels(shown []store.Result) []string {
	var labels []string
	for _, r := range shown {
		if label := d.axes.Label(r.Cell, d.along.Axis); len(r.Values[d.spec.Metric]) > 0 && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// scaleOf returns the axis of a number, with a tick for each value that a cell has.
func scaleOf(n study.Number, results []store.Result) Scale {
	s := Scale{Name: n.Name, Label: n.Label, Ticks: []Tick{}}
	for _, r := range results {
		if v, ok := n.Of(r.Cell); ok {
			s.Ticks = append(s.Ticks, Tick{v, n.Word(r.Cell)})
		}
	}
	slices.SortStableFunc(s.Ticks, func(a, b Tick) int { return cmp.Compare(a.Value, b.Value) })
	s.Ticks = slices.CompactFunc(s.Ticks, func(a, b Tick) bool { return a.Value == b.Value })
	return s
}

// differences names the axes on which two cells differ.
func differences(a, b study.Cell) string {
	var names []string
	for _, v := range a.Values {
		if b.On(v.Axis) != v.Word {
			names = append(names, string(v.Axis))
		}
	}
	return strings.Join(names, ", ")
}
