package studyfile

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// matrix reads the axes. The options must have been read.
func (r *reader) matrix(n ast.Node) {
	if r.misplaced(n) {
		return
	}
	keys := append(r.kind.axisKeys(), "only", "except")
	for _, key := range pages.axisKeys() {
		if r.kind.refused[key] != "" {
			keys = append(keys, key)
		}
	}
	m, ok := r.mapping(n, "the matrix", keys...)
	if !ok {
		return
	}
	m.refuse()
	for _, a := range r.kind.workload.Axes {
		switch {
		case a.Axis == study.AxisClock: // its key, like that of sessions, is not in the matrix
		case r.kind.usual(a) != "" && !m.has(a.Key):
			r.study.Matrix[a.Axis] = []string{r.kind.usual(a)}
		default:
			r.study.Matrix[a.Axis] = axis(m, a.Key, func(n ast.Node) (string, string) {
				word := r.kind.values[a.Axis](r, n)
				return word, word
			})
		}
	}
	if r.tooManyCells(n) {
		return
	}
	if r.kind.check != nil && len(r.errs) == 0 {
		r.kind.check(r, m.node)
	}
	if n, ok := m.get("only"); ok && len(r.errs) == 0 {
		r.study.Only = r.only(n)
	}
	if n, ok := m.get("except"); ok && len(r.errs) == 0 {
		r.except(n)
	}
}

// tooManyCells reports whether the matrix has more cells than any study may load. It does not
// make them.
func (r *reader) tooManyCells(n ast.Node) bool {
	cells := 1
	for _, words := range r.study.Matrix {
		if cells *= max(1, len(words)); cells > maxLoads {
			r.fail(n, "the matrix has more than %d cells; reduce it", maxLoads)
			return true
		}
	}
	return false
}

// pick reports whether selections may be compared with that many more cells.
func (r *reader) pick(n ast.Node, cells int) bool {
	if r.picks += cells; r.picks > maxPicks {
		r.fail(n, "the study has too many selections for so many cells; reduce the matrix, or the selections in except, quick, published and claims")
		return false
	}
	return true
}

// axis reads the list under a key. read returns a value and what identifies it among the
// others, or "" after an error.
func axis[T any](m mapping, key string, read func(ast.Node) (T, string)) []T {
	n, ok := m.need(key, "name at least one")
	if !ok {
		return nil
	}
	items, ok := m.r.list(n, key)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		m.r.fail(n, "%s is empty; name at least one", key)
	}
	var values []T
	first := map[string]int{}
	for _, item := range items {
		value, identity := read(item)
		if identity == "" {
			continue
		}
		line, _ := position(item)
		if before, twice := first[identity]; twice {
			m.r.fail(item, "duplicate %s in %s (first on line %d); remove it, and raise repeats for more loads", identity, key, before)
			continue
		}
		first[identity] = line
		values = append(values, value)
	}
	return values
}

// congestionControls lists the TCP congestion controls of Linux 6.12 (net/ipv4/tcp_*.c). The
// lab finds out whether the kernel at hand has one.
var congestionControls = []string{"cubic", "reno", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla",
	"illinois", "lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah"}

func (r *reader) congestion(n ast.Node) string {
	return r.word(n, "congestion control", congestionControls)
}

func (r *reader) sack(n ast.Node) string {
	return r.word(n, "setting of tcp_sack", []string{study.SACKOn, study.SACKOff})
}

const maxInitCwnd = 1000 // segments

func (r *reader) initcwnd(n ast.Node) string {
	segments, ok := r.integer(n, "initcwnd", 1, maxInitCwnd)
	if !ok {
		return ""
	}
	return fmt.Sprint(segments)
}

// except reads the selections of cells that the study leaves out of the matrix.
func (r *reader) except(n ast.Node) {
	items, ok := r.list(n, "except")
	if !ok {
		return
	}
	cells := r.study.Cells(nil)
	for _, item := range items {
		if !r.pick(item, len(cells)) {
			return
		}
		m, ok := r.mapping(item, "a selection of cells", r.axes()...)
		if !ok {
			continue
		}
		errs := len(r.errs)
		m.wholeSessions()
		left := r.selection(m)
		if len(r.errs) > errs {
			continue
		}
		before := len(cells)
		if cells = slices.DeleteFunc(cells, left.Picks); len(cells) == before {
			r.fail(item, "this selection picks no remaining cell; remove it")
			continue
		}
		if r.study.Except = append(r.study.Except, left); len(cells) == 0 {
			r.fail(item, "this selection picks all remaining cells; keep some")
		}
	}
}
