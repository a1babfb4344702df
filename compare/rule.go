package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"wiretime/stats"
	"wiretime/study"
)

// Rule says when a comparison fails: where a figure of the second side lies beyond a bound, counted from the first side's.
type Rule struct {
	Text   string // as it was written
	Figure Figure
	Above  bool    // fails above Bound; else below it
	Bound  float64 // in percent of the first side's figure, or in the metric's unit
	Share  bool    // Bound is in percent
	unit   string  // that was written with Bound; empty with Share
}

// ParseRule reads a rule: METRIC, perhaps a STATISTIC, > or <, and a signed number of percent or of the metric's unit, as in
// "onload p50 > +3%", "bytes_down mean > 5000 B" or "plt < -20 ms".
func ParseRule(text string) (Rule, error) {
	fail := func(what string) (Rule, error) {
		return Rule{}, fmt.Errorf("read the rule %.60q: %s; want METRIC [STATISTIC] > or < a signed bound, as in 'onload p50 > +3%%' or 'plt median < -20 ms'", text, what)
	}
	r := Rule{Text: strings.Join(strings.Fields(text), " ")}
	i := strings.IndexAny(text, "<>")
	if i < 0 {
		return fail("it has neither > nor <")
	}
	r.Above = text[i] == '>'
	words := strings.Fields(text[:i])
	if len(words) < 1 || len(words) > 2 {
		return fail("a metric and at most a statistic come before the sign")
	}
	statistic := study.Median
	if len(words) == 2 {
		statistic = words[1]
	}
	var err error
	if r.Figure, err = ParseFigure(words[0], statistic); err != nil {
		return fail(err.Error())
	}
	bound := strings.TrimSpace(text[i+1:])
	end := strings.LastIndexAny(bound, "0123456789.") + 1
	if r.Bound, err = strconv.ParseFloat(bound[:end], 64); err != nil || math.IsInf(r.Bound, 0) || math.IsNaN(r.Bound) {
		return fail(fmt.Sprintf("invalid bound %.20q", bound))
	}
	switch unit := strings.TrimSpace(bound[end:]); unit {
	case "%":
		r.Share = true
	case "":
		return fail("the bound has no unit")
	default:
		r.unit = unit
	}
	return r, nil
}

// ParseFigure checks a metric's name and a statistic. The statistic p50 is the median.
func ParseFigure(metric, statistic string) (Figure, error) {
	if err := study.CheckStatistic(statistic); err != nil {
		return Figure{}, err
	}
	if statistic == "p50" {
		statistic = study.Median
	}
	if strings.Trim(metric, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return Figure{}, fmt.Errorf("invalid metric %.40q", metric)
	}
	return Figure{metric, stats.Statistic(statistic)}, nil
}

// What became of a rule for one pair of cells.
const (
	Broken      = "broken" // the whole interval lies beyond the bound
	Kept        = "kept"   // the whole interval lies on this side of it
	NotCompared = "not compared"
	// NotDecided: the interval lies on both sides, or the test leaves open whether the cells differ at all.
)

// Judge applies the rule to a pair of its figure.
func (r Rule) Judge(p Pair) string {
	low, high, ok := p.Low, p.High, p.Interval
	if r.Share {
		low, high, ok = p.PLow, p.PHigh, ok && p.Relative
	}
	if p.Verdict == Identical {
		low, high, ok = 0, 0, true
	}
	if !p.Compared() || !ok {
		return NotCompared
	}
	bound := r.Bound
	if !r.Above { // mirrored, the rule is one of the other kind
		low, high, bound = -high, -low, -bound
	}
	switch {
	case high <= bound:
		return Kept
	case low > bound && (bound < 0 || p.Adjusted <= 1-p.Level):
		return Broken
	}
	return NotDecided
}

// Judged is what became of a rule.
type Judged struct {
	Rule     string    `json:"rule"`
	Outcomes []Outcome `json:"outcomes"`
}

// Outcome is what became of a rule for a pair of cells.
type Outcome struct {
	Pair    int    `json:"pair"`    // of Comparison.Pairs, from 0
	Outcome string `json:"outcome"` // Broken, Kept, NotDecided or NotCompared
}

// Apply applies rules to all pairs of their figures. It is an error if the bound of one has another unit than its metric.
func (c *Comparison) Apply(rules []Rule) error {
	for _, r := range rules {
		judged := Judged{Rule: r.Text, Outcomes: []Outcome{}}
		for i, p := range c.Pairs {
			if p.Figure != r.Figure {
				continue
			}
			if !r.Share && r.unit != p.Unit {
				return fmt.Errorf("apply the rule %q: %s is in %s, not in %s; write the bound in %s or %%", r.Text, p.Metric, p.Unit, r.unit, p.Unit)
			}
			judged.Outcomes = append(judged.Outcomes, Outcome{i, r.Judge(p)})
		}
		c.Rules = append(c.Rules, judged)
	}
	return nil
}

// Count returns in how many pairs of cells the rule has an outcome.
func (j Judged) Count(outcome string) (n int) {
	for _, o := range j.Outcomes {
		if o.Outcome == outcome {
			n++
		}
	}
	return n
}

// Verdict returns an error if a rule is broken or, with undecided, if it is not known to be kept everywhere. A rule that was applied to no
// cell at all is an error in any case: nothing says that it is kept.
func (c *Comparison) Verdict(undecided bool) error {
	var said []string
	for _, j := range c.Rules {
		broken, open, not := j.Count(Broken), j.Count(NotDecided), j.Count(NotCompared)
		switch {
		case broken > 0:
			said = append(said, fmt.Sprintf("%s is true in %d of %d cells", j.Rule, broken, len(j.Outcomes)))
		case not == len(j.Outcomes):
			said = append(said, fmt.Sprintf("%s could be checked in none of %d cells", j.Rule, len(j.Outcomes)))
		case undecided && open+not > 0:
			said = append(said, fmt.Sprintf("%s is not decided in %d of %d cells", j.Rule, open+not, len(j.Outcomes)))
		}
	}
	if len(said) > 0 {
		return fmt.Errorf("compare %s with %s: %s", c.A.Name, c.B.Name, strings.Join(said, "; "))
	}
	return nil
}
