package advise

import (
	"fmt"
	"io"
	"strings"

	"wiretime/english"
	"wiretime/terminal"
)

// WriteText writes the advice as tables for a terminal. Texts in it may be foreign.
func (a *Advice) WriteText(out io.Writer) error {
	w := terminal.NewTable(out)
	for _, line := range a.Lead() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\nEach change alone, compared with today:\n\n")
	writeOptions(w, a.Alone())
	fmt.Fprintf(w, "\nOn repeat visits, compared with today's:\n\n")
	writeOptions(w, a.Again())
	if len(a.Steps) > 0 {
		fmt.Fprintf(w, "\nTogether (greedy forward selection: each step adds what helps most beside the steps before):\n\n")
		fmt.Fprintln(w, "step\tsaves beside those before\tsaves in all\tmedian user, ms\tbetter\tworse")
		for i, s := range a.Steps {
			fmt.Fprintf(w, "%d  %s\t%s\t%s\t%s\t%s\t%s\n", i+1, s.Added.Title, s.Added.Effect.saved(), s.Total.saved(), s.Total.medians(), percent(s.Total.Better), percent(s.Total.Worse))
		}
	}
	if a.Browser != nil {
		fmt.Fprintf(w, "\nThe same cells loaded by %s, compared with today:\n\n", browserName(a.Browser.Name))
		writeOptions(w, a.Browser.Checked)
	}
	fmt.Fprintf(w, "\nMedians on each network, today and with %s, ms:\n\n", a.bestTitle())
	for _, n := range a.best().Networks {
		fmt.Fprintf(w, "%s\t%s of the users\t%.0f\t→ %.0f\n", n.Network, percent(n.Part), n.Before, n.After)
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

// saved writes the gain with its interval, unless that is too narrow to be seen.
func (e Effect) saved() string {
	if !e.Interval || number(e.Low) == number(e.High) {
		return percent(e.Gain)
	}
	return fmt.Sprintf("%s (%s..%s)", percent(e.Gain), number(e.Low), number(e.High))
}

// medians writes the weighted medians, in ms.
func (e Effect) medians() string { return fmt.Sprintf("%.0f → %.0f", e.Before, e.After) }

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
	if alone := a.Alone(); len(alone) > 0 {
		return alone[0].Effect
	}
	return Effect{}
}

func (a *Advice) bestTitle() string {
	if len(a.Steps) > 0 {
		return titles(a.Steps)
	}
	if alone := a.Alone(); len(alone) > 0 {
		return alone[0].Title
	}
	return "nothing"
}

// Lead returns the answer in sentences.
func (a *Advice) Lead() []string {
	lead := []string{fmt.Sprintf("Today, over %s, the median user of %s waits %.0f ms for %s.", a.Protocol, a.Site, a.Today, a.MetricTitle)}
	best, ok := firstHelp(a.Options, func(o Option) bool { return !o.Repeat })
	if ok {
		lead = append(lead, "Most is saved by "+best.answer())
	} else {
		lead = append(lead, fmt.Sprintf("None of the %s measured helps first visits by more than %s for certain.", english.Count(len(a.Alone()), "change"), percent(Margin)))
	}
	if n := len(a.Steps); n > 1 {
		lead = append(lead, fmt.Sprintf("With %s as well, %s is saved.", titles(a.Steps[1:]), a.Steps[n-1].Total.saved()))
	}
	switch {
	case a.Quick:
		lead = append(lead, fmt.Sprintf("This is a quick look: %s, no combinations, no browser.", english.Count(len(a.Networks), "network")))
	case a.Browser != nil && a.Browser.Agrees:
		lead = append(lead, fmt.Sprintf("%s agrees: loaded by it, each step helps.", browserName(a.Browser.Name)))
	case a.Browser != nil:
		lead = append(lead, fmt.Sprintf("%s does not agree: loaded by it, not all of this helps.", browserName(a.Browser.Name)))
	}
	if again, ok := firstHelp(a.Options, func(o Option) bool { return o.Repeat }); ok {
		lead = append(lead, "On repeat visits, most is saved by "+again.answer())
	}
	return lead
}

// answer says what an option saves, for whom, and what it takes.
func (o Option) answer() string {
	e := o.Effect
	text := fmt.Sprintf("%s: %s of the time on average, and %s better off by more than %s", strings.TrimSuffix(o.Title, ", on repeat visits"), e.saved(), users(e.Better), percent(Tolerance))
	if e.Worse > 0 {
		text += fmt.Sprintf(", %s worse off", users(e.Worse))
	}
	return text + ". It takes " + o.Cost + "."
}

// users says which part of the users are something.
func users(part float64) string {
	switch number(part) {
	case "0":
		return "no users are"
	case "100":
		return "all users are"
	}
	return percent(part) + " of the users are"
}

// Alone returns the changes for first visits.
func (a *Advice) Alone() []Option { return a.about(false) }

// Again returns the changes for repeat visits.
func (a *Advice) Again() []Option { return a.about(true) }

func (a *Advice) about(repeat bool) (all []Option) {
	for _, o := range a.Options {
		if o.Repeat == repeat {
			all = append(all, o)
		}
	}
	return all
}

// browserName writes a loader's name as that of a browser.
func browserName(loader string) string { return strings.ToUpper(loader[:1]) + loader[1:] }

// Undecided returns the changes whose effect the loads do not decide.
func (a *Advice) Undecided() (open []string) {
	for _, o := range a.Options {
		if o.Effect.Verdict == Undecided {
			open = append(open, fmt.Sprintf("%s (%s)", o.Title, o.Effect.saved()))
		}
	}
	return open
}
