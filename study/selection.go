package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// axisNames are the words by which a Selection names the axes, in the order in
// which a label has them.
var axisNames = []string{"site", "network", "loader", "congestion", "initcwnd", "clock", "visit", "protocol", "strategy", "server"}

// Selection picks cells by some of their axes: by the axis's name ("site",
// "protocol" and so on, in the singular), the values that a cell may have there.
type Selection map[string][]string

// Picks reports whether the cell has one of the values on each axis that the
// selection names. The empty selection picks every cell.
func (s Selection) Picks(c Cell) bool {
	for axis, values := range s {
		if !slices.Contains(values, c.on(axis)) {
			return false
		}
	}
	return true
}

// on is the cell's value on an axis.
func (c Cell) on(axis string) string {
	switch axis {
	case "site":
		return c.Site
	case "network":
		return c.Network.Name
	case "loader":
		return c.Loader
	case "congestion":
		return c.Congestion
	case "initcwnd":
		return strconv.Itoa(c.InitCwnd)
	case "clock":
		return c.Clock
	case "visit":
		return c.Visit
	case "protocol":
		return c.Protocol
	case "strategy":
		return c.Strategy
	case "server":
		return c.Server
	}
	panic("no axis " + axis)
}

// label names what the selection picks: its values, without their axes.
func (s Selection) label() string {
	var words []string
	for _, axis := range axisNames {
		if values := s[axis]; len(values) > 0 {
			words = append(words, strings.Join(values, " or "))
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
	for _, axis := range axisNames {
		n, ok := m.get(axis)
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
func (r *reader) onAxis(n ast.Node, axis string, s *Study, v Vocabulary) (string, bool) {
	word, ok := r.text(n, "a "+axis)
	if !ok {
		return "", false
	}
	if axis == "strategy" && v.Strategy != nil {
		if name, err := v.Strategy(word); err == nil {
			word = name
		}
	}
	if known := s.valuesOn(axis); !slices.Contains(known, word) {
		r.fail(n, "the study has no %s %.40q; %s", axis, word, nearest(word, known))
		return "", false
	}
	return word, true
}

// valuesOn are the values of an axis.
func (s *Study) valuesOn(axis string) []string {
	switch axis {
	case "site":
		return s.Sites
	case "network":
		var names []string
		for _, path := range s.Networks {
			names = append(names, path.Name)
		}
		return names
	case "loader":
		return s.Loaders
	case "congestion":
		return s.Congestion
	case "initcwnd":
		var words []string
		for _, segments := range s.InitCwnd {
			words = append(words, fmt.Sprint(segments))
		}
		return words
	case "clock":
		return s.Clocks
	case "visit":
		return s.Visits
	case "protocol":
		return s.Protocols
	case "strategy":
		return s.Strategies
	case "server":
		return s.Servers
	}
	panic("no axis " + axis)
}

// except reads the selections of cells that the matrix leaves out.
func (r *reader) except(n ast.Node, s *Study, v Vocabulary) {
	items, ok := r.list(n, "except")
	if !ok {
		return
	}
	for _, item := range items {
		m, ok := r.mapping(item, "a selection of cells", axisNames...)
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
