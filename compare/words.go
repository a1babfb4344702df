package compare

import (
	"fmt"
	"math"
	"strings"

	"wiretime/english"
	"wiretime/study"
)

// title names a figure, as in "onLoad" and "p95 of onLoad".
func (p Pair) title() string {
	switch p.Statistic {
	case study.Median:
		return p.Title
	case study.Mean, study.Min, study.Max:
		return string(p.Statistic) + " " + p.Title
	}
	return string(p.Statistic) + " of " + p.Title
}

// number writes a figure with the digits that its unit deserves.
func (p Pair) number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case p.Unit == "ms" && math.Abs(v) < 10:
		return fmt.Sprintf("%.2f", v)
	case p.Unit == "ms" && math.Abs(v) < 1000:
		return fmt.Sprintf("%.1f", v)
	case p.Unit == "ms", v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// sample writes a side's figure, "-" without one.
func (p Pair) sample(v float64, n int) string {
	if n == 0 {
		return "-"
	}
	return p.number(v)
}

// difference writes the difference with its interval.
func (p Pair) difference() string {
	if p.Verdict == Refused || p.NA == 0 || p.NB == 0 {
		return "-"
	}
	text := signed(p.number(p.Value), p.Value)
	if p.Interval && p.Verdict != Identical {
		text += fmt.Sprintf(" [%s..%s]", signed(p.number(p.Low), p.Low), signed(p.number(p.High), p.High))
	}
	return text
}

// percent writes the difference in percent with its interval.
func (p Pair) percent() string {
	if p.Verdict == Refused || p.NA == 0 || p.NB == 0 || !p.Relative {
		return "-"
	}
	text := fmt.Sprintf("%+.1f", p.Percent)
	if p.Interval && p.Verdict != Identical {
		text += fmt.Sprintf(" [%+.1f..%+.1f]", p.PLow, p.PHigh)
	}
	return text
}

func signed(text string, v float64) string {
	if v > 0 {
		return "+" + text
	}
	return text
}

// effect writes Cliff's delta with its word.
func (p Pair) effect() string {
	if !p.Compared() || p.Verdict == Identical {
		return "-"
	}
	return fmt.Sprintf("%+.2f %s", p.Delta, p.Effect)
}

// p writes the adjusted p-value.
func (p Pair) chance() string {
	switch {
	case !p.Compared() || p.Verdict == Identical:
		return "-"
	case p.Adjusted < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p.Adjusted)
}

// verdict writes the verdict, with what is to be done about an open one.
func (c *Comparison) verdict(p Pair) string {
	switch p.Verdict {
	case Identical:
		if p.Unit == "ms" {
			return "identical to the nanosecond"
		}
		return "identical"
	case Same:
		if c.Margin == 0 {
			return "same"
		}
		return fmt.Sprintf("same within %s", share(c.Margin))
	case TooFew:
		return "too few loads: " + p.Why
	case Refused:
		return "not compared: " + p.Why
	case NotDecided:
		if p.Needed == 0 {
			return fmt.Sprintf("not decided; more than %d times as many loads may be needed", farthest)
		}
		return fmt.Sprintf("not decided; about %d more loads on each side would probably decide", max(1, p.Needed-max(p.NA, p.NB)))
	}
	return p.Verdict
}

func share(v float64) string {
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.1f", 100*v), "0"), ".") + " %"
}

// Summary says in a sentence or two what came out.
func (c *Comparison) Summary() []string {
	counts := map[string]int{}
	for _, p := range c.Pairs {
		counts[p.Verdict]++
	}
	var words []string
	for _, v := range []string{Identical, Same, Slower, Faster, Higher, Lower, NotDecided, TooFew, Refused} {
		if counts[v] == 0 {
			continue
		}
		word := v
		switch v {
		case Same:
			word = "the same"
			if c.Margin > 0 {
				word += " within " + share(c.Margin)
			}
		case TooFew:
			word = "measured by too few loads"
		case Refused:
			word = "not compared"
		}
		words = append(words, fmt.Sprintf("%d %s", counts[v], word))
	}
	lines := []string{fmt.Sprintf("%s of B with A: %s.", english.Count(len(c.Pairs), "comparison"), strings.Join(words, ", "))}
	if len(c.Pairs) == 0 {
		lines[0] = "No cell is on both sides: nothing was compared."
	}
	if said := c.Identity.describe(); said != "" {
		lines = append(lines, said)
	}
	return lines
}

// describe says how far loads on the virtual clock are identical; "" if none are.
func (i Identity) describe() string {
	if i.Same == 0 {
		return ""
	}
	cells := fmt.Sprintf("%d of %d cells on the virtual clock", i.Same, i.Cells)
	if i.Same == i.Cells {
		cells = "all " + english.Count(i.Cells, "cell") + " on the virtual clock"
		if i.Cells == 1 {
			cells = "the cell on the virtual clock"
		}
	}
	text := fmt.Sprintf("In %s, every load (%d on each side) has the same values of all metrics, to the nanosecond", cells, i.Loads)
	switch {
	case i.Files == 0:
		return text + "."
	case len(i.Differing) == 0:
		return text + fmt.Sprintf(", and the same bytes in all %d files.", i.Files)
	}
	return text + fmt.Sprintf("; of %s, some of these differ: %s.", english.Count(i.Files, "file"), strings.Join(i.Differing, ", "))
}

// Method says how the verdicts came about.
func (c *Comparison) Method() string {
	if c.Tests == 0 {
		return ""
	}
	level := 100 * (1 - c.Alpha)
	by := "Holm"
	if c.Adjust == AdjustFDR {
		by = "Benjamini and Hochberg"
	}
	text := fmt.Sprintf("Differences are B less A, with %.4g %% bootstrap intervals. p is that of a rank test (of permutations for statistics other than the median), adjusted for %s (%s): ",
		level, english.Count(c.Tests, "comparison"), by)
	if c.Adjust == AdjustFDR {
		return text + fmt.Sprintf("of those that are called different, %.4g %% at most are not, on average.", 100*c.Alpha)
	}
	if c.Looks > 0 {
		return text + fmt.Sprintf("it allows for %s at the growing samples, so that two sides that do not differ are called different with a probability of %.4g %% at most.", english.Count(c.Looks, "look"), 100*Alpha)
	}
	return text + fmt.Sprintf("two sides that do not differ are called different, anywhere, with a probability of %.4g %% at most.", 100*c.Alpha)
}

// figures returns the figures of the pairs, in their order, each once.
func (c *Comparison) figures() []Figure {
	var all []Figure
	for _, p := range c.Pairs {
		if len(all) == 0 || all[len(all)-1] != p.Figure {
			all = append(all, p.Figure)
		}
	}
	return all
}

// of returns the pairs of a figure.
func (c *Comparison) of(f Figure) (pairs []Pair) {
	for _, p := range c.Pairs {
		if p.Figure == f {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// say words a rule's outcome.
func (j Judged) say() string {
	words := []string{fmt.Sprintf("%d of %d", j.Count(Broken), len(j.Outcomes))}
	for _, o := range []string{NotDecided, NotCompared} {
		if n := j.Count(o); n > 0 {
			words = append(words, fmt.Sprintf("%s in %d", o, n))
		}
	}
	return fmt.Sprintf("%s: true in %s", j.Rule, strings.Join(words, ", "))
}
