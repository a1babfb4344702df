package advise

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"wiretime/english"
)

// WriteText writes the advice as tables for a terminal. Texts in it may be foreign.
func (a *Advice) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range a.Lead() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\nEach change alone, compared with today:\n\n")
	writeOptions(w, a.Options)
	if len(a.Steps) > 0 {
		fmt.Fprintf(w, "\nTogether (greedy forward selection: each step adds what helps most beside the steps before):\n\n")
		fmt.Fprintln(w, "step\tadds\tsaves, in all\tmedian user\tbetter\tworse")
		for i, s := range a.Steps {
			fmt.Fprintf(w, "%d  %s\t%s\t%s\t%s\t%s\t%s\n", i+1, s.Added.Title, s.Added.Effect.saved(), s.Total.saved(), s.Total.medians(), percent(s.Total.Better), percent(s.Total.Worse))
		}
	}
	if a.Browser != nil {
		fmt.Fprintf(w, "\nThe same cells loaded by %s, compared with today:\n\n", a.Browser.Name)
		writeOptions(w, a.Browser.Checked)
	}
	fmt.Fprintf(w, "\nMedians on each network, today and with %s, ms:\n\n", a.bestTitle())
	for _, n := range a.best().Networks {
		fmt.Fprintf(w, "%s\t%s of the users\t%.0f\t-> %.0f\n", n.Network, percent(n.Part), n.Before, n.After)
	}
	if open := a.Undecided(); len(open) > 0 {
		fmt.Fprintf(w, "\nNot decided: %s.\n", strings.Join(open, "; "))
	}
	for _, o := range a.Options {
		if o.Effect.Verdict == Unsupported {
			fmt.Fprintf(w, "Not measured: %s: %s\n", o.Title, o.Effect.Why)
		}
	}
	return w.Flush()
}

func writeOptions(w io.Writer, options []Option) {
	fmt.Fprintln(w, "change\tsaves\tmedian user, ms\tbetter\tworse\tverdict\tcost")
	for _, o := range options {
		e := o.Effect
		if e.Verdict == Unsupported {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Title, e.saved(), e.medians(), percent(e.Better), percent(e.Worse), e.Verdict, o.Cost)
	}
}

// saved writes the gain with its interval.
func (e Effect) saved() string {
	if !e.Interval {
		return percent(e.Gain)
	}
	return fmt.Sprintf("%s (%s..%s)", percent(e.Gain), number(e.Low), number(e.High))
}

// medians writes the weighted medians, in ms.
func (e Effect) medians() string { return fmt.Sprintf("%.0f -> %.0f", e.Before, e.After) }

// percent writes a part of 1, without a minus before zero.
func percent(part float64) string { return number(part) + " %" }

func number(part float64) string {
	text := fmt.Sprintf("%.1f", 100*part)
	if text == "-0.0" {
		text = "0.0"
	}
	return strings.TrimSuffix(text, ".0")
}

// best returns the effect of all steps together; without steps, that of the single change with the greatest gain.
func (a *Advice) best() Effect {
	if len(a.Steps) > 0 {
		return a.Steps[len(a.Steps)-1].Total
	}
	if len(a.Options) > 0 {
		return a.Options[0].Effect
	}
	return Effect{}
}

func (a *Advice) bestTitle() string {
	if len(a.Steps) > 0 {
		return titles(a.Steps)
	}
	if len(a.Options) > 0 {
		return a.Options[0].Title
	}
	return "nothing"
}

// Lead returns the answer in sentences.
func (a *Advice) Lead() []string {
	var helping []Option
	for _, o := range a.Options {
		if o.Effect.Verdict == Helps && !o.loses {
			helping = append(helping, o)
		}
	}
	lead := []string{fmt.Sprintf("Today, over %s, the median user of %s waits %.0f ms for %s.", a.Protocol, a.Site, a.Today, a.Metric)}
	if len(helping) == 0 {
		return append(lead, fmt.Sprintf("None of the %s measured helps by more than %s for certain.", english.Count(len(a.Options), "change"), percent(Margin)))
	}
	best := helping[0]
	lead = append(lead, fmt.Sprintf("What helps most is %s: it saves %s of the time on average, and %s of the users are better off by more than %s, %s worse. It takes: %s.",
		best.Title, best.Effect.saved(), percent(best.Effect.Better), percent(Tolerance), percent(best.Effect.Worse), best.Cost))
	if n := len(a.Steps); n > 1 {
		lead = append(lead, fmt.Sprintf("Together with %s it saves %s.", titles(a.Steps[1:]), a.Steps[n-1].Total.saved()))
	}
	switch {
	case a.Quick:
		lead = append(lead, fmt.Sprintf("This is a quick look at %s, without combinations and without a browser.", english.Count(len(a.Networks), "network")))
	case a.Browser != nil && a.Browser.Agrees:
		lead = append(lead, fmt.Sprintf("Loaded by %s, it helps as well.", a.Browser.Name))
	case a.Browser != nil:
		lead = append(lead, fmt.Sprintf("Loaded by %s, not all of it helps: see below.", a.Browser.Name))
	}
	return lead
}

// Undecided returns the changes whose effect the loads do not decide.
func (a *Advice) Undecided() (open []string) {
	for _, o := range a.Options {
		if o.Effect.Verdict == Undecided {
			open = append(open, fmt.Sprintf("%s (%s)", o.Title, o.Effect.saved()))
		}
	}
	return open
}
