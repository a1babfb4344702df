package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// FigureSpec says what a figure shows of a run's cells.
type FigureSpec struct {
	Along     string       // ID of the number on the horizontal axis, such as "rate": as Series.Axis. An axis of names, such as "site", has bars
	Against   string       // ID of the number on the vertical axis of a heat map; empty: a line chart
	Panels    string       // an axis or a number, with a chart for each of its values; empty: one chart
	For       Choice       // narrows all lines
	Lines     []FigureLine // none: a line for each label, as in a Series
	Metric    string
	Statistic string // of a cell's loads (study.CheckStatistic); empty: the median
	Unit      string // "s" for figures in ms; empty: the metric's
	X, Y      Cut
}

// FigureLine picks the cells of a line, or those of a map, which needs a ratio.
type FigureLine struct {
	Title             string
	Metric, Statistic string // empty: the figure's
	Of                Choice
	Ratio             []Choice // two: the line shows the second's figure divided by the first's
}

// Choice picks cells by their axes and numbers. Numbers are written as on the axis of a chart, without a unit.
type Choice map[string][]string

// Cut is the part of an axis that a figure shows; nil ends follow from the data.
type Cut struct {
	From *float64 `json:"from,omitempty"`
	To   *float64 `json:"to,omitempty"`
	Log  *bool    `json:"log,omitempty"` // whether the axis is logarithmic
}

// Figure is a picture of chosen cells by itself, outside of a report.
type Figure struct {
	Title   string        `json:"title"` // of the drawn figures, such as "onLoad"
	Unit    string        `json:"unit"`
	Along   Scale         `json:"along"`
	Against *Scale        `json:"against,omitempty"` // of a heat map
	Lines   []string      `json:"lines"`             // their labels
	Panels  []FigurePanel `json:"panels"`
	X       Cut           `json:"x"`
	Y       Cut           `json:"y"`
}

// Scale is an axis of a chart.
type Scale struct {
	Name  string `json:"name"`  // in a sentence: "loss"
	Label string `json:"label"` // with its unit if Ticks leave it out
	Ticks []Tick `json:"ticks"` // lowest first
	Names bool   `json:"names"` // ticks are names side by side, and what stands over them are bars
}

// FigurePanel is one chart of a figure.
type FigurePanel struct {
	Name   string        `json:"name"` // empty if it is the only one
	Points []FigurePoint `json:"points"`
}

// FigurePoint is one cell, or the ratio of two.
type FigurePoint struct {
	Line     int      `json:"line"`
	At       float64  `json:"at"`                // on the horizontal axis
	Against  float64  `json:"against"`           // on the vertical axis of a map
	Value    float64  `json:"value"`             // in the figure's unit
	Low      float64  `json:"low"`               // of the interval, or of the loads' range if there are too few
	High     float64  `json:"high"`              // likewise
	Interval bool     `json:"interval"`          // [Low, High] is a 95 % interval
	N        int      `json:"n"`                 // loads; of a ratio, on the side that has fewer
	Printed  *float64 `json:"printed,omitempty"` // what a paper printed for the cell, or the ratio of two printed figures
}

// Draw makes a figure of a run's results. seed seeds the bootstrap of intervals. Errors say which name, line or point
// of the specification does not fit the results.
func Draw(whole []store.Result, metrics []study.Metric, published []store.Figure, seed uint64, spec FigureSpec) (Figure, error) {
	results := whole
	if spec.Along != string(study.AxisLoad) {
		results, _ = Pooled(whole)
	}
	if len(results) == 0 {
		return Figure{}, fmt.Errorf("the run has no results")
	}
	axes := AxesOf(results)
	d := drawer{spec: spec, axes: axes, numbers: axes.Workload.Numbers(), results: results, metrics: metrics,
		published: published, bootstrap: stats.NewBootstrap(seed)}
	return d.draw()
}

type drawer struct {
	spec      FigureSpec
	axes      Axes
	numbers   []study.Number
	results   []store.Result
	metrics   []study.Metric
	published []store.Figure
	bootstrap *stats.Bootstrap

	along, against study.Number
	named          bool    // along has names
	scale          float64 // of the figure's unit
	figure         Figure
	panels         map[string]int
}

