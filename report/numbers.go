package report

import (
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// numbersOf returns the numbers by which the results' cells differ.
func numbersOf(w *study.Workload, results []store.Result) []study.Number {
	varies := func(n study.Number) bool {
		first, ok := 0.0, false
		return slices.ContainsFunc(results, func(r store.Result) bool {
			v, has := n.Of(r.Cell)
			if has && !ok {
				first, ok = v, true
			}
			return has && v != first
		})
	}
	return slices.DeleteFunc(w.Numbers(), func(n study.Number) bool { return !varies(n) })
}

// beside returns what a cell has on an axis beside numbers of this axis, as a key and in words. The words leave out what does not vary
// in the run.
func (a Axes) beside(c study.Cell, numbers []study.Number) (key, words string) {
	key = study.Beside(c, numbers...)
	if numbers[0].Axis != study.AxisNetwork {
		return key, key
	}
	var said []string
	for _, other := range a.numbers {
		shown := slices.ContainsFunc(numbers, func(n study.Number) bool { return n.ID == other.ID })
		if word := other.Say(c); other.Axis == study.AxisNetwork && !shown && word != "" {
			said = append(said, word)
		}
	}
	return key, strings.Join(said, ", ")
}
