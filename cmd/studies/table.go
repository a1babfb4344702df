package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"wiretime/stats"
	"wiretime/study"
)

// table makes a Markdown table of the block's study: a row for each combination of values of the row axes,
// and the columns beside it.
func (b *block) table(runs []*measuredRun) (string, error) {
	if len(runs) != 1 || len(b.Rows) == 0 || len(b.Columns) == 0 {
		return "", fmt.Errorf("a table takes one study, rows and columns")
	}
	t := tabulation{block: b, run: runs[0]}
	if err := t.known(); err != nil {
		return "", err
	}
	for _, l := range t.run.loads {
		if b.For.picks(l) {
			t.loads = append(t.loads, l)
		}
	}
	head := []string{}
	for _, a := range b.Rows {
		head = append(head, a.title())
	}
	var across []string
	if b.Across != nil {
		across = t.labels(*b.Across, t.loads)
		for _, label := range across {
			head = append(head, b.Across.titled(label))
		}
	} else {
		for _, c := range b.Columns {
			head = append(head, c.Title)
		}
	}
	lines := []string{rowOf(head), "|" + strings.Repeat(" --- |", len(head))}
	err := t.rows(nil, t.loads, func(labels []string, loads []load) error {
		cells := slices.Clone(labels)
		if b.Across == nil {
			for _, c := range b.Columns {
				text, err := t.figure(c, loads)
				if err != nil {
					return err
				}
				cells = append(cells, text)
			}
		}
		for _, label := range across {
			var parts []string
			mine := withLabel(*b.Across, label, loads)
			for _, c := range b.Columns {
				text, err := t.figure(c, mine)
				if err != nil {
					return err
				}
				parts = append(parts, text)
			}
			cells = append(cells, strings.Join(parts, " / "))
		}
		lines = append(lines, rowOf(cells))
		return nil
	})
	if err == nil && len(lines) == 2 {
		err = fmt.Errorf("no valid load of %s is in the table", t.run.name)
	}
	return strings.Join(lines, "\n") + "\n", err
}

// tabulation is a table in the making.
type tabulation struct {
	*block
	run   *measuredRun
	loads []load
}

// known refuses axes and metrics that no valid load of the study has: the table would be empty where they are
// meant.
func (t *tabulation) known() error {
	axes, metrics := map[string]bool{}, map[string]bool{}
	for _, l := range t.run.loads {
		for name := range l.axes {
			axes[name] = true
		}
		for name := range l.values {
			metrics[name] = true
		}
	}
	asked := slices.Collect(maps.Keys(t.For))
	for _, a := range t.Rows {
		asked = append(asked, a.Axis)
	}
	if t.Across != nil {
		asked = append(asked, t.Across.Axis)
	}
	for _, c := range t.Columns {
		for _, s := range append([]selection{c.Of}, c.Ratio...) {
			asked = slices.AppendSeq(asked, maps.Keys(s))
		}
		if metric := cmp.Or(c.Metric, t.Metric); !metrics[metric] {
			return fmt.Errorf("%s has no metric %q: it has %v", t.run.name, metric, slices.Sorted(maps.Keys(metrics)))
		}
	}
	for _, name := range asked {
		if !axes[name] {
			return fmt.Errorf("%s has no axis %q: it has %v", t.run.name, name, slices.Sorted(maps.Keys(axes)))
		}
	}
	return nil
}

// rows calls do for each combination of the row axes' labels that some load has.
func (t *tabulation) rows(labels []string, loads []load, do func([]string, []load) error) error {
	if len(labels) == len(t.Rows) {
		return do(labels, loads)
	}
	a := t.Rows[len(labels)]
	for _, label := range t.labels(a, loads) {
		if err := t.rows(append(slices.Clone(labels), a.titled(label)), withLabel(a, label, loads), do); err != nil {
			return err
		}
	}
	return nil
}

// labels returns an axis's labels: by size if all are numbers with the same unit, else in the order in which the
// study's file has the values.
func (t *tabulation) labels(a axis, loads []load) []string {
	_, matrix, _ := strings.Cut(t.run.Run.StudyText, "\nmatrix:")
	place := map[string]float64{}
	numbers, units := true, map[string]bool{}
	for _, l := range loads {
		label, ok := a.label(l.axes[a.Axis])
		if _, known := place[label]; !ok || known {
			continue
		}
		place[label] = float64(strings.Index(matrix, l.axes[a.Axis]))
		_, unit, err := leadingNumber(label)
		numbers, units[unit] = numbers && err == nil, true
	}
	if numbers && len(units) == 1 {
		for label := range place {
			place[label], _, _ = leadingNumber(label)
		}
	}
	return slices.SortedFunc(maps.Keys(place), func(x, y string) int {
		return cmp.Or(cmp.Compare(place[x], place[y]), strings.Compare(x, y))
	})
}

// leadingNumber returns the number that a label begins with, and the rest, its unit.
func leadingNumber(label string) (float64, string, error) {
	end := strings.IndexFunc(label, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(label)
	}
	number, err := strconv.ParseFloat(label[:end], 64)
	return number, label[end:], err
}

