package compare

import (
	"cmp"
	"fmt"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Alpha is the probability with which a comparison of two sides that do not differ calls any of its figures different.
const Alpha = 0.05

// Figure is what is compared of each pair of cells: a statistic of a metric.
type Figure struct {
	Metric    string          `json:"metric"`
	Statistic stats.Statistic `json:"statistic"`
}

// How p-values are adjusted for their number.
const (
	AdjustHolm = "holm" // so that no difference at all is false with a probability of 1 - Alpha
	AdjustFDR  = "fdr"  // so that of the differences a share of at most Alpha is false, on average
)

// Config says what is compared, and how.
type Config struct {
	Figures []Figure // none: the median of the first of Headlines that a pair of cells has
	Margin  float64  // share of the first side's figure within which the two count as the same; 0: equality is not decided
	// ChangedSites says that sites with the same name may have another content, because that is what is compared.
	ChangedSites bool
	Adjust       string  // how p-values are adjusted for their number: AdjustHolm, or AdjustFDR; empty: AdjustHolm
	Alpha        float64 // 0: Alpha
	Repeats      int     // only the first so many repeats count; 0: all
}

// The verdicts.
const (
	Identical  = "identical"   // on the virtual clock: the figure is the same in each load, to the last bit
	Same       = "same"        // the interval lies within the margin
	Faster     = "faster"      // of the second side, if the figure is a time
	Slower     = "slower"      // likewise
	Lower      = "lower"       // of the second side, if it is another figure
	Higher     = "higher"      // likewise
	NotDecided = "not decided" // the interval and the test leave it open
	TooFew     = "too few"     // one of the cells has too few loads for an interval
	Refused    = "refused"     // the cells cannot be compared
)

// Pair is a figure of two cells that are compared.
type Pair struct {
	Cell   string `json:"cell"` // what the cells have in common and others do not
	KeyA   string `json:"key_a"`
	KeyB   string `json:"key_b"`
	Figure        // of both
	Title  string `json:"title"` // of the metric
	Unit   string `json:"unit"`

	NA      int     `json:"n_a"`
	NB      int     `json:"n_b"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Value   float64 `json:"difference"` // B - A, with its interval
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Percent float64 `json:"percent"` // of A; 0 without Relative
	PLow    float64 `json:"percent_low"`
	PHigh   float64 `json:"percent_high"`

	Relative bool    `json:"relative"` // all values are positive, so that the percentages mean something
	Interval bool    `json:"interval"` // there are enough values for the intervals
	Level    float64 `json:"level"`    // of the intervals, such as 0.95
	Delta    float64 `json:"cliffs_delta"`
	Effect   string  `json:"effect"`
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"` // for the number of figures that are compared

	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`    // of Refused and TooFew
	Needed  int    `json:"needed,omitempty"` // of NotDecided: how many loads on each side would probably decide; 0: too many to say
	Look    int    `json:"look,omitempty"`   // of a comparison that looks several times: at which look this was decided

	x, y []float64
}

// Compared reports whether the figures of both cells were compared.
func (p Pair) Compared() bool { return p.Verdict != Refused && p.Verdict != TooFew }

// Decided reports whether there is an answer that further loads would not be needed for.
func (p Pair) Decided() bool { return p.Compared() && p.Verdict != NotDecided }

// Comparison is what became of comparing two sides.
type Comparison struct {
	A      About    `json:"a"`
	B      About    `json:"b"`
	By     []By     `json:"by"` // the axes on which the sides differ as a whole
	Margin float64  `json:"margin"`
	Alpha  float64  `json:"alpha"`
	Adjust string   `json:"adjust"` // AdjustHolm or AdjustFDR
	Tests  int      `json:"tests"`  // for which p-values are adjusted
	Notes  []string `json:"notes"`
	Pairs  []Pair   `json:"pairs"` // figure by figure, in the order of the first side's cells
	OnlyA  []string `json:"only_a"`
	OnlyB  []string `json:"only_b"`

	Identity Identity `json:"identity"`
	Rules    []Judged `json:"rules,omitempty"`
	Looks    int      `json:"looks,omitempty"` // of a comparison that looks several times: how often it has
}

// About says what a side is.
type About struct {
	Name  string `json:"name"`
	Store string `json:"store"`
	Run   int64  `json:"run"`
	Study string `json:"study"`
	Cells int    `json:"cells"`
}

// Headlines are the metrics that are compared unless others are named: the first that a pair of cells has.
var Headlines = []string{"upload_time", "onload", "ttd", "loading_delay", "plt", "took"}

// Compare compares two sides. seed seeds the bootstrap. It is an error if a figure has a metric that neither run has, or if the sides are not of
// a kind that can be compared; what cannot be compared of two cells is in the result.
func Compare(a, b Side, c Config, seed uint64) (*Comparison, error) {
	compared, err := comparedAxes(a, b)
	if err != nil {
		return nil, err
	}
	c.Alpha, c.Adjust = cmp.Or(c.Alpha, Alpha), cmp.Or(c.Adjust, AdjustHolm)
	pairs, onlyA, onlyB := pairUp(a, b, compared)
	j := &judge{a: a, b: b, config: c, compared: compared, bootstrap: stats.NewBootstrap(seed), noted: map[string]bool{}}
	result := &Comparison{
		A: about(a), B: about(b), By: []By{}, Margin: c.Margin, Alpha: c.Alpha, Adjust: c.Adjust, OnlyA: onlyA, OnlyB: onlyB, Notes: describe(a, b, pairs),
	}
	for _, axis := range compared {
		result.By = append(result.By, By{string(axis), a.values(axis)[0], b.values(axis)[0]})
	}
	samples := make([]sample, len(pairs))
	for i := range pairs {
		if samples[i], err = j.read(&pairs[i]); err != nil {
			return nil, err
		}
		result.Identity.add(samples[i].identity)
	}
	if len(c.Figures) == 0 {
		c.Figures = []Figure{{j.headline(pairs, samples), study.Median}}
	}
	for _, f := range c.Figures {
		_, inA := a.metric(f.Metric)
		if _, inB := b.metric(f.Metric); !inA && !inB {
			return nil, fmt.Errorf("compare %s: neither run has a metric of that name; 'wiretime export json' lists a run's metrics", f.Metric)
		}
		for i, p := range pairs {
			result.Pairs = append(result.Pairs, j.measure(f, p, samples[i]))
		}
	}
	result.Tests = j.decide(result.Pairs)
	for i, p := range result.Pairs {
		if p.Verdict == NotDecided {
			result.Pairs[i].Needed = j.needed(p, result.Tests)
		}
	}
	result.Notes = append(result.Notes, j.notes...)
	return result, nil
}

// By is an axis on which the sides differ as a whole, with the value of each.
type By struct {
	Axis string `json:"axis"`
	A    string `json:"a"`
	B    string `json:"b"`
}

func about(s Side) About {
	return About{Name: s.Name, Store: s.Store.Dir(), Run: s.Run.ID, Study: s.Run.StudyName, Cells: len(s.results)}
}

// headline returns the first of Headlines that cells of both sides have; if no cells have one, the first that the runs have.
func (j *judge) headline(pairs []cells, samples []sample) string {
	for _, name := range Headlines {
		for i, p := range pairs {
			if p.refused == "" && len(samples[i].of(name, true)) > 0 && len(samples[i].of(name, false)) > 0 {
				return name
			}
		}
	}
	for _, name := range Headlines {
		if _, ok := j.a.metric(name); ok {
			return name
		}
	}
	return Headlines[0]
}

// sample is what the valid loads of two cells measured, by repeat.
type sample struct {
	a, b     []store.Load
	identity Identity
}

// of returns the values of a metric on one side, in the order of the plan.
func (s sample) of(metric string, first bool) []float64 {
	loads := s.b
	if first {
		loads = s.a
	}
	var values []float64
	for _, l := range loads {
		if v, ok := l.Values[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// judge compares the cells of two sides.
type judge struct {
	a, b      Side
	config    Config
	compared  []study.Axis
	bootstrap *stats.Bootstrap
	notes     []string
	noted     map[string]bool
}

func (j *judge) sameRun() bool { return j.a.Store.Dir() == j.b.Store.Dir() && j.a.Run.ID == j.b.Run.ID }

func (j *judge) note(text string) {
	if text != "" && !j.noted[text] {
		j.noted[text] = true
		j.notes = append(j.notes, text)
	}
}

// read reads the valid loads of two cells, and refuses cells whose sites have another content.
func (j *judge) read(p *cells) (s sample, err error) {
	var made [2]map[string]string
	for i, side := range []struct {
		Side
		cell  study.Cell
		loads *[]store.Load
	}{{j.a, p.a.Cell, &s.a}, {j.b, p.b.Cell, &s.b}} {
		loads, err := side.Store.LoadsOf(side.Run.ID, side.cell)
		if err != nil {
			return s, err
		}
		*side.loads = slices.DeleteFunc(loads, func(l store.Load) bool {
			return l.Validity != store.Valid || j.config.Repeats > 0 && l.Repeat >= j.config.Repeats
		})
		if made[i], err = making(side.Store, loads); err != nil {
			return s, err
		}
	}
	for _, text := range differentPrograms(made[0], made[1]) {
		j.note(text)
	}
	if p.refused == "" && !j.sameRun() && !j.config.ChangedSites && !slices.Contains(j.compared, study.AxisSite) && p.a.Cell.Workload.Has(study.AxisSite) {
		was, is := siteOf(j.a, p.a.Cell, made[0]), siteOf(j.b, p.b.Cell, made[1])
		switch site := p.a.Cell.On(study.AxisSite); {
		case was == "" || is == "":
			j.note(fmt.Sprintf("A run does not say what site %s contained; if it has changed since, the comparison means little.", site))
		case was != is:
			p.refused = fmt.Sprintf("the site %s has another content; --changed-sites compares all the same", site)
		}
	}
	if p.refused == "" && p.a.Cell.Clock() == study.ClockVirtual {
		s.identity, err = identityOf(j.a.Store, j.b.Store, s.a, s.b)
	}
	return s, err
}

// measure compares a figure of two cells, but for the verdict.
func (j *judge) measure(f Figure, c cells, s sample) Pair {
	m, ok := j.a.metric(f.Metric)
	if !ok {
		m, _ = j.b.metric(f.Metric)
	}
	p := Pair{Cell: c.label, KeyA: c.a.Cell.Key(), KeyB: c.b.Cell.Key(), Figure: f, Title: m.Title, Unit: m.Unit, Level: 1 - j.config.Alpha}
	refused, note := differentMetric(j.a, j.b, f.Metric)
	if c.refused != "" || refused != "" {
		p.Verdict, p.Why = Refused, c.refused
		if c.refused == "" {
			p.Why = refused
		}
		return p
	}
	j.note(note)
	p.x, p.y = s.of(f.Metric, true), s.of(f.Metric, false)
	if c.a.Cell.Clock() == study.ClockVirtual && equalLoads(s.a, s.b, f.Metric) {
		p.Verdict = Identical
	}
	j.test(&p)
	return p
}

// test finds the statistics, the interval and the p-value of a pair's samples.
func (j *judge) test(p *Pair) {
	p.NA, p.NB = len(p.x), len(p.y)
	shift := j.bootstrap.Shift(p.x, p.y, p.Statistic, p.Level)
	p.A, p.B, p.Value, p.Low, p.High = shift.From, shift.To, shift.Value, shift.Low, shift.High
	p.Percent, p.PLow, p.PHigh = 100*shift.Share, 100*shift.ShareLow, 100*shift.ShareHigh
	p.Relative, p.Interval = shift.Relative, shift.Enough
	p.P, p.Adjusted = 1, 1
	switch {
	case p.Verdict == Identical:
		return
	case !p.Interval:
		p.Verdict, p.Why = TooFew, j.tooFew(p.Figure, p.NA, p.NB)
		return
	}
	p.Delta = stats.CliffsDelta(p.x, p.y)
	p.Effect = stats.EffectSize(p.Delta)
	if p.Statistic == study.Median {
		p.P = stats.RankTest(p.x, p.y)
	} else {
		p.P = j.bootstrap.PermutationTest(p.x, p.y, p.Statistic)
	}
}

func (j *judge) tooFew(f Figure, a, b int) string {
	least := f.Statistic.Fewest(1 - j.config.Alpha)
	switch {
	case a == 0 || b == 0:
		return fmt.Sprintf("%d and %d loads have the figure", a, b)
	case least == 0:
		return fmt.Sprintf("no number of loads gives an interval of a %s", f.Statistic)
	}
	return fmt.Sprintf("%d and %d loads; %d on each side are needed", a, b, least)
}

// decide adjusts the p-values and gives the verdicts that are still open. It returns the number of tests.
func (j *judge) decide(pairs []Pair) (tests int) {
	var open []*Pair
	var p []float64
	for i := range pairs {
		if pairs[i].Verdict == "" {
			open, p = append(open, &pairs[i]), append(p, pairs[i].P)
		}
	}
	adjust := stats.Holm
	if j.config.Adjust == AdjustFDR {
		adjust = stats.FalseDiscovery
	}
	for i, adjusted := range adjust(p) {
		open[i].Adjusted = adjusted
		open[i].Verdict = j.verdict(*open[i])
	}
	return len(open)
}

// verdict decides a pair by its interval and its adjusted p-value, which must agree: the test holds what it promises for cells that do
// not differ at all, the interval says that it is this statistic which differs.
func (j *judge) verdict(p Pair) string {
	within := 100 * j.config.Margin
	switch {
	case p.Low == 0 && p.High == 0 || p.Relative && within > 0 && -within <= p.PLow && p.PHigh <= within:
		return Same
	case p.Adjusted > j.config.Alpha:
		return NotDecided
	case p.Low > 0:
		return direction(p.Unit, Slower, Higher)
	case p.High < 0:
		return direction(p.Unit, Faster, Lower)
	}
	return NotDecided
}

func direction(unit, time, other string) string {
	if unit == "ms" || unit == "us" {
		return time
	}
	return other
}

// farthest is how many times as many loads as there are Needed may ask for: beyond that, the samples say too little about it.
const farthest = 20

func (j *judge) needed(p Pair, tests int) int {
	smallest := func(n int) float64 { return stats.SmallestRankP(n, n) }
	if p.Statistic != study.Median {
		smallest = func(int) float64 { return stats.SmallestPermutationP }
	}
	if j.config.Adjust == AdjustFDR {
		tests = 1
	}
	d := stats.Decision{Of: p.Statistic, Alpha: j.config.Alpha / float64(tests), Level: p.Level, Margin: j.config.Margin, SmallestP: smallest}
	return j.bootstrap.Needed(p.x, p.y, d, farthest*max(p.NA, p.NB))
}