func (d *drawer) draw() (Figure, error) {
	if err := d.check(); err != nil {
		return Figure{}, err
	}
	d.figure.X, d.figure.Y, d.panels = d.spec.X, d.spec.Y, map[string]int{}
	shown := slices.DeleteFunc(slices.Clone(d.results), func(r store.Result) bool { return !d.picks(d.spec.For, r.Cell) })
	d.figure.Along = scaleOf(d.along, shown)
	d.figure.Along.Names = d.named
	if d.spec.Against != "" {
		d.figure.Against = new(scaleOf(d.against, shown))
	}
	if len(d.spec.Lines) == 0 {
		for _, label := range d.labels(shown) {
			d.figure.Lines = append(d.figure.Lines, label)
			mine := slices.DeleteFunc(slices.Clone(shown), func(r store.Result) bool { return d.axes.Label(r.Cell, d.along.Axis) != label })
			if err := d.line(FigureLine{Title: label}, mine); err != nil {
				return Figure{}, err
			}
		}
	}
	for _, l := range d.spec.Lines {
		d.figure.Lines = append(d.figure.Lines, l.Title)
		if err := d.line(l, shown); err != nil {
			return Figure{}, err
		}
	}
	d.sortPanels()
	return d.figure, nil
}

// check finds the axes and the unit, and refuses names that the run does not know.
func (d *drawer) check() error {
	var err error
	if d.along, err = d.number("along", d.spec.Along); err != nil {
		axis := study.Axis(d.spec.Along)
		if !d.axes.Workload.Has(axis) {
			return err
		}
		d.along, d.named = study.Places(axis, d.values(axis)), true
	}
	if d.named && d.spec.Against != "" {
		return fmt.Errorf("a heat map needs numbers on both axes, and %s has names", d.spec.Along)
	}
	if d.spec.Against != "" {
		if d.against, err = d.number("against", d.spec.Against); err != nil {
			return err
		}
	}
	choices := []Choice{d.spec.For}
	if d.spec.Panels != "" {
		choices = append(choices, Choice{d.spec.Panels: nil})
	}
	ratios := 0
	for _, l := range d.spec.Lines {
		choices = append(append(choices, l.Of), l.Ratio...)
		if len(l.Ratio) > 0 {
			ratios++
		}
		if len(l.Ratio) != 0 && len(l.Ratio) != 2 {
			return fmt.Errorf("the ratio of line %q has %d selections: it must have two", l.Title, len(l.Ratio))
		}
	}
	for _, c := range choices {
		for name := range c {
			if !d.axes.Workload.Has(study.Axis(name)) && !slices.ContainsFunc(d.numbers, func(n study.Number) bool { return n.ID == name }) {
				return fmt.Errorf("unknown axis or number %q: the study has %s", name, strings.Join(d.names(), ", "))
			}
		}
	}
	switch {
	case d.spec.Against != "" && (ratios == 0 || ratios < len(d.spec.Lines)):
		return fmt.Errorf("a heat map shows ratios: give each of its lines a ratio")
	case ratios > 0 && ratios < len(d.spec.Lines):
		return fmt.Errorf("some lines are ratios and some are not: they need a figure each")
	}
	return d.title(ratios > 0)
}

// title sets what the figure says of its values, and their unit.
func (d *drawer) title(ratio bool) error {
	lines := d.spec.Lines
	if len(lines) == 0 {
		lines = []FigureLine{{}}
	}
	var titles, units []string
	for _, l := range lines {
		name := cmp.Or(l.Metric, d.spec.Metric)
		i := slices.IndexFunc(d.metrics, func(m study.Metric) bool { return m.Name == name })
		if i < 0 {
			return fmt.Errorf("unknown metric %q", name)
		}
		statistic := cmp.Or(l.Statistic, d.spec.Statistic, study.Median)
		if err := study.CheckStatistic(statistic); err != nil {
			return err
		}
		title := d.metrics[i].Title
		if statistic != study.Median {
			title = title + ", " + strings.TrimSuffix(StatisticName(statistic), " of")
		}
		titles, units = append(titles, title), append(units, d.metrics[i].Unit)
	}
	if titles, units = slices.Compact(titles), slices.Compact(units); len(units) > 1 {
		return fmt.Errorf("the lines have the units %s: they need a figure each", strings.Join(units, " and "))
	}
	d.figure.Title, d.figure.Unit, d.scale = titles[0], units[0], 1
	if len(titles) > 1 {
		d.figure.Title = map[bool]string{true: "Time", false: "Value"}[units[0] == "ms"]
	}
	switch {
	case ratio:
		d.figure.Title, d.figure.Unit = "Ratio of "+d.figure.Title, ""
	case d.spec.Unit == "s" && units[0] == "ms":
		d.figure.Unit, d.scale = "s", 1000
	case d.spec.Unit != "" && d.spec.Unit != units[0]:
		return fmt.Errorf("unknown unit %q for figures in %s", d.spec.Unit, units[0])
	}
	return nil
}

