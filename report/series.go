package report

import (
	"cmp"
	"slices"
	"strings"

	"wiretime/english"
	"wiretime/store"
)

// Series is how cells differ along one property of the link, all else being equal:
// what papers draw as lines.
type Series struct {
	Axis   string  `json:"axis"` // of Link, by its name in JSON
	Panels []Panel `json:"panels"`
}

// Panel is one picture of a series: the cells that share everything but what tells
// its lines apart, and the series' axis.
type Panel struct {
	Name  string `json:"name"` // what it shares and other panels do not; empty for the only one
	Lines []Line `json:"lines"`
}

// Line is the cells with one label, by their values on the axis, lowest first.
type Line struct {
	Label string `json:"label"`
	Cells []int  `json:"cells"`
}

// linkAxis is a property of the link.
type linkAxis struct {
	name  string
	value func(*store.Link) float64
	words func(*store.Link) string
}

var linkAxes = []linkAxis{
	{"delay", func(l *store.Link) float64 { return float64(l.Delay) }, func(l *store.Link) string { return "link delay " + duration(l.Delay) }},
	{"loss", func(l *store.Link) float64 { return l.Loss }, func(l *store.Link) string { return "loss " + percent(l.Loss) }},
	{"reconnections", func(l *store.Link) float64 { return float64(l.Reconnections) }, func(l *store.Link) string { return english.Count(l.Reconnections, "reconnection") }},
}

// series puts the cells into lines along each property of the link that varies;
// indices count the results.
func (a Axes) series(results []store.Result, labels []string) []Series {
	varies := func(of func(store.Cell) string) bool {
		return slices.ContainsFunc(results, func(r store.Result) bool { return of(r.Cell) != of(results[0].Cell) })
	}
	site, clock := func(c store.Cell) string { return c.Site }, func(c store.Cell) string { return c.Clock + " clock" }
	var all []Series
	for _, along := range a.links {
		var shared []func(store.Cell) string
		if varies(site) {
			shared = append(shared, site)
		}
		for _, other := range a.links {
			if other.name != along.name {
				shared = append(shared, func(c store.Cell) string { return other.words(c.Link) })
			}
		}
		if varies(clock) {
			shared = append(shared, clock)
		}
		s := Series{Axis: along.name}
		for i, r := range results {
			var words []string
			for _, of := range shared {
				words = append(words, of(r.Cell))
			}
			s.add(strings.Join(words, ", "), labels[i], i)
		}
		s.keepLines(func(cell int) float64 { return along.value(results[cell].Cell.Link) })
		if len(s.Panels) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (s *Series) add(panel, label string, cell int) {
	p := slices.IndexFunc(s.Panels, func(p Panel) bool { return p.Name == panel })
	if p < 0 {
		p = len(s.Panels)
		s.Panels = append(s.Panels, Panel{Name: panel})
	}
	lines := &s.Panels[p].Lines
	l := slices.IndexFunc(*lines, func(l Line) bool { return l.Label == label })
	if l < 0 {
		l = len(*lines)
		*lines = append(*lines, Line{Label: label})
	}
	(*lines)[l].Cells = append((*lines)[l].Cells, cell)
}

// keepLines sorts the cells of each line, and leaves out panels in which there is
// nothing to follow from one value to another.
func (s *Series) keepLines(value func(cell int) float64) {
	s.Panels = slices.DeleteFunc(s.Panels, func(p Panel) bool {
		for _, l := range p.Lines {
			slices.SortStableFunc(l.Cells, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
		}
		return !slices.ContainsFunc(p.Lines, func(l Line) bool { return value(l.Cells[0]) < value(l.Cells[len(l.Cells)-1]) })
	})
}
