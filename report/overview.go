package report

import (
	"slices"
	"strconv"
	"strings"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Overview says which of the compared cells is best where: by each metric, at each place.
type Overview struct {
	Compared string           `json:"compared"` // in a sentence, such as "protocol"
	Labels   []string         `json:"labels"`   // of the cells that are compared, in the order of the study
	Facets   []Facet          `json:"facets"`   // by what places differ
	Metrics  []OverviewMetric `json:"metrics"`  // the most wanted one first
	Places   []Place          `json:"places"`   // in the order of Data.Sections: a place is about a section's cells

	many int // labels, where they are too many to compare: then there are no labels and no places
}

// mostLabels is the number of labels above which nothing is compared. mostPairs is the number of pairs above which only the best label of each
// place is compared with the others: no study of people has so many, but a stranger's store may.
const mostLabels, mostPairs = 40, 100_000

// OverviewMetric is a metric by which cells are compared.
type OverviewMetric struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	More  bool   `json:"more"` // more is better, as of a goodput
}

// Facet is something by which places differ: a number, such as the rate of their networks, or the names on an axis.
type Facet struct {
	ID     string   `json:"id"`     // of the number or the axis
	Name   string   `json:"name"`   // in a sentence
	Label  string   `json:"label"`  // of a chart's axis, with the unit
	Values []string `json:"values"` // numbers lowest first, names in the order of the study
	Number bool     `json:"number"`

	axis   study.Axis
	plural string         // in a sentence; of names
	index  map[string]int // of Values
}

// Place holds cells that differ in nothing but what is compared.
type Place struct {
	At        []int       `json:"at"`        // for each facet, the index of its value
	Cells     []int       `json:"cells"`     // the cell of each label; -1 for a label without a cell
	Standings []*Standing `json:"standings"` // for each metric; nil where no cell has a value
}

// Standing compares the cells of a place by one metric.
type Standing struct {
	Medians []*rounded    `json:"medians"` // for each label; nil where the cell has no value
	N       []int         `json:"n"`       // for each label, its values
	Pairs   []*[2]rounded `json:"pairs"`   // empty if the run has too many; else the 95 % intervals of the ratios of the medians: of label 0 to 1, 0 to 2, and so on, then of 1 to 2; nil with fewer than six values on a side
	Best    int           `json:"best"`    // the label with the best median
	Tied    []int         `json:"tied"`    // the labels that were not shown to be behind it
	Few     bool          `json:"few"`     // some label is tied because a side has fewer than six values
}

// rounded is a figure of which readers need no more than seven digits.
type rounded float64

// MarshalJSON writes the first seven digits.
func (r rounded) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(r), 'g', 7, 64), nil
}

// moreIsBetter says of which metrics a higher figure is the better one.
var moreIsBetter = map[string]bool{"goodput": true}

// overviewOf compares the results at each place by each of the metrics that some of them have. seed seeds the bootstrap.
func overviewOf(results []store.Result, metrics []study.Metric, wanted []string, seed uint64) Overview {
	a := AxesOf(results)
	o := Overview{Compared: a.contest(), Labels: []string{}, Facets: a.facets(results), Metrics: []OverviewMetric{}, Places: []Place{}}
	for _, name := range wanted {
		i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == name })
		if i >= 0 && slices.ContainsFunc(results, func(r store.Result) bool { return aboveZero(r.Values[name]) }) {
			o.Metrics = append(o.Metrics, OverviewMetric{name, metrics[i].Title, metrics[i].Unit, moreIsBetter[name]})
		}
	}
	labels, places := map[string]int{}, map[string]int{}
	for _, r := range results {
		place(&o.Labels, labels, a.column(r.Cell))
	}
	if o.many = len(o.Labels); o.many > mostLabels {
		o.Labels, o.Facets = []string{}, []Facet{}
		return o
	}
	for i, r := range results {
		label := place(&o.Labels, labels, a.column(r.Cell))
		key := a.sectionKey(r.Cell)
		p, known := places[key]
		if !known {
			p = len(o.Places)
			places[key] = p
			o.Places = append(o.Places, Place{At: atFacets(o.Facets, a, r.Cell)})
		}
		cells := &o.Places[p].Cells
		for len(*cells) <= label {
			*cells = append(*cells, -1)
		}
		(*cells)[label] = i
	}
	bootstrap, all := stats.NewBootstrap(seed), len(o.Places)*len(o.Metrics)*len(o.Labels)*(len(o.Labels)-1)/2 <= mostPairs
	for i := range o.Places {
		p := &o.Places[i]
		for len(p.Cells) < len(o.Labels) {
			p.Cells = append(p.Cells, -1)
		}
		for _, m := range o.Metrics {
			p.Standings = append(p.Standings, compareAt(p.Cells, results, m, all, bootstrap))
		}
	}
	return o
}

