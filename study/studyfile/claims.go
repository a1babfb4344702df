package studyfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// claims reads the claims. The matrix must have been read.
func (r *reader) claims(n ast.Node) {
	items, ok := r.list(n, "claims")
	if !ok {
		return
	}
	cells := r.study.Cells(nil)
	for _, item := range items {
		m, ok := r.mapping(item, "a claim", "text", "metric", "statistic", "compare", "to", "for", "ratio", "grows")
		if !ok {
			continue
		}
		errs := len(r.errs)
		var c study.Claim
		if n, ok := m.need("text", "write the claim as a sentence"); ok {
			c.Text, _ = r.text(n, "text")
		}
		metric := ""
		if n, ok := m.get("metric"); ok {
			metric = r.word(n, "metric", slices.Sorted(maps.Keys(r.metrics)))
		}
		c.Statistic = m.statistic()
		c.Compare = r.side(m, "compare", metric)
		c.To = r.side(m, "to", metric)
		if n, ok := m.get("for"); ok {
			c.For = r.narrowing(n, c)
		}
		grows, isGrowth := m.get("grows")
		switch {
		case isGrowth && m.has("ratio"):
			r.fail(grows, "a claim has either a ratio or grows; write two claims")
		case isGrowth:
			c.Grows = r.growth(grows)
		default:
			if n, ok := m.need("ratio", "write the claimed range, as in ratio: below 1, or what it grows along, as in grows: {along: loss}"); ok {
				c.Ratio = r.ratio(n)
			}
		}
		if len(r.errs) > errs {
			continue
		}
		if r.metrics[c.Compare.Metric] != r.metrics[c.To.Metric] {
			r.fail(item, "cannot compare %s in %s with %s in %s; compare metrics of the same unit", c.Compare.Metric, r.metrics[c.Compare.Metric], c.To.Metric, r.metrics[c.To.Metric])
		}
		compared, to := len(c.Compare.Cells.Pools(cells)), len(c.To.Cells.Pools(cells))
		if !r.pick(item, 2*len(cells)+compared*to) {
			return
		}
		switch pairs := c.Pairs(cells); {
		case len(pairs) == 0:
			r.fail(item, "the claim compares no cells: no cell of %q has a counterpart in %q; change compare, to or for", r.label(c.Compare.Cells), r.label(c.To.Cells))
		case isGrowth:
			r.checkGrowth(grows, c, pairs)
		}
		r.study.Claims = append(r.study.Claims, c)
	}
}

// growth reads what grows, and along which number.
func (r *reader) growth(n ast.Node) study.Growth {
	g := study.Growth{Of: study.OfRatio}
	m, ok := r.mapping(n, "grows", "along", "of")
	if !ok {
		return g
	}
	if at, ok := m.need("along", "name a number of the cells, as in grows: {along: loss}"); ok {
		var known []string
		for _, number := range r.kind.workload.Numbers() {
			known = append(known, number.ID)
		}
		g.Along = r.word(at, "number", known)
	}
	if at, ok := m.get("of"); ok {
		g.Of = r.word(at, "comparison", []string{study.OfRatio, study.OfDifference})
	}
	return g
}

// checkGrowth checks that the claim's pairs lie along its number, at enough values of it.
func (r *reader) checkGrowth(n ast.Node, c study.Claim, pairs [][2]study.Cell) {
	along, _ := r.kind.workload.Number(c.Grows.Along)
	if c.Names(along.Axis) {
		r.fail(n, "compare or to names a %s, so the claim cannot grow along the %s; name it in for", along.Axis, along.Name)
		return
	}
	all := along.Along(pairs)
	if len(all) == 0 {
		r.fail(n, "the cells have no %s; name another number, or change for", along.Name)
	}
	for _, places := range all {
		values := map[float64]bool{}
		for _, p := range places {
			values[p.At] = true
		}
		first := pairs[places[0].Pair][0].Key()
		switch {
		case len(values) < len(places):
			r.fail(n, "several pairs of cells have the same %s, such as that of %q; narrow them by for", along.Name, first)
		case len(values) < study.FewestSteps:
			r.fail(n, "growth needs %d values of the %s, and the claim has %d from %q on; change for or the matrix", study.FewestSteps, along.Name, len(values), first)
		default:
			continue
		}
		return
	}
}

// side reads one side of a claim.
func (r *reader) side(m mapping, key, metric string) study.Side {
	n, ok := m.need(key, "say which cells, as in {protocol: h3}")
	if !ok {
		return study.Side{}
	}
	side, ok := r.mapping(n, key, append([]string{"metric"}, r.axes()...)...)
	if !ok {
		return study.Side{}
	}
	if own, ok := side.get("metric"); ok {
		metric = r.word(own, "metric", slices.Sorted(maps.Keys(r.metrics)))
	} else if metric == "" && !m.has("metric") {
		r.fail(n, "%s has no metric; name one here, or one for both sides in the claim", key)
	}
	return study.Side{Metric: metric, Cells: r.selection(side)}
}

// narrowing reads the selection that narrows both sides, by axes that neither side names.
func (r *reader) narrowing(n ast.Node, c study.Claim) study.Selection {
	m, ok := r.mapping(n, "for", r.axes()...)
	if !ok {
		return nil
	}
	for _, a := range r.kind.workload.Axes {
		if n, ok := m.get(string(a.Axis)); ok && c.Names(a.Axis) {
			r.fail(n, "compare or to already names a %s; narrow it there", a.Axis)
		}
	}
	return r.selection(m)
}

// ratio reads a range of ratios: "below 1", "at most 1", "above 2", "at least 2" or
// "0.9 to 1.1"; and after it the ratios for which it is claimed, as study.CutScope has them.
func (r *reader) ratio(n ast.Node) study.Range {
	text, ok := r.text(n, "ratio")
	if !ok {
		return study.Range{}
	}
	parsed, err := parseRange(text)
	if err != nil {
		r.fail(n, "%v", err)
	}
	return parsed
}

func parseRange(text string) (study.Range, error) {
	number := func(text string) float64 {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && !math.IsInf(v, 1) {
			return v
		}
		return math.NaN()
	}
	all := study.Range{Low: 0, High: math.Inf(1), Text: text}
	within, _, err := study.CutScope(text)
	if err != nil {
		return study.Range{}, err
	}
	for _, form := range []struct {
		words string
		set   func(v float64)
	}{
		{"below ", func(v float64) { all.High, all.Open = v, true }},
		{"at most ", func(v float64) { all.High = v }},
		{"above ", func(v float64) { all.Low, all.Open = v, true }},
		{"at least ", func(v float64) { all.Low = v }},
	} {
		if rest, ok := strings.CutPrefix(within, form.words); ok {
			form.set(number(rest))
		}
	}
	if low, high, ok := strings.Cut(within, " to "); ok {
		all.Low, all.High = number(low), number(high)
	}
	if !(all.Low < all.High) || all.Low == 0 && math.IsInf(all.High, 1) {
		return study.Range{}, fmt.Errorf("invalid ratio %.40q: want a range such as below 1, at most 1, above 2, at least 2, or 0.9 to 1.1, and after it nothing, on average, in all but 2 or in at least 2", text)
	}
	return all, nil
}
