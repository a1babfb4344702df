package study

import (
	"math"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Published is a table that a paper printed.
type Published struct {
	Source  string // author, year, table
	Metric  string // which figure of ours is meant
	Unit    string // of the table
	Figures []Figure
}

// Figure is one figure of a printed table.
type Figure struct {
	Row, Column           int // in the table, from 1
	RowLabel, ColumnLabel string
	Cell                  Selection // picks one cell of the study
	Printed               string    // as the paper has it
	Value                 float64   // in the metric's unit
}

// units are what a unit of metrics may be printed as, and how many of it that is.
var units = map[string]map[string]float64{
	"ms": {"ms": 1, "s": 1000},
	"B":  {"B": 1, "kB": 1000, "MB": 1_000_000},
}

// published reads the tables that papers printed. The matrix must have been read.
func (r *reader) published(n ast.Node, s *Study, v Vocabulary) {
	items, ok := r.list(n, "published")
	if !ok {
		return
	}
	cells := s.Cells(nil)
	for _, item := range items {
		m, ok := r.mapping(item, "a published table", "source", "metric", "unit", "columns", "rows")
		if !ok {
			continue
		}
		var p Published
		if n, ok := m.need("source", "say whose it is: author, year, table"); ok {
			p.Source, _ = r.text(n, "source")
		}
		if n, ok := m.need("metric", "name the figure that was measured, as in metric: onload"); ok {
			p.Metric = r.word(n, "metric", v.metrics())
		}
		scale := 1.0
		p.Unit = v.Metrics[p.Metric]
		if n, ok := m.get("unit"); ok && p.Metric != "" {
			p.Unit, scale = r.unit(n, p.Metric, v.Metrics[p.Metric])
		}
		columns, some := r.columns(m, s, v)
		if rowsAt, ok := m.need("rows", "write them as {site: ..., values: [...]}"); ok && some {
			rows, _ := r.list(rowsAt, "rows")
			for i, row := range rows {
				p.Figures = append(p.Figures, r.figures(row, i+1, columns, scale, s, v, cells)...)
			}
		}
		s.Published = append(s.Published, p)
	}
}

// unit reads the unit of a table, and how many of the metric's own it is.
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

// columns reads what each column of a table picks; false after an error.
func (r *reader) columns(m mapping, s *Study, v Vocabulary) ([]Selection, bool) {
	n, ok := m.need("columns", "say which cells each holds, as in [{protocol: h2}, {protocol: h3}]")
	if !ok {
		return nil, false
	}
	items, ok := r.list(n, "columns")
	if !ok {
		return nil, false
	}
	errs := len(r.errs)
	var columns []Selection
	for _, item := range items {
		if m, ok := r.mapping(item, "a column", s.Workload.names()...); ok {
			columns = append(columns, r.selection(m, s, v))
		}
	}
	return columns, len(r.errs) == errs
}

// figures reads a row, whose number counts from 1.
func (r *reader) figures(n ast.Node, row int, columns []Selection, scale float64, s *Study, v Vocabulary, cells []Cell) []Figure {
	m, ok := r.mapping(n, "a row", append([]string{"values"}, s.Workload.names()...)...)
	if !ok {
		return nil
	}
	errs := len(r.errs)
	picks := r.selection(m, s, v)
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
	var figures []Figure
	for i, value := range values {
		if _, empty := value.(*ast.NullNode); empty || value.GetToken().Value == "-" {
			continue
		}
		f := Figure{Row: row, Column: i + 1, RowLabel: picks.label(s.Workload), ColumnLabel: columns[i].label(s.Workload)}
		if f.Printed, f.Value, ok = r.figure(value); !ok {
			continue
		}
		f.Value *= scale
		if f.Cell, ok = r.oneCell(value, s, picks, columns[i], cells); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// figure reads a number above zero, as it was printed and as it is.
func (r *reader) figure(n ast.Node) (string, float64, bool) {
	text, ok := r.text(n, "a figure")
	if !ok {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value > 0) || math.IsInf(value, 1) {
		r.fail(n, "a figure is %.40q; write a number above zero, or - where the paper has none", text)
		return "", 0, false
	}
	return text, value, true
}

// oneCell puts what row and column pick together, which must be one cell.
func (r *reader) oneCell(n ast.Node, s *Study, row, column Selection, cells []Cell) (Selection, bool) {
	for _, axis := range s.Workload.order() {
		if row[axis] != nil && column[axis] != nil {
			r.fail(n, "row and column both name a %s; name it in one of them", axis)
			return nil, false
		}
	}
	both := row.with(column)
	var picked []Cell
	for _, c := range cells {
		if both.Picks(c) {
			picked = append(picked, c)
		}
	}
	switch len(picked) {
	case 0:
		r.fail(n, "row and column pick no cell: the study leaves %q out", both.label(s.Workload))
	case 1:
		return both, true
	default:
		r.fail(n, "row and column pick %d cells, such as %q and %q; name more axes, so that they pick one", len(picked), picked[0].Key(), picked[1].Key())
	}
	return nil, false
}