// compareAt compares the cells of a place, each two of them if all is set. It returns nil if none has a value. Figures that are not all above zero have no ratios, and are left out.
func compareAt(cells []int, results []store.Result, m OverviewMetric, all bool, bootstrap *stats.Bootstrap) *Standing {
	s := Standing{Best: -1, Tied: []int{}, Pairs: []*[2]rounded{}}
	values := make([][]float64, len(cells))
	for label, cell := range cells {
		if cell >= 0 && aboveZero(results[cell].Values[m.Name]) {
			values[label] = results[cell].Values[m.Name]
		}
		s.N = append(s.N, len(values[label]))
		if len(values[label]) == 0 {
			s.Medians = append(s.Medians, nil)
			continue
		}
		median := rounded(stats.Statistic(study.Median).Of(values[label]))
		s.Medians = append(s.Medians, &median)
		if s.Best < 0 || (median > *s.Medians[s.Best]) == m.More && median != *s.Medians[s.Best] {
			s.Best = label
		}
	}
	if s.Best < 0 {
		return nil
	}
	behind := make([]bool, len(cells)) // shown to be worse than the best
	for x := range cells {
		for y := x + 1; y < len(cells); y++ {
			if !all && x != s.Best && y != s.Best {
				continue
			}
			var interval *[2]rounded
			if len(values[x]) > 0 && len(values[y]) > 0 {
				if r := bootstrap.CompareRatio(values[x], values[y]); r.Enough {
					interval = &[2]rounded{rounded(r.Low), rounded(r.High)}
					behind[x] = behind[x] || y == s.Best && (m.More && r.High < 1 || !m.More && r.Low > 1)
					behind[y] = behind[y] || x == s.Best && (m.More && r.Low > 1 || !m.More && r.High < 1)
				} else if x == s.Best || y == s.Best {
					s.Few = true
				}
			}
			if all {
				s.Pairs = append(s.Pairs, interval)
			}
		}
	}
	for label := range cells {
		if label != s.Best && len(values[label]) > 0 && !behind[label] {
			s.Tied = append(s.Tied, label)
		}
	}
	return &s
}

// next returns the label with the best median after the best one, or false if the place has no other.
func (s *Standing) next(more bool) (label int, ok bool) {
	label = -1
	for l, median := range s.Medians {
		if l == s.Best || median == nil {
			continue
		}
		if label < 0 || (*median > *s.Medians[label]) == more && *median != *s.Medians[label] {
			label = l
		}
	}
	return label, label >= 0
}

// contest names what is compared in a sentence: the axes that name the columns and vary.
func (a Axes) contest() string {
	if len(a.labelled) == 0 {
		return a.Compared()
	}
	var words []string
	for _, axis := range a.labelled {
		words = append(words, axis.Noun())
	}
	return strings.Join(words, " and ")
}

// facets returns by what the places of a run differ.
func (a Axes) facets(results []store.Result) []Facet {
	facets := []Facet{}
	for _, info := range a.Workload.Axes {
		varies := slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.On(info.Axis) != results[0].Cell.On(info.Axis) })
		if !varies || slices.Contains(a.compared, info.Axis) || slices.Contains(a.labelled, info.Axis) {
			continue
		}
		if numbers := a.numberFacets(info.Axis, results); numbers != nil {
			facets = append(facets, numbers...)
			continue
		}
		f := Facet{ID: string(info.Axis), Name: info.Axis.Noun(), axis: info.Axis, plural: info.Plural}
		f.Label = strings.ToUpper(f.Name[:1]) + f.Name[1:]
		f.index = map[string]int{}
		for _, r := range results {
			place(&f.Values, f.index, r.Cell.On(info.Axis))
		}
		facets = append(facets, f)
	}
	return facets
}

// numberFacets returns the numbers that tell the values of an axis apart. It returns nil if they do not, or if they fill less than half
// of the grid that they span: names are then the better choice.
func (a Axes) numberFacets(axis study.Axis, results []store.Result) []Facet {
	numbers := slices.DeleteFunc(slices.Clone(a.numbers), func(n study.Number) bool { return n.Axis != axis })
	if len(numbers) == 0 {
		return nil
	}
	values, spots := map[string]bool{}, map[string]bool{}
	rest := ""
	for i, r := range results {
		word := r.Cell.On(axis)
		if values[word] {
			continue
		}
		values[word] = true
		var spot []string
		for _, n := range numbers {
			if _, ok := n.Of(r.Cell); !ok {
				return nil
			}
			spot = append(spot, n.Word(r.Cell))
		}
		spots[strings.Join(spot, "\x00")] = true
		beside := study.Beside(r.Cell, numbers...)
		if i > 0 && beside != rest {
			return nil
		}
		rest = beside
	}
	grid := 1
	var facets []Facet
	for _, n := range numbers {
		f := Facet{ID: n.ID, Name: n.Name, Label: n.Label, Number: true, axis: axis, index: map[string]int{}}
		for _, t := range scaleOf(n, results).Ticks {
			place(&f.Values, f.index, t.Word)
		}
		facets, grid = append(facets, f), grid*len(f.Values)
	}
	if len(spots) < len(values) || 2*len(values) < grid {
		return nil
	}
	return facets
}

// atFacets returns the index of a cell's value on each facet.
func atFacets(facets []Facet, a Axes, c study.Cell) []int {
	at := make([]int, len(facets))
	for i, f := range facets {
		word := c.On(f.axis)
		if f.Number {
			n, _ := a.Workload.Number(f.ID)
			word = n.Word(c)
		}
		at[i] = f.index[word]
	}
	return at
}
