package study

import "slices"

// Selection picks cells by their values on some axes. For each axis it names, it lists the
// values that a cell may have there.
type Selection map[Axis][]string

// Picks reports whether the cell has one of the listed values on each axis that the
// selection names. The empty selection picks every cell.
func (s Selection) Picks(c Cell) bool {
	for axis, values := range s {
		if !slices.Contains(values, c.On(axis)) {
			return false
		}
	}
	return true
}
