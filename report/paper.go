package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Printed is a table from a paper, with what was measured beside it.
type Printed struct {
	Source    string          `json:"source"`
	Statistic string          `json:"statistic"` // of the loads, or of each session's loads, such as "mean"
	Metric    string          `json:"metric"`
	Unit      string          `json:"unit"`  // of the table
	Scale     float64         `json:"scale"` // how many of the metric's unit that is
	Rows      []string        `json:"rows"`
	Columns   []string        `json:"columns"`
	Figures   []PrintedFigure `json:"figures"` // row by row; none where the paper has none
}

// PrintedFigure is one figure of such a table.
type PrintedFigure struct {
	Row     int     `json:"row"` // of Printed.Rows
	Column  int     `json:"column"`
	Printed string  `json:"printed"` // as the paper has it
	Value   float64 `json:"value"`   // in the metric's unit
	Ratio   float64 `json:"ratio"`   // of the measured figure to Value; 0 if nothing was measured
	// Here is the measured figure: the table's statistic or, for sessions, the median of each session's statistic.
	Here stats.Estimate `json:"here"`
}

// CompareTables puts what was measured beside the figures that papers printed. It returns nil if
// there are none. seed seeds the bootstrap.
func CompareTables(results []store.Result, published []store.Figure, seed uint64) []Printed {
	found, bootstrap := newSamples(results), stats.NewBootstrap(seed)
	var tables []Printed
	var rows, columns map[string]int // the indices of the last table's labels
	number := 0
	for _, f := range published {
		if f.Table != number {
			number = f.Table
			tables = append(tables, Printed{Source: f.Source, Statistic: f.Statistic, Metric: f.Metric, Unit: f.Unit})
			rows, columns = map[string]int{}, map[string]int{}
		}
		table := &tables[len(tables)-1]
		measured := found.of(f.Cell, f.Loads, f.Metric, f.Statistic)
		figure := PrintedFigure{Row: place(&table.Rows, rows, f.RowLabel), Column: place(&table.Columns, columns, f.ColumnLabel),
			Printed: f.Printed, Value: f.Value, Here: bootstrap.Estimate(measured.values, measured.statistic)}
		if printed, err := strconv.ParseFloat(f.Printed, 64); err == nil && printed > 0 {
			table.Scale = f.Value / printed
		}
		if figure.Here.N > 0 {
			figure.Ratio = figure.Here.Value / f.Value
		}
		table.Figures = append(table.Figures, figure)
	}
	return tables
}

// place returns the index of a label in labels, and adds it if it is missing.
func place(labels *[]string, indices map[string]int, label string) int {
	i, known := indices[label]
	if !known {
		i = len(*labels)
		*labels = append(*labels, label)
		indices[label] = i
	}
	return i
}

// The outcomes of a claim for one pair of cells.
const (
	Held       = "held"         // the interval of the ratio lies in the claimed range
	Refuted    = "refuted"      // it lies outside
	Undecided  = "not decided"  // it lies in both, or a side has too few values for one
	Unmeasured = "not measured" // on a side no valid load has the metric, or one of the values is 0 or less
)

// Claim is a claim about the cells, and its outcome.
type Claim struct {
	Text    string      `json:"text"`
	Test    string      `json:"test"`          // what was tested, in words
	Per     string      `json:"per,omitempty"` // of a claim of growth: follows the figures of its pairs, as in "per step"
	Pairs   []ClaimPair `json:"pairs"`
	Verdict string      `json:"verdict"` // in how many pairs it held, and where not
}

// ClaimPair is two cells that a claim compares. Of a claim of growth it is all pairs of cells along the claim's number; Ratio is then
// the mean change from one to the next (stats.Trend), a factor or a difference in the metric's unit.
type ClaimPair struct {
	Name     string  `json:"name"`     // what distinguishes the pair from the claim's others; empty if there are none
	Ratio    float64 `json:"ratio"`    // of the first's statistic to the second's; 0 where a side has none
	Interval bool    `json:"interval"` // whether [Low, High] is a 95 % bootstrap interval of Ratio; false with fewer than 6 values on a side
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Outcome  string  `json:"outcome"`         // Held, Refuted, Undecided or Unmeasured
	Steps    string  `json:"steps,omitempty"` // of a claim of growth: at how many steps it rises and falls
}

// JudgeClaims tests the claims against the results. seed seeds the bootstrap. The two sides of a ratio are taken as independent samples,
// even within one cell.
func JudgeClaims(results []store.Result, metrics []study.Metric, claims []store.Claim, seed uint64) []Claim {
	found, bootstrap := newSamples(results), stats.NewBootstrap(seed)
	var judged []Claim
	for _, c := range claims {
		j := Claim{Text: c.Text, Test: describeTest(c, metrics)}
		var sides [][2]sample
		for _, p := range c.Pairs {
			sides = append(sides, [2]sample{found.of(p.Cell, p.Loads, p.Metric, c.Statistic), found.of(p.ToCell, p.ToLoads, p.ToMetric, c.Statistic)})
		}
		if c.Along != "" {
			j.grow(results, c, sides, metrics, bootstrap)
			judged = append(judged, j)
			continue
		}
		names, noun := pairNames(sides)
		for i, s := range sides {
			pair := ClaimPair{Name: names[i], Outcome: Unmeasured}
			if aboveZero(s[0].values) && aboveZero(s[1].values) {
				r := bootstrap.CompareRatioOf(s[0].values, s[0].statistic, s[1].values, s[1].statistic)
				pair.Ratio, pair.Low, pair.High, pair.Interval = r.Value, r.Low, r.High, r.Enough
				pair.Outcome = outcome(c, r)
			}
			j.Pairs = append(j.Pairs, pair)
		}
		j.Verdict = verdict(j.Pairs, noun)
		j.together(c, noun)
		judged = append(judged, j)
	}
	return judged
}

