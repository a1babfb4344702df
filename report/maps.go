package report

import (
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Map is a heat map: how the ratios of cells change over two numbers, all else being equal.
type Map struct {
	Along   Scale      `json:"along"`
	Against Scale      `json:"against"`
	Labels  []string   `json:"labels"` // of the cells that are compared
	Metrics []string   `json:"metrics"`
	Panels  []MapPanel `json:"panels"`
}

// MapPanel holds the cells that differ only in the map's two numbers and in their labels.
type MapPanel struct {
	Name  string    `json:"name"` // what distinguishes it from the other panels; empty if it is the only one
	Spots []MapSpot `json:"spots"`
}

// MapSpot compares two labels at one place of a map.
type MapSpot struct {
	At       float64 `json:"at"`
	Against  float64 `json:"against"`
	Metric   int     `json:"metric"` // of Map.Metrics
	Label    int     `json:"label"`  // of Map.Labels
	To       int     `json:"to"`     // likewise, above Label
	Ratio    float64 `json:"ratio"`  // of the median of Label to that of To
	Low      float64 `json:"low"`    // of the 95 % interval
	High     float64 `json:"high"`
	Interval bool    `json:"interval"` // false with fewer than 6 values on a side
	N        int     `json:"n"`        // on the side that has fewer
}

// mostLabels is the number of labels above which a map has too many pairs to choose from.
const mostLabels = 8

// collectMaps returns a map for each two numbers that vary independently of each other. seed seeds the bootstrap.
func collectMaps(results []store.Result, seed uint64) []Map {
	a, bootstrap := AxesOf(results), stats.NewBootstrap(seed)
	var maps []Map
	for i, along := range a.numbers {
		for _, against := range a.numbers[i+1:] {
			if m := a.heatMap(along, against, results, bootstrap); m != nil {
				maps = append(maps, *m)
			}
		}
	}
	return maps
}

// heatMap returns the map over two numbers, nil if no panel has several values of both.
func (a Axes) heatMap(along, against study.Number, results []store.Result, bootstrap *stats.Bootstrap) *Map {
	m := Map{Along: scaleOf(along, results), Against: scaleOf(against, results), Metrics: a.kind().followed}
	type spot struct{ at, against float64 }
	type panel struct {
		name  string
		cells map[spot]map[int]store.Result // by label
		order []spot
	}
	var panels []*panel
	byKey, labels := map[string]*panel{}, map[string]int{}
	for _, r := range results {
		var at spot
		var has [2]bool
		at.at, has[0] = along.Of(r.Cell)
		at.against, has[1] = against.Of(r.Cell)
		if !has[0] || !has[1] {
			continue
		}
		key, name := a.panel(r.Cell, along, against)
		p := byKey[key]
		if p == nil {
			p = &panel{name: name, cells: map[spot]map[int]store.Result{}}
			byKey[key], panels = p, append(panels, p)
		}
		label := place(&m.Labels, labels, a.Label(r.Cell, along.Axis, against.Axis))
		if p.cells[at] == nil {
			p.cells[at], p.order = map[int]store.Result{}, append(p.order, at)
		}
		p.cells[at][label] = r
	}
	if len(m.Labels) < 2 || len(m.Labels) > mostLabels {
		return nil
	}
	for _, p := range panels {
		columns, rows := map[float64]bool{}, map[float64]bool{}
		for _, s := range p.order {
			columns[s.at], rows[s.against] = true, true
		}
		if min(len(columns), len(rows)) < 2 || max(len(columns), len(rows)) < 3 || 2*len(p.order) < len(columns)*len(rows) {
			continue
		}
		drawn := MapPanel{Name: p.name}
		for _, s := range p.order {
			for _, spot := range a.spots(p.cells[s], m.Metrics, len(m.Labels), bootstrap) {
				spot.At, spot.Against = s.at, s.against
				drawn.Spots = append(drawn.Spots, spot)
			}
		}
		if len(drawn.Spots) > 0 {
			m.Panels = append(m.Panels, drawn)
		}
	}
	if len(m.Panels) == 0 {
		return nil
	}
	return &m
}

// spots compares each two of the cells at one place, by each metric that both have.
func (a Axes) spots(cells map[int]store.Result, metrics []string, labels int, bootstrap *stats.Bootstrap) []MapSpot {
	var spots []MapSpot
	for metric, name := range metrics {
		for label := range labels {
			for to := label + 1; to < labels; to++ {
				x, y := cells[label].Values[name], cells[to].Values[name]
				if !aboveZero(x) || !aboveZero(y) {
					continue
				}
				r := bootstrap.CompareRatio(x, y)
				spots = append(spots, MapSpot{Metric: metric, Label: label, To: to, Ratio: r.Value, Low: r.Low, High: r.High, Interval: r.Enough, N: min(len(x), len(y))})
			}
		}
	}
	return spots
}
