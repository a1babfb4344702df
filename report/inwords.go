package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"wiretime/english"
	"wiretime/store"
	"wiretime/study"
)

// InWords puts a run into words for a terminal, one paragraph per element: what was compared, what is best where by the metric that most
// readers want and by how much, what is not decided, and how many loads were left out. whole are the run's results, of which it needs the
// values of ShownMetrics.
func InWords(whole []store.Result, metrics []study.Metric, seed uint64) []string {
	results, _ := Pooled(whole)
	if len(results) == 0 {
		return nil
	}
	a := AxesOf(results)
	var wanted []string
	for _, name := range a.kind().overview { // a terminal has no choice of metrics
		if len(wanted) == 0 && slices.ContainsFunc(results, func(r store.Result) bool { return aboveZero(r.Values[name]) }) {
			wanted = append(wanted, name)
		}
	}
	return summaryOf(results, whole, overviewOf(results, metrics, wanted, seed), countsOf(results), nil)
}

// summaryOf puts a run into words. reasons say why attempts do not count, as far as it is known.
func summaryOf(results, whole []store.Result, o Overview, c Counts, reasons []string) []string {
	a := AxesOf(results)
	paragraphs := []string{a.measured(results, whole, o)}
	if said := o.said(); said != "" {
		paragraphs = append(paragraphs, said)
	}
	return append(paragraphs, c.said(reasons))
}

// countsOf says what became of the planned loads of the results.
func countsOf(results []store.Result) Counts {
	var c Counts
	for _, r := range results {
		c.Planned += r.Planned
		c.Pending += r.Pending
		c.Valid += r.Valid
		c.Invalid += r.Invalid
		c.Failed += r.Failed
		c.Unsupported += r.Unsupported
	}
	c.Without = c.Planned - c.Pending - c.Valid - c.Unsupported
	return c
}

// doings say what is done to what each workload loads.
var doings = map[*study.Workload]string{study.Pages(): "loaded", study.Uploads(): "uploaded", study.Streams(): "streamed", study.Crowds(): "served"}

// mostNames is the number of values above which a sentence says how many there are instead of naming them.
const mostNames = 8

// measured says what was measured: the values on all axes that matter, and how often.
func (a Axes) measured(results, whole []store.Result, o Overview) string {
	w := a.Workload
	named := func(axis study.Axis) string {
		var values []string
		known := map[string]int{}
		for _, r := range results {
			place(&values, known, r.Cell.On(axis))
		}
		info := w.Info(axis)
		switch {
		case len(values) > mostNames:
			return fmt.Sprintf("%d %s", len(values), info.Plural) + o.ranges(axis)
		case axis == w.Subject || axis == w.Over || axis == w.By || axis == study.AxisNetwork:
			return listed(values) + info.Suffix
		case len(values) == 1:
			return axis.Noun() + " " + values[0]
		}
		return info.Plural + " " + listed(values)
	}
	s := "This run " + doings[w] + " " + named(w.Subject) + " over " + named(w.Over)
	if w.Has(study.AxisNetwork) {
		s += " on " + named(study.AxisNetwork)
	}
	words := []string{s + " with " + named(w.By)}
	for _, info := range w.Axes {
		told := info.Axis == w.Subject || info.Axis == w.Over || info.Axis == w.By || info.Axis == study.AxisNetwork || info.Axis == study.AxisLoad
		used := info.Axis == study.AxisLinkDelay || slices.ContainsFunc(results, func(r store.Result) bool {
			return r.Cell.On(info.Axis) != results[0].Cell.On(info.Axis) || info.Axis != study.AxisClock && r.Cell.Clock() != study.ClockLive && r.Cell.Unusual(info.Axis)
		})
		if used && !told {
			words = append(words, named(info.Axis))
		}
	}
	return strings.Join(words, ", ") + ": " + english.Count(len(results), "cell") + ", " + often(whole) + ", in seeded random order."
}

// ranges says between which values the numbers of an axis lie.
func (o Overview) ranges(axis study.Axis) string {
	var words []string
	for _, f := range o.Facets {
		if f.axis == axis && f.Number {
			words = append(words, f.Name+" "+f.Values[0]+" to "+f.say(len(f.Values)-1))
		}
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// often says how often each cell was planned to be loaded; the loads of a session count as one time.
func often(whole []store.Result) string {
	least, most, loads := math.MaxInt, 0, 1
	for _, r := range whole {
		least, most, loads = min(least, r.Planned), max(most, r.Planned), max(loads, r.Cell.Load())
	}
	s := english.Count(most, "time") + " each"
	switch {
	case least < most:
		s = fmt.Sprintf("%d to %s", least, s)
	case most == 1:
		s = "once each"
	}
	if loads > 1 {
		s += fmt.Sprintf(", in sessions of %d loads", loads)
	}
	return s
}

// said says what became of the planned loads, and why attempts do not count.
func (c Counts) said(reasons []string) string {
	if c.Planned == 0 {
		return "No load was planned."
	}
	s := fmt.Sprintf("Of %s, %d", english.Count(c.Planned, "planned load"), c.Valid)
	if c.Valid == c.Planned {
		s = fmt.Sprintf("All %s", english.Count(c.Planned, "planned load"))
		if c.Planned == 1 {
			s = "The one planned load"
		}
	}
	parts := []string{s + map[bool]string{true: " has", false: " have"}[c.Valid == 1] + " a valid attempt"}
	if c.Without > 0 {
		parts = append(parts, fmt.Sprintf("%d have none after all retries", c.Without))
	}
	if c.Unsupported > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot run here", c.Unsupported))
	}
	if c.Pending > 0 {
		parts = append(parts, fmt.Sprintf("%d are still to be measured", c.Pending))
	}
	s = listed(parts) + "."
	if c.Invalid+c.Failed == 0 {
		return s
	}
	var attempts []string
	if c.Failed > 0 {
		attempts = append(attempts, fmt.Sprintf("%d failed", c.Failed))
	}
	if c.Invalid > 0 {
		attempts = append(attempts, fmt.Sprintf("%d were invalid", c.Invalid))
	}
	s += fmt.Sprintf(" %s not count: %s", english.Count(c.Invalid+c.Failed, "attempt")+map[bool]string{true: " does", false: " do"}[c.Invalid+c.Failed == 1], listed(attempts))
	if len(reasons) > 0 {
		s += " (" + strings.Join(reasons, "; ") + ")"
	}
	return s + "."
}

// reasons says why attempts do not count: which rules the invalid ones broke, and the most frequent one of the reasons of those that failed.
func (d *Data) reasons(failed []string) []string {
	var reasons []string
	if n := d.Counts.WrongProtocol; n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d over a wrong protocol", n))
	}
	for _, c := range d.Checks {
		if c.Broken > 0 && c.Short != "" {
			reasons = append(reasons, fmt.Sprintf("%d %s", c.Broken, c.Short))
		}
	}
	counts, first, most := map[string]int{}, map[string]string{}, ""
	for _, reason := range failed {
		alike := digits.ReplaceAllString(reason, "0")
		if counts[alike] == 0 {
			first[alike] = reason
		}
		if counts[alike]++; counts[alike] > counts[most] {
			most = alike
		}
	}
	if n := counts[most]; n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d failed with %q", n, shorten(first[most], 120)))
	}
	return reasons
}

var digits = regexp.MustCompile(`\d+`)

// shorten cuts a text after so many characters.
func shorten(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// listed joins words: "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
