package main

import (
	"fmt"
	"slices"

	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// sparks is a table's last column, which shows where the loads of each row lie, on one scale for all rows.
type sparks struct {
	screen    terminal.Screen
	metric    string // "": the table has no such column
	low, high float64
	heading   string
}

// sparkColumns is how many characters a sparkline has.
const sparkColumns = 20

// sparks makes the column for the rows of a table: of onLoad or, where the table lacks it, of its first metric.
func (t tabulated) sparks(rows []store.Result, shown []study.Metric) sparks {
	i := max(0, slices.IndexFunc(shown, func(m study.Metric) bool { return m.Name == "onload" }))
	var all []float64
	if t.sparklines && i < len(shown) {
		for _, r := range rows {
			all = append(all, r.Values[shown[i].Name]...)
		}
	}
	if len(all) == 0 {
		return sparks{}
	}
	s := sparks{screen: t.screen, metric: shown[i].Name, low: slices.Min(all), high: slices.Max(all)}
	s.heading = fmt.Sprintf("\t%s, %.0f..%.0f %s", shown[i].Title, s.low, s.high, shown[i].Unit)
	return s
}

// of draws a row's cell, with the tab before it.
func (s sparks) of(r store.Result) string {
	if s.metric == "" {
		return ""
	}
	return "\t" + s.screen.Sparkline(r.Values[s.metric], s.low, s.high, sparkColumns)
}
