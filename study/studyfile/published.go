package studyfile

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// units lists the units in which a paper may print a metric, by the metric's unit, with their
// sizes.
var units = map[string]map[string]float64{
	"ms": {"ms": 1, "s": 1000},
	"B":  {"B": 1, "kB": 1000, "MB": 1_000_000},
}

// published reads the tables printed in papers. The matrix must have been read.
func (r *reader) published(n ast.Node) {
	items, ok := r.list(n, "published")
	if !ok {
		return
	}
	cells := r.study.Cells(nil)
	for _, item := range items {
		m, ok := r.mapping(item, "a published table", "source", "metric", "statistic", "unit", "columns", "rows")
		if !ok {
			continue
		}
		var p study.Published
		if n, ok := m.need("source", "write author, year and table"); ok {
			p.Source, _ = r.text(n, "source")
		}
		if n, ok := m.need("metric", "name the figure that was measured, as in metric: onload"); ok {
			p.Metric = r.word(n, "metric", slices.Sorted(maps.Keys(r.metrics)))
		}
		scale := 1.0
		p.Unit = r.metrics[p.Metric]
		if n, ok := m.get("unit"); ok && p.Metric != "" {
			p.Unit, scale = r.unit(n, p.Metric, r.metrics[p.Metric])
		}
		p.Statistic = m.statistic()
		columns, some := r.columns(m)
		if rowsAt, ok := m.need("rows", "write them as {site: ..., values: [...]}"); ok && some {
			rows, _ := r.list(rowsAt, "rows")
			for i, row := range rows {
				p.Figures = append(p.Figures, r.figures(row, i+1, columns, scale, cells)...)
			}
		}
		r.study.Published = append(r.study.Published, p)
	}
}

// statistic reads the statistic of a table or a claim, by default the median.
func (m mapping) statistic() string {
	n, ok := m.get("statistic")
	if !ok {
		return study.Median
	}
	word, ok := m.r.text(n, "statistic")
	if ok {
		if err := study.CheckStatistic(word); err != nil {
			m.r.fail(n, "%v", err)
		}
	}
	return word
}

// unit reads the unit of a table, and returns its size in the metric's own unit.
func (r *reader) unit(n ast.Node, metric, own string) (string, float64) {
	known := []string{own}
	for unit := range units[own] {
		if unit != own {
			known = append(known, unit)
		}
	}
	slices.Sort(known)
	unit := r.word(n, "unit of "+metric, known)
	if scale, ok := units[own][unit]; ok {
		return unit, scale
	}
	return unit, 1
}

// columns reads the selection of each column; false after an error.
func (r *reader) columns(m mapping) ([]study.Selection, bool) {
	n, ok := m.need("columns", "say which cells each column selects, as in [{protocol: h2}, {protocol: h3}]")
	if !ok {
		return nil, false
	}
	items, ok := r.list(n, "columns")
	if !ok {
		return nil, false
	}
	errs := len(r.errs)
	var columns []study.Selection
	for _, item := range items {
		if m, ok := r.mapping(item, "a column", r.axes()...); ok {
			columns = append(columns, r.selection(m))
		}
	}
	return columns, len(r.errs) == errs
}

// figures reads a row of a table. Rows are numbered from 1.
func (r *reader) figures(n ast.Node, row int, columns []study.Selection, scale float64, cells []study.Cell) []study.Figure {
	m, ok := r.mapping(n, "a row", append([]string{"values"}, r.axes()...)...)
	if !ok {
		return nil
	}
	errs := len(r.errs)
	picks := r.selection(m)
	valuesAt, ok := m.need("values", "write one figure per column, - where the paper has none")
	if !ok || len(r.errs) > errs {
		return nil
	}
	values, ok := r.list(valuesAt, "values")
	if !ok {
		return nil
	}
	if len(values) != len(columns) {
		r.fail(valuesAt, "the row has %d values for %d columns; write one for each, - where the paper has none", len(values), len(columns))
		return nil
	}
	var figures []study.Figure
	for i, value := range values {
		if _, empty := value.(*ast.NullNode); empty || value.GetToken().Value == "-" {
			continue
		}
		if !r.pick(value, len(cells)) {
			return nil
		}
		f := study.Figure{Row: row, Column: i + 1, RowLabel: r.label(picks), ColumnLabel: r.label(columns[i])}
		if f.Printed, f.Value, ok = r.figure(value); !ok {
			continue
		}
		f.Value *= scale
		if f.Cell, ok = r.oneCell(value, picks, columns[i], cells); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// figure reads a positive number, and returns it as printed and as a number.
func (r *reader) figure(n ast.Node) (string, float64, bool) {
	text, ok := r.text(n, "a figure")
	if !ok {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value > 0) || math.IsInf(value, 1) {
		r.fail(n, "invalid figure %.40q: want a positive number, or - where the paper has none", text)
		return "", 0, false
	}
	return text, value, true
}

// oneCell joins the selections of row and column, which must pick one cell together.
func (r *reader) oneCell(n ast.Node, row, column study.Selection, cells []study.Cell) (study.Selection, bool) {
	for _, a := range r.kind.workload.Axes {
		if row[a.Axis] != nil && column[a.Axis] != nil {
			r.fail(n, "row and column both name a %s; name it in only one of them", a.Axis)
			return nil, false
		}
	}
	both := maps.Clone(row)
	maps.Copy(both, column)
	picked := both.Pools(cells)
	switch len(picked) {
	case 0:
		r.fail(n, "row and column pick no cell: the study leaves out %q", r.label(both))
	case 1:
		return both, true
	default:
		r.fail(n, "row and column pick %d cells, such as %q and %q; name more axes to pick one", len(picked), picked[0].Key(), picked[1].Key())
	}
	return nil, false
}
