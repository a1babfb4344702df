package studyfile

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
	"wiretime/study"
)

// Windows is the part of a Vocabulary for the axes client_window, server_window and tcp_window.
type Windows struct {
	// Name returns the canonical name of a value, which a file may write in several ways, or an
	// error for an unknown one.
	Name func(axis study.Axis, word string) (name string, err error)
	// Refuse returns why a cell cannot have a value on the axis, nil if it can. Only the cell's
	// protocol, loader and server count.
	Refuse func(axis study.Axis, name string, c study.Cell) error
}

// windowAxes lists the axes whose values apply to some protocols only.
var windowAxes = []study.Axis{study.AxisTCPWindow, study.AxisClientWindow, study.AxisServerWindow}

func (r *reader) window(n ast.Node, axis study.Axis) string {
	if r.words.Windows.Name == nil {
		return r.word(n, string(axis), []string{study.WindowDefault})
	}
	word, ok := r.text(n, "a "+string(axis))
	if !ok || word == study.WindowDefault {
		return word
	}
	name, err := r.words.Windows.Name(axis, word)
	if err != nil {
		r.fail(n, "%s: %v", axis, err)
		return ""
	}
	return name
}

// selectedWindow returns a window's canonical name. It leaves an unknown word as it is, since no
// matrix holds it.
func (r *reader) selectedWindow(n ast.Node, axis study.Axis) (string, bool) {
	word, ok := r.text(n, "a "+string(axis))
	if !ok || r.words.Windows.Name == nil {
		return word, ok
	}
	if name, err := r.words.Windows.Name(axis, word); err == nil {
		word = name
	}
	return word, true
}

// fitWindows leaves out the cells whose protocol, loader or server cannot have their window.
// Where none of an axis's values fits, the usual one takes their place, so that such a protocol
// still has one cell and not one for each value. A value that fits nowhere is an error.
func (r *reader) fitWindows(matrix ast.Node) {
	for _, axis := range windowAxes {
		words := r.study.Matrix[axis]
		if slices.Equal(words, []string{study.WindowDefault}) {
			continue
		}
		r.fitAxis(matrix, axis, words)
	}
}

func (r *reader) fitAxis(matrix ast.Node, axis study.Axis, words []string) {
	used, why := map[string]bool{}, map[string]error{}
	withUsual := words
	if !slices.Contains(words, study.WindowDefault) {
		withUsual = append([]string{study.WindowDefault}, words...)
	}
	var except []study.Selection
	needed := false
	for _, protocol := range r.study.Matrix[study.AxisProtocol] {
		for _, loader := range r.study.Matrix[study.AxisLoader] {
			for _, server := range r.study.Matrix[study.AxisServer] {
				place := map[study.Axis]string{study.AxisProtocol: protocol, study.AxisLoader: loader, study.AxisServer: server}
				c := study.NewCell(r.study.Workload, place, network.Path{})
				var out []string
				for _, word := range words {
					if err := r.refused(axis, word, c); err != nil {
						out = append(out, word)
						why[word] = err
					} else {
						used[word] = true
					}
				}
				if len(out) == len(words) {
					needed = true
				} else if len(withUsual) > len(words) {
					out = append(out, study.WindowDefault)
				}
				if out != nil {
					except = append(except, study.Selection{
						study.AxisProtocol: {protocol}, study.AxisLoader: {loader}, study.AxisServer: {server}, axis: out,
					})
				}
			}
		}
	}
	for i, word := range words {
		if !used[word] {
			r.fail(item(matrix, r.kind.workload.Info(axis).Key, i), "no cell can have the %s %s: %v; remove it, or add what it applies to", axis, word, why[word])
		}
	}
	if needed {
		words = withUsual
	}
	r.study.Matrix[axis] = words
	r.study.Except = append(r.study.Except, within(except, axis, words)...)
}

// item returns the i-th value under a key of a matrix that was read without errors.
func item(matrix ast.Node, key string, i int) ast.Node {
	for each := matrix.(ast.MapNode).MapRange(); each.Next(); {
		if each.Key().String() == key {
			return each.Value().(*ast.SequenceNode).Values[i]
		}
	}
	return matrix
}

func (r *reader) refused(axis study.Axis, word string, c study.Cell) error {
	if word == study.WindowDefault {
		return nil
	}
	return r.words.Windows.Refuse(axis, word, c)
}

// within reduces selections to those that pick something of an axis with the given values.
func within(all []study.Selection, axis study.Axis, words []string) []study.Selection {
	var list []study.Selection
	for _, s := range all {
		s[axis] = slices.DeleteFunc(s[axis], func(word string) bool { return !slices.Contains(words, word) })
		if len(s[axis]) > 0 {
			list = append(list, s)
		}
	}
	return list
}