func withLabel(a axis, label string, loads []load) []load {
	return slices.DeleteFunc(slices.Clone(loads), func(l load) bool {
		own, ok := a.label(l.axes[a.Axis])
		return !ok || own != label
	})
}

// label is the part of a value that is shown, and whether the value belongs in the table.
func (a axis) label(value string) (string, bool) {
	m := a.expression.FindStringSubmatch(value)
	switch {
	case m == nil:
		return "", false
	case a.Label == "":
		return value, true
	}
	return m[len(m)-1], true
}

func (a axis) title() string {
	if a.Title != "" {
		return a.Title
	}
	return strings.ReplaceAll(a.Axis, "_", " ")
}

func (a axis) titled(label string) string {
	if t, ok := a.Titles[label]; ok {
		return t
	}
	return label
}

// picks says whether a load is of a selected cell.
func (s selection) picks(l load) bool {
	for name, wanted := range s {
		values, many := wanted.([]any)
		if !many {
			values = []any{wanted}
		}
		if !slices.ContainsFunc(values, func(v any) bool { return fmt.Sprint(v) == l.axes[name] }) {
			return false
		}
	}
	return true
}

// valuesOf returns the metric's values of the selected loads. In a study with sessions it returns the statistic of each
// session's values instead, as the loads of a session are not independent.
func (t *tabulation) valuesOf(s selection, metric, statistic string, loads []load) []float64 {
	var values []float64
	bySession := map[string][]float64{}
	for _, l := range loads {
		if v, ok := l.values[metric]; ok && s.picks(l) {
			values = append(values, v)
			bySession[l.session()] = append(bySession[l.session()], v)
		}
	}
	if !t.sessions() {
		return values
	}
	values = values[:0]
	for _, session := range bySession {
		values = append(values, stats.Statistic(statistic).Of(session))
	}
	return values
}

// session names the session of a load, by its cell and repeat.
func (l load) session() string {
	cell := maps.Clone(l.axes)
	delete(cell, "session_load")
	return fmt.Sprint(cell, l.repeat)
}

// sessions reports whether the study has sessions of several loads.
func (t *tabulation) sessions() bool {
	return slices.ContainsFunc(t.run.loads, func(l load) bool { return l.axes["session_load"] == "2" })
}

// of returns the statistic of values of valuesOf: of sessions their median.
func (t *tabulation) of(values []float64, statistic string) float64 {
	if t.sessions() {
		statistic = study.Median
	}
	return stats.Statistic(statistic).Of(values)
}

// figure is what a column shows of a row's loads.
func (t *tabulation) figure(c column, loads []load) (string, error) {
	metric, form, digits := cmp.Or(c.Metric, t.Metric), cmp.Or(c.Form, t.Form), cmp.Or(c.Digits, t.Digits)
	statistic := cmp.Or(c.Statistic, t.Statistic, study.Median)
	if err := study.CheckStatistic(statistic); err != nil {
		return "", err
	}
	if len(c.Ratio) == 2 {
		a, b := t.valuesOf(c.Ratio[0], metric, statistic, loads), t.valuesOf(c.Ratio[1], metric, statistic, loads)
		if len(a) == 0 || len(b) == 0 {
			return "-", nil
		}
		if digits == nil {
			digits = new(2)
		}
		return number(t.of(b, statistic)/t.of(a, statistic), digits), nil
	}
	values := t.valuesOf(c.Of, metric, statistic, loads)
	if len(values) == 0 {
		return "-", nil
	}
	scale := 1.0
	if t.Unit == "s" && t.run.units[metric] == "ms" {
		scale = 1000
	}
	text := number(t.of(values, statistic)/scale, digits)
	switch form {
	case "", "median":
		return text, nil
	case "interval":
		if statistic != study.Median {
			return "", fmt.Errorf("statistic %s: tables show intervals of medians only; leave out form: interval", statistic)
		}
		m := stats.Median(values)
		if !m.Reached {
			return fmt.Sprintf("%s (n = %d)", text, m.N), nil
		}
		return fmt.Sprintf("%s (%s to %s)", text, number(m.Low/scale, digits), number(m.High/scale, digits)), nil
	case "paper":
		return text + t.printed(c.Of, metric, statistic, loads), nil
	}
	return "", fmt.Errorf("unknown form %q: it must be median, interval or paper", form)
}

// printed is what the paper has of the cell, in parentheses, or nothing.
func (t *tabulation) printed(s selection, metric, statistic string, loads []load) string {
	for _, p := range t.run.Published {
		about := selection{}
		for pair := range strings.FieldsSeq(p.Cell) {
			name, value, _ := strings.Cut(pair, "=")
			about[name] = value
		}
		if p.Metric == metric && cmp.Or(p.Statistic, study.Median) == statistic && slices.ContainsFunc(loads, func(l load) bool { return about.picks(l) && s.picks(l) }) {
			return " (" + p.Printed + ")"
		}
	}
	return ""
}

// number writes a figure with so many decimals, or to three digits.
func number(v float64, decimals *int) string {
	switch {
	case decimals != nil:
		return strconv.FormatFloat(v, 'f', *decimals, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func rowOf(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
