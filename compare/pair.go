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
	partner, taken := make([]int, len(a.results)), make([]bool, len(b.results)) // partner: of b.results, from 1; 0: none
	for _, but := range [][]study.Axis{compared, append(slices.Clone(compared), study.AxisClock)} {
		byName := map[string]int{}
		for j, r := range b.results {
			if !taken[j] {
				byName[r.Cell.But(but...)] = j + 1
			}
		}
		for i, r := range a.results {
			if name := r.Cell.But(but...); partner[i] == 0 && byName[name] > 0 {
				partner[i], taken[byName[name]-1] = byName[name], true
				delete(byName, name)
			}
		}
	}
	label := labels(a.results, b.results, compared)
	for i, r := range a.results {
		if partner[i] == 0 {
			onlyA = append(onlyA, label(r.Cell))
			continue
		}
		p := cells{a: r, b: b.results[partner[i]-1], label: label(r.Cell)}
		p.refused = differentPlaces(p.a.Cell, p.b.Cell, compared)
		pairs = append(pairs, p)
	}
	for j, r := range b.results {
		if !taken[j] {
			onlyB = append(onlyB, label(r.Cell))
		}
	}
	return pairs, onlyA, onlyB
}

// labels returns how cells are named: by their values on the axes on which cells of either side vary, but for the compared ones.
func labels(a, b []store.Result, compared []study.Axis) func(study.Cell) string {
	all, varies := slices.Concat(a, b), map[study.Axis]bool{}
	for _, r := range all {
		for _, v := range r.Cell.Values {
			varies[v.Axis] = varies[v.Axis] || v.Word != all[0].Cell.On(v.Axis)
		}
	}
	return func(c study.Cell) string {
		var words []string
		for _, v := range c.Values {
			if varies[v.Axis] && !slices.Contains(compared, v.Axis) && v.Word != "" {
				words = append(words, c.Workload.Info(v.Axis).Say(v.Word))
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