// line adds the points of a line.
func (d *drawer) line(l FigureLine, shown []store.Result) error {
	sides := []Choice{l.Of}
	if l.Ratio != nil {
		sides = []Choice{l.Ratio[1], l.Ratio[0]} // numerator first
	}
	metric, statistic := cmp.Or(l.Metric, d.spec.Metric), cmp.Or(l.Statistic, d.spec.Statistic, study.Median)
	type place struct {
		panel       string
		at, against float64
	}
	found := make([]map[place]store.Result, len(sides))
	var order []place
	for i, side := range sides {
		found[i] = map[place]store.Result{}
		for _, r := range shown {
			if len(r.Values[metric]) == 0 || !d.picks(l.Of, r.Cell) || !d.picks(side, r.Cell) {
				continue
			}
			p := place{panel: d.panelOf(r.Cell)}
			var has [2]bool
			p.at, has[0] = d.along.Of(r.Cell)
			if d.figure.Against != nil {
				p.against, has[1] = d.against.Of(r.Cell)
			}
			if !has[0] || d.figure.Against != nil && !has[1] {
				continue
			}
			if other, taken := found[i][p]; taken {
				return fmt.Errorf("line %q has several cells at %s %s, which differ in %s: choose one", l.Title, d.along.Name, d.along.Word(r.Cell), differences(other.Cell, r.Cell))
			}
			found[i][p] = r
			if i == 0 {
				order = append(order, p)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.against, b.against)) })
	drawn := false
	for _, p := range order {
		cells := []store.Result{found[0][p]}
		if len(sides) == 2 {
			below, ok := found[1][p]
			if !ok {
				continue
			}
			cells = append(cells, below)
		}
		point, ok := d.point(cells, metric, statistic)
		if !ok {
			continue
		}
		drawn = true
		point.Line, point.At, point.Against = len(d.figure.Lines)-1, p.at, p.against
		i := d.panels[p.panel]
		d.figure.Panels[i].Points = append(d.figure.Panels[i].Points, point)
	}
	if !drawn {
		return fmt.Errorf("line %q shows no cell that has %s", l.Title, metric)
	}
	return nil
}

// point is the figure of a cell, or the ratio of the first cell's to the second's; false if the ratio has no meaning.
func (d *drawer) point(cells []store.Result, metric, statistic string) (FigurePoint, bool) {
	values, of := cells[0].Values[metric], stats.Statistic(statistic)
	var p FigurePoint
	if len(cells) == 1 {
		e := d.bootstrap.Estimate(values, of)
		p = FigurePoint{Value: e.Value / d.scale, Low: e.Low / d.scale, High: e.High / d.scale, Interval: e.Reached, N: e.N}
	} else {
		to := cells[1].Values[metric]
		if !aboveZero(values) || !aboveZero(to) {
			return p, false
		}
		r := d.bootstrap.CompareRatioOf(values, of, to, of)
		p = FigurePoint{Value: r.Value, Low: r.Low, High: r.High, Interval: r.Enough, N: min(len(values), len(to))}
		if r.High == 0 { // no interval
			p.Low, p.High = r.Value, r.Value
		}
	}
	printed, scale := 0.0, d.scale
	for i, c := range cells {
		j := slices.IndexFunc(d.published, func(f store.Figure) bool {
			return f.Cell == c.Cell.Key() && f.Loads == "" && f.Metric == metric && cmp.Or(f.Statistic, study.Median) == statistic
		})
		switch {
		case j < 0:
			return p, true
		case i == 0:
			printed = d.published[j].Value
		default:
			printed, scale = printed/d.published[j].Value, 1
		}
	}
	printed /= scale
	p.Printed = &printed
	return p, true
}

// panelOf returns the name of the panel of a cell, which it makes.
func (d *drawer) panelOf(c study.Cell) string {
	name := ""
	if i := slices.IndexFunc(d.numbers, func(n study.Number) bool { return n.ID == d.spec.Panels }); i >= 0 {
		name = d.numbers[i].Say(c)
	}
	if axis := study.Axis(d.spec.Panels); name == "" && d.axes.Workload.Has(axis) { // the value is a word
		name = d.axes.say(c, axis)
	}
	if _, known := d.panels[name]; !known {
		d.panels[name] = len(d.figure.Panels)
		d.figure.Panels = append(d.figure.Panels, FigurePanel{Name: name, Points: []FigurePoint{}})
	}
	return name
}

// sortPanels sorts the panels of a number by it.
func (d *drawer) sortPanels() {
	i := slices.IndexFunc(d.numbers, func(n study.Number) bool { return n.ID == d.spec.Panels })
	if i < 0 {
		return
	}
	value := map[string]float64{}
	for _, r := range d.results {
		value[d.numbers[i].Say(r.Cell)], _ = d.numbers[i].Of(r.Cell)
	}
	slices.SortStableFunc(d.figure.Panels, func(a, b FigurePanel) int { return cmp.Compare(value[a.Name], value[b.Name]) })
}
