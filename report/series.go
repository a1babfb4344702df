package report

import (
	"cmp"
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// Series shows how cells differ along one number, all else being equal, as papers draw it in lines.
type Series struct {
	Axis    string   `json:"axis"`    // names the series
	Name    string   `json:"name"`    // of the number, in a sentence: "loss"
	Label   string   `json:"label"`   // of the axis of a chart, with its unit if Ticks leave it out
	Ticks   []Tick   `json:"ticks"`   // all its values, lowest first
	Metrics []string `json:"metrics"` // that are drawn along it, as far as cells have them
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

// Line is the cells with one label, by their values on the axis, lowest first.
type Line struct {
	Label string    `json:"label"`
	Cells []int     `json:"cells"`
	At    []float64 `json:"at"` // the cells' values on the axis
}

// mostLines is the number of lines above which a panel cannot be read.
const mostLines = 12

// series puts the cells into lines along each number that varies. Cells are indices of results.
func (a Axes) series(results []store.Result) []Series {
	var all []Series
	for _, along := range a.numbers {
		s := Series{Axis: along.id, Name: along.name, Label: along.label, Ticks: []Tick{}, Metrics: a.kind().followed}
		gathered := a.gather(along, results)
		for _, p := range gathered {
			if p.worthDrawing(a.kind().fewest) {
				s.Panels = append(s.Panels, p)
			}
		}
		if len(s.Panels) == 0 {
			continue
		}
		for _, p := range s.Panels {
			for _, l := range p.Lines {
				for i, cell := range l.Cells {
					s.Ticks = append(s.Ticks, Tick{l.At[i], along.word(results[cell].Cell)})
				}
			}
		}
		slices.SortFunc(s.Ticks, func(a, b Tick) int { return cmp.Compare(a.Value, b.Value) })
		s.Ticks = slices.CompactFunc(s.Ticks, func(a, b Tick) bool { return a.Value == b.Value })
		all = append(all, s)
	}
	return all
}

// gather puts the cells that have the number into panels and lines, in the order of their first
// cells.
func (a Axes) gather(along number, results []store.Result) []Panel {
	var panels []Panel
	at, lines := map[string]int{}, map[[2]string]int{} // by what their cells have in common
	for i, r := range results {
		value, ok := along.value(r.Cell)
		if !ok {
			continue
		}
		key, words := a.panel(along, r.Cell)
		p, known := at[key]
		if !known {
			p = len(panels)
			at[key] = p
			panels = append(panels, Panel{Name: words})
		}
		label := a.Label(r.Cell, along.axis)
		l, known := lines[[2]string{key, label}]
		if !known {
			l = len(panels[p].Lines)
			lines[[2]string{key, label}] = l
			panels[p].Lines = append(panels[p].Lines, Line{Label: label})
		}
		line := &panels[p].Lines[l]
		place, _ := slices.BinarySearch(line.At, value)
		for place < len(line.At) && line.At[place] == value {
			place++
		}
		line.Cells, line.At = slices.Insert(line.Cells, place, i), slices.Insert(line.At, place, value)
	}
	return panels
}

// panel returns what the cells of a panel have in common, beside their lines' labels, and words
// for as much of it as varies in the run.
func (a Axes) panel(along number, c study.Cell) (key, words string) {
	var keys, said []string
	for _, axis := range a.panels {
		if axis != along.axis {
			keys, said = append(keys, c.On(axis)), append(said, a.say(c, axis))
			continue
		}
		if along.rest == nil {
			continue
		}
		key, words := along.rest(a, c)
		keys = append(keys, key)
		if words != "" {
			said = append(said, words)
		}
	}
	return strings.Join(keys, "\x00"), strings.Join(said, ", ")
}

// say describes a cell's value on an axis in the name of a panel.
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

// worthDrawing reports whether some line has as many values as fewest, and the panel can be read.
func (p Panel) worthDrawing(fewest int) bool {
	return len(p.Lines) <= mostLines && slices.ContainsFunc(p.Lines, func(l Line) bool {
		return len(slices.Compact(slices.Clone(l.At))) >= fewest
	})
}
