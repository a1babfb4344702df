package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// axisNames are the words by which a Selection names the axes, of pages and of
// streams, in the order in which a label has them.
var axisNames = []string{"site", "media", "network", "link_delay", "loss", "reconnections", "loader", "player", "congestion", "initcwnd",
	"clock", "visit", "protocol", "transport", "strategy", "server"}

// What studies of one kind only have of them.
var (
	axesOfPages   = []string{"site", "network", "loader", "visit", "protocol", "server"}
	axesOfStreams = []string{"media", "link_delay", "loss", "reconnections", "player", "transport"}
)

// axes are the words for the axes of a study of streams, or of pages.
func axes(streams bool) []string {
	others := axesOfStreams
	if streams {
		others = axesOfPages
	}
	return slices.DeleteFunc(slices.Clone(axisNames), func(axis string) bool { return slices.Contains(others, axis) })
}

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
	case "site", "media":
		return c.Site
	case "network":
		return c.Network.Name
	case "link_delay":
		return delayWord(c.Link.Delay)
	case "loss":
		return lossWord(c.Link.Loss)
	case "reconnections":
		return strconv.Itoa(c.Link.Reconnections)
	case "loader", "player":
		return c.Loader
	case "congestion":
		return c.Congestion
	case "initcwnd":
		return strconv.Itoa(c.InitCwnd)
	case "clock":
		return c.Clock
	case "visit":
		return c.Visit
	case "protocol", "transport":
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
			words = append(words, strings.Join(values, " or ")+unitOf[axis])
		}
	}
	return strings.Join(words, " ")
}

// unitOf is what a label adds to values that do not speak for themselves.
var unitOf = map[string]string{"loss": " loss", "reconnections": " reconnections"}

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
	for _, axis := range axes(s.Streams()) {
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
	word, ok := r.axisWord(n, axis, v)
	if !ok {
		return "", false
	}
	if known := s.valuesOn(axis); !slices.Contains(known, word) {
		r.fail(n, "the study has no %s %.40q; %s", axis, word, nearest(word, known))
		return "", false
	}
	return word, true
}

// axisWord reads a value on an axis as Cell.on has it, since several words may mean the
// same.
func (r *reader) axisWord(n ast.Node, axis string, v Vocabulary) (string, bool) {
	switch axis {
	case "link_delay":
		d, ok := r.duration(n, axis)
		return delayWord(d), ok
	case "loss":
		errs := len(r.errs)
		return lossWord(r.probability(n, axis)), len(r.errs) == errs
	}
	word, ok := r.text(n, "a "+axis)
	if ok && axis == "strategy" && v.Strategy != nil {
		if name, err := v.Strategy(word); err == nil {
			word = name
		}
	}
	return word, ok
}

// valuesOn are the values of an axis.
func (s *Study) valuesOn(axis string) []string {
	switch axis {
	case "link_delay", "loss", "reconnections":
		var words []string
		for i := range s.Links {
			if word := (Cell{Link: &s.Links[i]}).on(axis); !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
		return words
	case "site", "media":
		return s.Sites
	case "network":
		var names []string
		for _, path := range s.Networks {
			names = append(names, path.Name)
		}
		return names
	case "loader", "player":
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
	case "protocol", "transport":
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
		m, ok := r.mapping(item, "a selection of cells", axes(s.Streams())...)
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