// StatisticName names a statistic in a sentence, before the metric: "mean", "maximum", "p95 of".
func StatisticName(statistic string) string {
	if _, ok := study.Percentile(statistic); ok {
		return statistic + " of"
	}
	if word, ok := map[string]string{study.Min: "minimum", study.Max: "maximum"}[statistic]; ok {
		return word
	}
	return statistic
}

func aboveZero(values []float64) bool { return len(values) > 0 && slices.Min(values) > 0 }

// outcome compares the interval of a ratio with the claimed range.
func outcome(c store.Claim, r stats.Ratio) string {
	below := func(a, b float64) bool { return a < b || a == b && !c.Open }
	switch {
	case !r.Enough:
		return Undecided
	case below(c.Low, r.Low) && below(r.High, c.High):
		return Held
	case !below(c.Low, r.High) || !below(r.Low, c.High):
		return Refuted
	}
	return Undecided
}

// describeTest describes a claim's ratio and the range that is claimed for it.
func describeTest(c store.Claim, metrics []study.Metric) string {
	return strings.TrimSpace("ratio " + figures(c, metrics, "to") + c.Ratio)
}

// figures names the figures that a claim compares, with a word between those of the two sides: "of onLoad ", "of DCL to onLoad ".
func figures(c store.Claim, metrics []study.Metric, between string) string {
	title := func(name string) string {
		for _, m := range metrics {
			if m.Name == name {
				return m.Title
			}
		}
		return name
	}
	if len(c.Pairs) == 0 {
		return ""
	}
	p, of := c.Pairs[0], ""
	if c.Statistic != study.Median && c.Statistic != "" {
		of = StatisticName(c.Statistic) + " "
	}
	if p.Metric == p.ToMetric {
		return fmt.Sprintf("of %s%s ", of, title(p.Metric))
	}
	return fmt.Sprintf("of %s%s %s %s%s ", of, title(p.Metric), between, of, title(p.ToMetric))
}

// pairNames names each pair by the axes on which the pairs differ, and returns a noun for these
// names, such as "sites".
func pairNames(pairs [][2]sample) (names []string, noun string) {
	first := func(p [2]sample) study.Cell { return p[0].cell }
	second := func(p [2]sample) study.Cell { return p[1].cell }
	varies := func(side func([2]sample) study.Cell, axis study.Axis) bool {
		return slices.ContainsFunc(pairs, func(p [2]sample) bool { return side(p).On(axis) != side(pairs[0]).On(axis) })
	}
	words := make([][]string, len(pairs))
	var nouns []string
	var axes []study.AxisInfo
	if len(pairs) > 0 {
		axes = first(pairs[0]).Workload.Axes
	}
	for _, info := range axes {
		axis := info.Axis
		switch {
		case varies(first, axis):
			nouns = append(nouns, info.Plural)
			for i, p := range pairs {
				words[i] = append(words[i], spoken(first(p), axis))
			}
			if differ := func(p [2]sample) bool { return first(p).On(axis) != second(p).On(axis) }; varies(second, axis) && slices.ContainsFunc(pairs, differ) {
				nouns = append(nouns, "those that they are compared with")
				for i, p := range pairs {
					words[i] = append(words[i], "to "+spoken(second(p), axis))
				}
			}
		case varies(second, axis):
			nouns = append(nouns, info.Plural)
			for i, p := range pairs {
				words[i] = append(words[i], "to "+spoken(second(p), axis))
			}
		}
	}
	names = make([]string, len(pairs))
	for i := range names {
		names[i] = strings.Join(words[i], " ")
	}
	noun = "pairs of cells"
	if len(nouns) == 1 {
		noun = nouns[0]
	}
	return names, noun
}

// verdict says in how many pairs a claim held, and in how many it did not.
func verdict(pairs []ClaimPair, noun string) string {
	if len(pairs) == 1 {
		return pairs[0].Outcome
	}
	where := map[string][]string{}
	for _, p := range pairs {
		where[p.Outcome] = append(where[p.Outcome], p.Name)
	}
	words := fmt.Sprintf("held in %d of %d %s", len(where[Held]), len(pairs), noun)
	if len(where[Held]) == len(pairs) {
		words = fmt.Sprintf("held in all %d %s", len(pairs), noun)
	}
	for _, outcome := range []string{Refuted, Undecided, Unmeasured} {
		switch names := where[outcome]; {
		case len(names) == 0:
		case len(names) == len(pairs):
			return fmt.Sprintf("%s in all %d %s", outcome, len(pairs), noun)
		default:
			words += fmt.Sprintf(", %s in %d", outcome, len(names))
		}
	}
	return words
}

func cellsByKey(results []store.Result) map[string]int {
	cells := make(map[string]int, len(results))
	for i, r := range results {
		cells[r.Cell.Key()] = i
	}
	return cells
}
