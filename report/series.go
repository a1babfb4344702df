package report

import (
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// Series shows how cells differ along one number, all else being equal: the line charts of papers.
type Series struct {
	Axis    string   `json:"axis"`    // the number's ID, such as "rate" or "tcp_window"
	Name    string   `json:"name"`    // of the number, in a sentence: "loss"
	Label   string   `json:"label"`   // of the axis of a chart, with its unit if Ticks leave it out
	Ticks   []Tick   `json:"ticks"`   // all its values, lowest first
	Metrics []string `json:"metrics"` // that are drawn, as far as cells have them; at least one
	Panels  []Panel  `json:"panels"`
}

// Tick is a value on the axis of a series and how it is written there.
type Tick struct {
	Value float64 `json:"value"`
	Word  string  `json:"word"`
}

// Panel is one chart of a series. Its cells differ only in the series' number and in the labels of
// its lines.
type Panel struct {
	Name  string `json:"name"` // what distinguishes it from the other panels; empty if it is the only one
	Lines []Line `json:"lines"`
}

// Line holds the cells with one label, by their values on the axis, lowest first.
type Line struct {
	Label  string      `json:"label"`
	Points []LinePoint `json:"points"`
}

// LinePoint is a cell on a line, or a load of a session.
type LinePoint struct {
	At        float64            `json:"at"`                // its value on the axis
	Cell      int                `json:"cell"`              // the cell of the report that has its loads
	Summaries map[string]Summary `json:"summaries"`         // of the series' metrics, and of what a moving path offered
	Printed   map[string]float64 `json:"printed,omitempty"` // the median or mean that a paper printed for it, by metric
}

// mostLines is the number of lines above which a panel cannot be read.
const mostLines = 12

// collectSeries returns the series of the results, in which the loads of sessions are pooled, preceded by the series of whole, in which
// they are not, by the number of the load. at has the index of the result that has a cell's loads, by the cell's key.
func collectSeries(results, whole []store.Result, at map[string]int, published []store.Figure) []Series {
	printed := map[string]map[string]float64{} // by cell, then metric
	for _, f := range published {
		if f.Loads != "" || f.Statistic != "" && f.Statistic != study.Median && f.Statistic != study.Mean {
			continue
		}
		if printed[f.Cell] == nil {
			printed[f.Cell] = map[string]float64{}
		}
		printed[f.Cell][f.Metric] = f.Value
	}
	all := AxesOf(results).series(results, at, printed)
	if len(whole) == len(results) {
		return all
	}
	sessions := AxesOf(whole)
	sessions.numbers = slices.DeleteFunc(sessions.numbers, func(n study.Number) bool { return n.Axis != study.AxisLoad })
	return append(sessions.series(whole, at, printed), all...)
}

// series puts the cells into lines along each number that varies. There are none for a workload without metrics to draw.
func (a Axes) series(results []store.Result, at map[string]int, printed map[string]map[string]float64) []Series {
	if len(a.kind().followed) == 0 {
		return nil
	}
	var all []Series
	for _, along := range a.numbers {
		scale := scaleOf(along, results)
		s := Series{Axis: along.ID, Name: scale.Name, Label: scale.Label, Ticks: scale.Ticks, Metrics: a.kind().followed}
		gathered := gathering{Axes: a, along: along, at: map[string]int{}, lines: map[[2]string]int{}}
		for _, r := range results {
			value, ok := along.Of(r.Cell)
			if !ok {
				continue
			}
			gathered.add(r.Cell, LinePoint{At: value, Cell: at[r.Cell.Key()], Summaries: s.summaries(r), Printed: printed[r.Cell.Key()]})
		}
		for _, p := range gathered.panels {
			if p.worthDrawing(a.kind().fewest) {
				s.Panels = append(s.Panels, p)
			}
		}
		if len(s.Panels) == 0 {
			continue
		}
		all = append(all, s)
	}
	return all
}

// summaries returns those of a result's metrics that the series draws.
func (s *Series) summaries(r store.Result) map[string]Summary {
	all := map[string]Summary{}
	for _, metric := range append([]string{"path_rate", "path_outage"}, s.Metrics...) {
		if values := r.Values[metric]; len(values) > 0 {
			all[metric] = Summarize(values)
		}
	}
	return all
}

// gathering puts cells into panels and lines, in the order of their first cells.
type gathering struct {
	Axes
	along  study.Number
	panels []Panel
	at     map[string]int    // the indices of panels, by what their cells have in common
	lines  map[[2]string]int // the indices of lines in their panels, by that and their labels
}

func (g *gathering) add(c study.Cell, point LinePoint) {
	key, words := g.panel(c, g.along)
	p, known := g.at[key]
	if !known {
		p = len(g.panels)
		g.at[key] = p
		g.panels = append(g.panels, Panel{Name: words})
	}
	label := g.Label(c, g.along.Axis)
	l, known := g.lines[[2]string{key, label}]
	if !known {
		l = len(g.panels[p].Lines)
		g.lines[[2]string{key, label}] = l
		g.panels[p].Lines = append(g.panels[p].Lines, Line{Label: label})
	}
	line := &g.panels[p].Lines[l]
	place, _ := slices.BinarySearchFunc(line.Points, point, func(a, b LinePoint) int {
		if a.At <= b.At {
			return -1 // equal ones keep their order
		}
		return 1
	})
	line.Points = slices.Insert(line.Points, place, point)
}

// panel returns what a cell has in common with the others of its panel, beside its line's label and the numbers along its axes, as a key
// and in words. The words leave out what does not vary in the run.
func (a Axes) panel(c study.Cell, along ...study.Number) (key, words string) {
	var keys, said []string
	for _, axis := range a.panels {
		shown := slices.DeleteFunc(slices.Clone(along), func(n study.Number) bool { return n.Axis != axis })
		if len(shown) == 0 {
			keys, said = append(keys, c.On(axis)), append(said, a.say(c, axis))
			continue
		}
		key, words := a.beside(c, shown)
		keys = append(keys, key)
		if words != "" {
			said = append(said, words)
		}
	}
	return strings.Join(keys, "\x00"), strings.Join(said, ", ")
}

// say writes a cell's value on an axis for the name of a panel.
func (a Axes) say(c study.Cell, axis study.Axis) string {
	switch axis {
	case a.Workload.Subject, study.AxisNetwork:
		return c.On(axis)
	case study.AxisClock:
		return c.Clock() + " clock"
	case study.AxisVisit:
		return c.On(axis) + " visit"
	case study.AxisStrategy, study.AxisServer:
		return string(axis) + " " + c.On(axis)
	case study.AxisLinkDelay:
		return "link delay " + spoken(c, axis)
	}
	return spoken(c, axis)
}

// worthDrawing reports whether some line has at least fewest values, and the panel has no more than mostLines lines.
func (p Panel) worthDrawing(fewest int) bool {
	return len(p.Lines) <= mostLines && slices.ContainsFunc(p.Lines, func(l Line) bool {
		values := map[float64]bool{}
		for _, p := range l.Points {
			values[p.At] = true
		}
		return len(values) >= fewest
	})
}
