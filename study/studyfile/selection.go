package studyfile

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// axes returns the names of the axes, which are the keys of a selection.
func (r *reader) axes() []string {
	names := make([]string, len(r.kind.workload.Axes))
	for i, a := range r.kind.workload.Axes {
		names[i] = string(a.Axis)
	}
	return names
}

// selection reads axes and their values, which the matrix must have. A list stands for any of
// its values.
func (r *reader) selection(m mapping) study.Selection {
	selection := study.Selection{}
	for _, a := range r.kind.workload.Axes {
		n, ok := m.get(string(a.Axis))
		if !ok {
			continue
		}
		items := []ast.Node{n}
		if list, ok := n.(*ast.SequenceNode); ok {
			if items = list.Values; len(items) == 0 {
				r.fail(n, "%s is empty; name at least one, or remove the key", a.Axis)
			}
		}
		for _, item := range items {
			if value, ok := r.onAxis(item, a.Axis); ok {
				selection[a.Axis] = append(selection[a.Axis], value)
			}
		}
	}
	return selection
}

// onAxis reads a value that the matrix has on the axis.
func (r *reader) onAxis(n ast.Node, axis study.Axis) (string, bool) {
	read := r.kind.selected[axis]
	if read == nil {
		read = func(r *reader, n ast.Node) (string, bool) { return r.text(n, "a "+string(axis)) }
	}
	word, ok := read(r, n)
	if !ok {
		return "", false
	}
	if known := r.study.Matrix[axis]; axis != study.AxisLoad && !slices.Contains(known, word) {
		r.fail(n, "the study has no %s %.40q; %s", axis, word, nearest(word, known))
		return "", false
	}
	return word, true
}

// label names what a selection picks by its values, without their axes.
func (r *reader) label(s study.Selection) string {
	var words []string
	for _, a := range r.kind.workload.Axes {
		if values := s[a.Axis]; len(values) > 0 {
			words = append(words, a.Say(strings.Join(values, " or ")))
		}
	}
	return strings.Join(words, " ")
}
