package study

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Selection picks cells by some of their axes: by the axis, the values that a cell may have
// there.
type Selection map[Axis][]string

// Picks reports whether the cell has one of the values on each axis that the
// selection names. The empty selection picks every cell.
func (s Selection) Picks(c Cell) bool {
	for axis, values := range s {
		if !slices.Contains(values, c.On(axis)) {
			return false
		}
	}
	return true
}

// label names what the selection picks: its values, without their axes.
func (s Selection) label(w *Workload) string {
	var words []string
	for _, a := range w.Axes {
		if values := s[a.Axis]; len(values) > 0 {
			words = append(words, strings.Join(values, " or ")+a.Suffix)
		}
	}
	return strings.Join(words, " ")
}

// with is both selections as one. No axis may be in both.
func (s Selection) with(other Selection) Selection {
	both := maps.Clone(s)
	maps.Copy(both, other)
	return both
}

// selection reads axes and their values, which must be those of the matrix; a list
// stands for any of its values.
func (r *reader) selection(m mapping, s *Study, v Vocabulary) Selection {
	selection := Selection{}
	for _, axis := range s.Workload.order() {
		n, ok := m.get(string(axis))
		if !ok {
			continue
		}
		items := []ast.Node{n}
		if list, ok := n.(*ast.SequenceNode); ok {
			if items = list.Values; len(items) == 0 {
				r.fail(n, "%s is empty; name at least one, or remove the key", axis)
			}
		}
		for _, item := range items {
			if value, ok := r.onAxis(item, axis, s, v); ok {
				selection[axis] = append(selection[axis], value)
			}
		}
	}
	return selection
}

// onAxis reads a value that the matrix has on the axis.
func (r *reader) onAxis(n ast.Node, axis Axis, s *Study, v Vocabulary) (string, bool) {
	word, ok := r.axisWord(n, axis, v)
	if !ok {
		return "", false
	}
	if known := s.Matrix[axis]; !slices.Contains(known, word) {
		r.fail(n, "the study has no %s %.40q; %s", axis, word, nearest(word, known))
		return "", false
	}
	return word, true
}

// axisWord reads a value on an axis as Cell.On has it, since several words may mean the
// same.
func (r *reader) axisWord(n ast.Node, axis Axis, v Vocabulary) (string, bool) {
	switch axis {
	case AxisLinkDelay:
		d, ok := r.duration(n, string(axis))
		return delayWord(d), ok
	case AxisLoss:
		errs := len(r.errs)
		return lossWord(r.probability(n, string(axis))), len(r.errs) == errs
	}
	word, ok := r.text(n, "a "+string(axis))
	if ok && axis == AxisStrategy && v.Strategy != nil {
		if name, err := v.Strategy(word); err == nil {
			word = name
		}
	}
	return word, ok
}

// except reads the selections of cells that the matrix leaves out.
func (r *reader) except(n ast.Node, s *Study, v Vocabulary) {
	items, ok := r.list(n, "except")
	if !ok {
		return
	}
	for _, item := range items {
		m, ok := r.mapping(item, "a selection of cells", s.Workload.names()...)
		if !ok {
			continue
		}
		errs := len(r.errs)
		left := r.selection(m, s, v)
		if len(r.errs) > errs {
			continue
		}
		if !slices.ContainsFunc(s.Cells(nil), left.Picks) {
			r.fail(item, "this leaves out no cell that is still there; remove it")
			continue
		}
		if s.Except = append(s.Except, left); len(s.Cells(nil)) == 0 {
			r.fail(item, "with this, the study holds no cell; leave some")
		}
	}
}
