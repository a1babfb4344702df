package compare

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"wiretime/english"
	"wiretime/terminal"
)

// WriteText writes the comparison as tables for a terminal, one for each figure.
func (c *Comparison) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "A: %s\nB: %s\n", c.A.say(), c.B.say())
	for _, by := range c.By {
		fmt.Fprintf(w, "Compared by %s: A has %s, B has %s.\n", by.Axis, by.A, by.B)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "Note: %s\n", n)
	}
	table := terminal.NewTable(w)
	for _, f := range c.figures() {
		pairs := c.of(f)
		fmt.Fprintf(table, "\n%s\tA, %s\tB, %s\tdifference, %s\tdifference, %%\teffect\tp\tn\tverdict on B\n", pairs[0].title(), pairs[0].Unit, pairs[0].Unit, pairs[0].Unit)
		for _, p := range pairs {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Cell, p.sample(p.A, p.NA), p.sample(p.B, p.NB), p.difference(), p.percent(), p.effect(), p.chance(), p.count(), c.verdict(p))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	c.writeRest(w, "")
	return nil
}

// writeRest writes what follows the tables.
func (c *Comparison) writeRest(w io.Writer, bullet string) {
	fmt.Fprintln(w)
	for _, only := range []struct {
		side  string
		cells []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.cells) > 0 {
			fmt.Fprintf(w, "%sOnly in %s: %s.\n", bullet, only.side, strings.Join(only.cells, "; "))
		}
	}
	for _, line := range c.Summary() {
		fmt.Fprintf(w, "%s%s\n", bullet, line)
	}
	if m := c.Method(); m != "" {
		fmt.Fprintf(w, "%s%s\n", bullet, m)
	}
	for _, r := range c.Rules {
		fmt.Fprintf(w, "%s--fail-if %s.\n", bullet, r.say())
	}
}

func (a About) say() string {
	return fmt.Sprintf("%s (study %s, run %d of %s, %s)", a.Name, a.Study, a.Run, a.Store, english.Count(a.Cells, "cell"))
}

func (p Pair) count() string {
	if p.NA == p.NB {
		return strconv.Itoa(p.NA)
	}
	return fmt.Sprintf("%d, %d", p.NA, p.NB)
}

// WriteMarkdown writes the comparison as tables for a pull request.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "`", "'").Replace
	fmt.Fprintf(w, "**A:** %s<br>\n**B:** %s\n", cell(c.A.say()), cell(c.B.say()))
	for _, f := range c.figures() {
		pairs := c.of(f)
		fmt.Fprintf(w, "\n| %s | A, %s | B, %s | difference, %s | difference, %% | n | verdict on B |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
			cell(pairs[0].title()), pairs[0].Unit, pairs[0].Unit, pairs[0].Unit)
		for _, p := range pairs {
			verdict := cell(c.verdict(p))
			if p.Verdict == Slower {
				verdict = "**" + verdict + "**"
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", cell(p.Cell), p.sample(p.A, p.NA), p.sample(p.B, p.NB), p.difference(), p.percent(), p.count(), verdict)
		}
	}
	c.writeRest(w, "- ")
	for _, by := range c.By {
		fmt.Fprintf(w, "- Compared by %s: A has %s, B has %s.\n", by.Axis, cell(by.A), cell(by.B))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "- Note: %s\n", cell(n))
	}
	return nil
}

// WriteJSON writes the comparison as JSON.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// WriteCSV writes a row for each figure of each pair of cells.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"cell", "key_a", "key_b", "metric", "statistic", "unit", "n_a", "n_b", "a", "b", "difference", "low", "high",
		"percent", "percent_low", "percent_high", "cliffs_delta", "p", "p_adjusted", "verdict", "why", "needed"})
	for _, p := range c.Pairs {
		number := func(v float64, there bool) string {
			if !there {
				return ""
			}
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		both, interval, share := p.NA > 0 && p.NB > 0, p.Interval && p.Verdict != Identical, p.Relative
		_ = out.Write([]string{plain(p.Cell), plain(p.KeyA), plain(p.KeyB), p.Metric, string(p.Statistic), plain(p.Unit), strconv.Itoa(p.NA), strconv.Itoa(p.NB),
			number(p.A, p.NA > 0), number(p.B, p.NB > 0), number(p.Value, both), number(p.Low, interval), number(p.High, interval),
			number(p.Percent, both && share), number(p.PLow, interval && share), number(p.PHigh, interval && share),
			number(p.Delta, interval), number(p.P, interval), number(p.Adjusted, interval), p.Verdict, plain(p.Why), number(float64(p.Needed), p.Needed > 0)})
	}
	out.Flush()
	return out.Error()
}

// plain keeps a text from being taken for a formula by spreadsheets.
func plain(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r\n") {
		return "'" + text
	}
	return text
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a test case for each rule and pair of cells: failed where the rule is broken or, if undecided is set, where it is not
// decided or the cells were not compared; skipped in the latter cases otherwise. Without rules there is a case for each pair of
// cells, which is skipped if it was not compared.
func (c *Comparison) WriteJUnit(w io.Writer, undecided bool) error {
	var suites junitSuites
	for _, r := range c.Rules {
		suite := junitSuite{Name: "fail if " + r.Rule}
		for _, o := range r.Outcomes {
			suite.add(c.junitCase(c.Pairs[o.Pair], o.Outcome, undecided, r.Rule))
		}
		suites.Suites = append(suites.Suites, suite)
	}
	if len(c.Rules) == 0 {
		suite := junitSuite{Name: "wiretime compare"}
		for _, p := range c.Pairs {
			outcome := Kept
			if !p.Compared() {
				outcome = NotCompared
			}
			suite.add(c.junitCase(p, outcome, false, ""))
		}
		suites.Suites = append(suites.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (c *Comparison) junitCase(p Pair, outcome string, undecided bool, rule string) junitCase {
	said := fmt.Sprintf("%s: A %s %s, B %s %s, difference %s %s (%s %%): %s", p.title(), p.sample(p.A, p.NA), p.Unit, p.sample(p.B, p.NB), p.Unit, p.difference(), p.Unit, p.percent(), c.verdict(p))
	one := junitCase{Class: "wiretime." + c.A.Study, Name: p.Cell + ": " + p.title(), Out: said}
	switch {
	case outcome == Broken:
		one.Failure = &junitText{rule, said}
	case outcome != Kept && undecided:
		one.Failure = &junitText{outcome, said}
	case outcome != Kept:
		one.Skipped = &junitText{Message: outcome + ": " + c.verdict(p)}
	}
	return one
}
