package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// cells is a pair of cells that differ only in what is compared.
type cells struct {
	a, b    store.Result
	label   string
	refused string // why they cannot be compared; empty if they can
}

// pairUp pairs the cells of both sides that agree on all axes but the compared ones, and returns the names of those without a
// counterpart. Cells that differ in nothing but their clock are paired, and refused.
func pairUp(a, b Side, compared []study.Axis) (pairs []cells, onlyA, onlyB []string) {
	left := slices.Clone(b.results)
	find := func(r store.Result, but ...study.Axis) int {
		name := r.Cell.But(but...)
		return slices.IndexFunc(left, func(o store.Result) bool { return o.Cell.Workload == r.Cell.Workload && o.Cell.But(but...) == name })
	}
	found := make([]*cells, len(a.results))
	for _, but := range [][]study.Axis{compared, append(slices.Clone(compared), study.AxisClock)} {
		for i, r := range a.results {
			if found[i] != nil {
				continue
			}
			if j := find(r, but...); j >= 0 {
				found[i] = &cells{a: r, b: left[j]}
				left = slices.Delete(left, j, j+1)
			}
		}
	}
	label := labels(a.results, b.results, compared)
	for i, f := range found {
		if f == nil {
			onlyA = append(onlyA, label(a.results[i].Cell))
			continue
		}
		f.label = label(f.a.Cell)
		f.refused = differentPlaces(f.a.Cell, f.b.Cell, compared)
		pairs = append(pairs, *f)
	}
	for _, r := range left {
		onlyB = append(onlyB, label(r.Cell))
	}
	return pairs, onlyA, onlyB
}

// labels returns how cells are named: by their values on the axes on which cells of either side vary, but for the compared ones.
func labels(a, b []store.Result, compared []study.Axis) func(study.Cell) string {
	all := slices.Concat(a, b)
	varies := func(axis study.Axis) bool {
		return slices.ContainsFunc(all, func(r store.Result) bool { return r.Cell.On(axis) != all[0].Cell.On(axis) })
	}
	return func(c study.Cell) string {
		var words []string
		for _, info := range c.Workload.Axes {
			if !slices.Contains(compared, info.Axis) && varies(info.Axis) && c.On(info.Axis) != "" {
				words = append(words, info.Say(c.On(info.Axis)))
			}
		}
		if len(words) == 0 {
			return fmt.Sprintf("%s over %s", c.Subject(), c.Network.Name)
		}
		return strings.Join(words, " ")
	}
}

// differentPlaces says why figures of two cells do not mean the same although their other axes agree; "" if they do.
func differentPlaces(a, b study.Cell, compared []study.Axis) string {
	if a.Clock() != b.Clock() && !slices.Contains(compared, study.AxisClock) {
		return fmt.Sprintf("the first is on the %s clock, the second on the %s clock", a.Clock(), b.Clock())
	}
	if slices.ContainsFunc(a.Workload.Path, func(axis study.Axis) bool { return slices.Contains(compared, axis) }) {
		return ""
	}
	first, errA := json.Marshal(a.Network)
	second, errB := json.Marshal(b.Network)
	if errA != nil || errB != nil || string(first) != string(second) {
		return fmt.Sprintf("the network %s is not defined alike on both sides", a.Network.Name)
	}
	return ""
}
