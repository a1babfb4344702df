package advise

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"wiretime/atomicfile"
	"wiretime/report"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent,
	"saved":   Effect.saved,
	"medians": Effect.medians,
	"plus":    func(a, b int) int { return a + b },
	"browser": browserName,
	"list":    func(words []string) string { return strings.Join(words, "; ") },
}).Parse(pageText))

// WritePage writes the advice as one HTML file that needs no network, whole or not at all. version is that of the program.
func (a *Advice) WritePage(path, version string) error {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		*Advice
		Style   template.CSS
		Version string
	}{a, template.CSS(report.StyleSheet()), version}) //nolint:gosec // the style sheet is the program's own
	if err == nil {
		err = atomicfile.WriteBytes(path, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the page %s: %w", path, err)
	}
	return nil
}

// Row is an option with its bar.
type Row struct {
	Option
	Bar Bar
}

// Bar is the gain of an option as a bar with its interval, in pixels from the left edge of the chart.
type Bar struct {
	Left, Width, Zero, Low, High float64
	Class                        string
}

// barWidth is the width of the chart in pixels; barEdge is left free at both sides.
const (
	barWidth = 150
	barEdge  = 4
)

// Rows returns the single changes for first visits that were measured, with bars of one scale.
func (a *Advice) Rows() []Row { return rows(a.Alone()) }

// RepeatRows returns those for repeat visits.
func (a *Advice) RepeatRows() []Row { return rows(a.Again()) }

// Rows returns what the browser has measured.
func (b *Browser) Rows() []Row { return rows(b.Checked) }

func rows(options []Option) (all []Row) {
	least, most := 0.0, Margin
	for _, o := range options {
		least, most = min(least, o.Effect.Gain, o.Effect.Low), max(most, o.Effect.Gain, o.Effect.High)
	}
	least = max(least, -most) // a change that makes everything slow leaves room for the others
	at := func(gain float64) float64 {
		return barEdge + (barWidth-2*barEdge)*(min(max(gain, least), most)-least)/(most-least)
	}
	classes := map[string]string{Helps: "helps", Hurts: "hurts", Same: "same", Undecided: "open"}
	for _, o := range options {
		e := o.Effect
		if e.Verdict == Unsupported {
			continue
		}
		bar := Bar{Left: min(at(0), at(e.Gain)), Zero: at(0), Low: at(e.Low), High: at(e.High), Class: classes[e.Verdict]}
		bar.Width = max(1, max(at(0), at(e.Gain))-bar.Left)
		if !e.Interval {
			bar.Low, bar.High = 0, 0
		}
		all = append(all, Row{o, bar})
	}
	return all
}

// NetworkRow has the medians on one network: today, and after each step.
type NetworkRow struct {
	OnNetwork
	After []float64
}

// OnNetworks returns the medians on each network, today and after each step.
func (a *Advice) OnNetworks() (all []NetworkRow) {
	for i, n := range a.best().Networks {
		row := NetworkRow{OnNetwork: n}
		for _, s := range a.Steps {
			row.After = append(row.After, s.Total.Networks[i].After)
		}
		if len(a.Steps) == 0 {
			row.After = []float64{n.After}
		}
		all = append(all, row)
	}
	return all
}

// Columns returns the headings of what OnNetworks has after today.
func (a *Advice) Columns() (all []string) {
	for i, s := range a.Steps {
		title := s.Added.Title
		if i > 0 {
			title = "and " + title
		}
		all = append(all, title)
	}
	if len(a.Steps) == 0 {
		all = []string{a.bestTitle()}
	}
	return all
}

// Parts returns the networks with their parts of what was measured.
func (a *Advice) Parts() []OnNetwork { return a.best().Networks }

// Unsupported returns the changes that could not be measured.
func (a *Advice) Unsupported() (all []Option) {
	for _, o := range a.Options {
		if o.Effect.Verdict == Unsupported {
			all = append(all, o)
		}
	}
	return all
}

// Limits returns what the figures do not say.
func (a *Advice) Limits() []string {
	return []string{
		"The figures are of the virtual clock, on which processor time counts as zero: they show what network and protocols cost, not what phones and servers do.",
		"The intervals say how much loads differ from each other. They say nothing of the population, whose shares are coarse, nor of users whose network differs from the one that stands for it.",
		"All servers are Wiretime's own: over HTTP/3 it obeys the browser's priorities, over HTTP/2 it gives all responses an equal turn. HTTP/3 is used from the first request; a real first visit learns of it on the way.",
		"The combination was found by greedy forward selection. Another combination, of changes that help only together, may be better.",
	}
}
