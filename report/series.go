package report

import (
	"cmp"
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// Series shows how cells differ along one property of the link, all else being equal, as papers
// draw it in lines.
type Series struct {
	Axis   string  `json:"axis"` // of Link, by its name in JSON
	Panels []Panel `json:"panels"`
}

// Panel is one chart of a series. Its cells differ only on the series' axis and in the labels of
// its lines.
type Panel struct {
	Name  string `json:"name"` // what distinguishes it from the other panels; empty if it is the only one
	Lines []Line `json:"lines"`
}

// Line is the cells with one label, by their values on the axis, lowest first.
type Line struct {
	Label string `json:"label"`
	Cells []int  `json:"cells"`
}

// linkAxis is a property of the link.
type linkAxis struct {
	axis  study.Axis
	name  string // of Link in JSON
	value func(study.Link) float64
}

var linkAxes = []linkAxis{
	{study.AxisLinkDelay, "delay", func(l study.Link) float64 { return float64(l.Delay) }},
	{study.AxisLoss, "loss", func(l study.Link) float64 { return l.Loss }},
	{study.AxisReconnections, "reconnections", func(l study.Link) float64 { return float64(l.Reconnections) }},
}

// words describes a cell's value.
func (l linkAxis) words(c study.Cell) string {
	if l.axis == study.AxisLinkDelay {
		return "link delay " + spoken(c, l.axis)
	}
	return spoken(c, l.axis)
}

// series puts the cells into lines along each property of the link that varies. Cells are indices
// of results.
func (a Axes) series(results []store.Result) []Series {
	varies := func(of func(study.Cell) string) bool {
		return slices.ContainsFunc(results, func(r store.Result) bool { return of(r.Cell) != of(results[0].Cell) })
	}
	site, clock := func(c study.Cell) string { return c.Subject() }, func(c study.Cell) string { return c.Clock() + " clock" }
	var all []Series
	for _, along := range a.links {
		var shared []func(study.Cell) string
		if varies(site) {
			shared = append(shared, site)
		}
		for _, other := range a.links {
			if other.name != along.name {
				shared = append(shared, func(c study.Cell) string { return other.words(c) })
			}
		}
		if varies(clock) {
			shared = append(shared, clock)
		}
		s := Series{Axis: along.name}
		panels, lines := map[string]int{}, map[[2]string]int{} // by their names
		for i, r := range results {
			var words []string
			for _, of := range shared {
				words = append(words, of(r.Cell))
			}
			panel, label := strings.Join(words, ", "), a.Label(r.Cell)
			p, known := panels[panel]
			if !known {
				p = len(s.Panels)
				panels[panel] = p
				s.Panels = append(s.Panels, Panel{Name: panel})
			}
			l, known := lines[[2]string{panel, label}]
			if !known {
				l = len(s.Panels[p].Lines)
				lines[[2]string{panel, label}] = l
				s.Panels[p].Lines = append(s.Panels[p].Lines, Line{Label: label})
			}
			line := &s.Panels[p].Lines[l]
			line.Cells = append(line.Cells, i)
		}
		s.keepLines(func(cell int) float64 { return along.value(results[cell].Cell.Link()) })
		if len(s.Panels) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// keepLines sorts the cells of each line, and drops panels in which no line has two values.
func (s *Series) keepLines(value func(cell int) float64) {
	s.Panels = slices.DeleteFunc(s.Panels, func(p Panel) bool {
		for _, l := range p.Lines {
			slices.SortStableFunc(l.Cells, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
		}
		return !slices.ContainsFunc(p.Lines, func(l Line) bool { return value(l.Cells[0]) < value(l.Cells[len(l.Cells)-1]) })
	})
}
