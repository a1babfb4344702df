package studyfile

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// quick reads which part of the study a quick run measures. Matrix and session must have been read.
func (r *reader) quick(n ast.Node) {
	m, ok := r.mapping(n, "quick", "only", "repeats", "loads")
	if !ok {
		return
	}
	q := &r.study.Quick
	if n, ok := m.get("repeats"); ok {
		if repeats, ok := r.integer(n, "repeats of a quick run", 1, r.study.Repeats); ok {
			q.Repeats = repeats
		}
	}
	if n, ok := m.get("loads"); ok {
		r.quickLoads(n, q)
	}
	if n, ok := m.get("only"); ok {
		q.Only = r.only(n)
	}
}

// quickLoads reads how many loads the sessions of a quick run have.
func (r *reader) quickLoads(n ast.Node, q *study.Quick) {
	whole := r.study.Options.Session.Loads
	if whole == 0 {
		r.fail(n, "the study has no sessions; remove loads")
		return
	}
	q.Loads, _ = r.integer(n, "loads of a quick run", 2, whole)
}

// only reads the selections of cells that a matrix keeps, or that a quick run measures.
func (r *reader) only(n ast.Node) (only []study.Selection) {
	items, ok := r.list(n, "only")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fail(n, "only is empty; name cells, as in [{network: cable}], or remove the key")
	}
	cells := r.study.Cells(nil)
	for _, item := range items {
		if !r.pick(item, len(cells)) {
			return only
		}
		m, ok := r.mapping(item, "a selection of cells", r.axes()...)
		if !ok {
			continue
		}
		errs := len(r.errs)
		m.wholeSessions()
		picked := r.selection(m)
		if len(r.errs) == errs && !slices.ContainsFunc(cells, picked.Picks) {
			r.fail(item, "this selection picks no cell; change or remove it")
		}
		only = append(only, picked)
	}
	return only
}
