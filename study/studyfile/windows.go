package studyfile

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
	"wiretime/study"
)

// Windows is the part of a Vocabulary about the axes client_window, server_window and tcp_window.
type Windows struct {
	// Name returns the canonical name of a value, which a file may write in several ways, or an
	// error for an unknown one.
	Name func(axis study.Axis, word string) (name string, err error)
	// Refuse returns why a cell cannot have a value on the axis, nil if it can. It may depend on
	// the cell's protocol, loader and server only.
	Refuse func(axis study.Axis, name string, c study.Cell) error
}

// windowAxes lists the axes whose values do not apply to all protocols, loaders and servers.
var windowAxes = []study.Axis{study.AxisTCPWindow, study.AxisClientWindow, study.AxisServerWindow}

// window reads a value on one of the axes of windows and returns its canonical name; "" after an error.
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

// selectedWindow reads a window in a selection and returns its canonical name. It leaves an unknown word as
// it is, since no matrix has it.
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

// fitWindows leaves out the cells whose protocol, loader or server cannot have their window. Where
// none of an axis's values fits, the default takes their place, so that each protocol, loader and
// server has at least one cell. A value that fits nowhere is an error.
func (r *reader) fitWindows(matrix ast.Node) {
	for _, axis := range windowAxes {
		words := r.study.Matrix[axis]
		if slices.Equal(words, []string{study.WindowDefault}) {
			continue
		}
		fit := r.fit(axis, words)
		for i, word := range words {
			if !fit.used[word] {
				r.fail(item(matrix, r.kind.workload.Info(axis).Key, i), "no cell can have the %s %s: %v; remove it, or add what it applies to", axis, word, fit.why[word])
			}
		}
		if !fit.all() && !slices.Contains(words, study.WindowDefault) {
			words = append([]string{study.WindowDefault}, words...)
		}
		r.study.Matrix[axis] = words
		r.study.Except = append(r.study.Except, fit.except(axis, words)...)
	}
}

// windowFit says which of an axis's values fit where.
type windowFit struct {
	places []windowPlace
	used   map[string]bool  // values that fit somewhere
	why    map[string]error // why a value does not fit somewhere
}

// windowPlace is a combination of the properties that decide whether a cell can have a window.
type windowPlace struct {
	protocol, loader, server string
	fits                     []string // values of the axis
}

// fit tries every value of an axis with every protocol, loader and server of the matrix.
func (r *reader) fit(axis study.Axis, words []string) windowFit {
	f := windowFit{used: map[string]bool{}, why: map[string]error{}}
	for _, protocol := range r.study.Matrix[study.AxisProtocol] {
		for _, loader := range r.study.Matrix[study.AxisLoader] {
			for _, server := range r.study.Matrix[study.AxisServer] {
				f.places = append(f.places, windowPlace{protocol, loader, server, nil})
			}
		}
	}
	for i := range f.places {
		p := &f.places[i]
		c := study.NewCell(r.study.Workload, p.values(), network.Path{})
		for _, word := range words {
			if err := r.refused(axis, word, c); err != nil {
				f.why[word] = err
				continue
			}
			f.used[word] = true
			p.fits = append(p.fits, word)
		}
	}
	return f
}

// all reports whether every place has a value that fits.
func (f windowFit) all() bool {
	return !slices.ContainsFunc(f.places, func(p windowPlace) bool { return len(p.fits) == 0 })
}

// except returns selections of the cells to leave out of an axis with the given values.
func (f windowFit) except(axis study.Axis, words []string) []study.Selection {
	var all []study.Selection
	for _, p := range f.places {
		if len(p.fits) == 0 {
			p.fits = []string{study.WindowDefault}
		}
		out := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(p.fits, word) })
		if len(out) == 0 {
			continue
		}
		selection := study.Selection{axis: out}
		for on, word := range p.values() {
			selection[on] = []string{word}
		}
		all = append(all, selection)
	}
	return all
}

func (p windowPlace) values() map[study.Axis]string {
	return map[study.Axis]string{study.AxisProtocol: p.protocol, study.AxisLoader: p.loader, study.AxisServer: p.server}
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

// refused returns why a cell cannot have a value on an axis, nil if it can. Every cell can have the default.
func (r *reader) refused(axis study.Axis, word string, c study.Cell) error {
	if word == study.WindowDefault {
		return nil
	}
	return r.words.Windows.Refuse(axis, word, c)
}
