package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Claim is a sentence, and how to find out whether it is true: whether the ratio of
// two cells' medians lies in a range, for each pair of cells that the claim is about.
type Claim struct {
	Text        string
	Compare, To Side
	For         Selection // narrows both sides, by axes that neither names
	Ratio       Range     // in which the ratio of Compare's median to To's is claimed to lie
}

// Side is what a claim compares: a metric of some cells.
type Side struct {
	Metric string
	Cells  Selection
}

// Range is a range of ratios, 0 to +Inf.
type Range struct {
	Low, High float64
	Open      bool   // the ends are not part of it
	Text      string // as the study has it, such as "below 1"
}

// Pairs are the cells that the claim compares, in the order of cells: each pair has
// the same values on all axes that neither side names. On an axis that a side names,
// it may have any of the values there.
func (c Claim) Pairs(cells []Cell) [][2]Cell {
	var pairs [][2]Cell
	for _, a := range cells {
		if !c.Compare.Cells.Picks(a) || !c.For.Picks(a) {
			continue
		}
		for _, b := range cells {
			if c.To.Cells.Picks(b) && c.For.Picks(b) && c.match(a, b) {
				pairs = append(pairs, [2]Cell{a, b})
			}
		}
	}
	return pairs
}

func (c Claim) match(a, b Cell) bool {
	return !slices.ContainsFunc(a.Values, func(v Value) bool { return !c.names(v.Axis) && v.Word != b.On(v.Axis) })
}

// names reports whether one of the sides names the axis.
func (c Claim) names(axis Axis) bool {
	return c.Compare.Cells[axis] != nil || c.To.Cells[axis] != nil
}

// claims reads the claims. The matrix must have been read.
func (r *reader) claims(n ast.Node, s *Study, v Vocabulary) {
	items, ok := r.list(n, "claims")
	if !ok {
		return
	}
	cells := s.Cells(nil)
	for _, item := range items {
		m, ok := r.mapping(item, "a claim", "text", "metric", "compare", "to", "for", "ratio")
		if !ok {
			continue
		}
		errs := len(r.errs)
		var c Claim
		if n, ok := m.need("text", "write the sentence that is claimed"); ok {
			c.Text, _ = r.text(n, "text")
		}
		metric := ""
		if n, ok := m.get("metric"); ok {
			metric = r.word(n, "metric", v.metrics())
		}
		c.Compare = r.side(m, "compare", metric, s, v)
		c.To = r.side(m, "to", metric, s, v)
		if n, ok := m.get("for"); ok {
			c.For = r.narrowing(n, c, s, v)
		}
		if n, ok := m.need("ratio", "say where the ratio of the two lies, as in ratio: below 1"); ok {
			c.Ratio = r.ratio(n)
		}
		if len(r.errs) > errs {
			continue
		}
		if v.Metrics[c.Compare.Metric] != v.Metrics[c.To.Metric] {
			r.fail(item, "%s is in %s and %s in %s, which have no ratio", c.Compare.Metric, v.Metrics[c.Compare.Metric], c.To.Metric, v.Metrics[c.To.Metric])
		}
		if len(c.Pairs(cells)) == 0 {
			r.fail(item, "the claim compares no two cells: none of %q has one of %q beside it", c.Compare.Cells.label(s.Workload), c.To.Cells.label(s.Workload))
		}
		s.Claims = append(s.Claims, c)
	}
}

// side reads one side of a claim.
func (r *reader) side(m mapping, key, metric string, s *Study, v Vocabulary) Side {
	n, ok := m.need(key, "say which cells, as in {protocol: h3}")
	if !ok {
		return Side{}
	}
	side, ok := r.mapping(n, key, append([]string{"metric"}, s.Workload.names()...)...)
	if !ok {
		return Side{}
	}
	if own, ok := side.get("metric"); ok {
		metric = r.word(own, "metric", v.metrics())
	} else if metric == "" && !m.has("metric") {
		r.fail(n, "%s has no metric; name it here, or for both sides beside them", key)
	}
	return Side{metric, r.selection(side, s, v)}
}

// narrowing reads what a claim is narrowed to: axes that its sides do not name.
func (r *reader) narrowing(n ast.Node, c Claim, s *Study, v Vocabulary) Selection {
	m, ok := r.mapping(n, "for", s.Workload.names()...)
	if !ok {
		return nil
	}
	for _, axis := range s.Workload.order() {
		if n, ok := m.get(string(axis)); ok && c.names(axis) {
			r.fail(n, "compare or to names a %s already; name it there", axis)
		}
	}
	return r.selection(m, s, v)
}

// ratio reads a range of ratios: "below 1", "at most 1", "above 2", "at least 2" or
// "0.9 to 1.1".
func (r *reader) ratio(n ast.Node) Range {
	text, ok := r.text(n, "ratio")
	if !ok {
		return Range{}
	}
	parsed, err := parseRange(text)
	if err != nil {
		r.fail(n, "%v", err)
	}
	return parsed
}

func parseRange(text string) (Range, error) {
	number := func(text string) float64 {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && !math.IsInf(v, 1) {
			return v
		}
		return math.NaN()
	}
	all := Range{Low: 0, High: math.Inf(1), Text: text}
	for _, form := range []struct {
		words string
		set   func(v float64)
	}{
		{"below ", func(v float64) { all.High, all.Open = v, true }},
		{"at most ", func(v float64) { all.High = v }},
		{"above ", func(v float64) { all.Low, all.Open = v, true }},
		{"at least ", func(v float64) { all.Low = v }},
	} {
		if rest, ok := strings.CutPrefix(text, form.words); ok {
			form.set(number(rest))
		}
	}
	if low, high, ok := strings.Cut(text, " to "); ok {
		all.Low, all.High = number(low), number(high)
	}
	if !(all.Low < all.High) || all.Low == 0 && math.IsInf(all.High, 1) {
		return Range{}, fmt.Errorf("ratio is %.40q; write it like below 1, at most 1, above 2, at least 2, or 0.9 to 1.1", text)
	}
	return all, nil
}
