package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// printAttempt prints a progress line for one attempt.
func printAttempt(s *study.Study, a runner.Attempt) {
	metrics := runner.Metrics(a.Cell.Workload)
	headline := metrics[slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == a.Headline })].Title
	what := "no " + headline
	if a.Value >= 0 {
		what = fmt.Sprintf("%s %8.3f s", headline, a.Value/1000)
	}
	line := fmt.Sprintf("[%*d/%d] %-10s %-12s %-9s %s", len(fmt.Sprint(a.Planned)), a.Done, a.Planned, a.Cell.Network.Name, a.Cell.Subject(), way(s, a.Cell), what)
	if a.Of > 0 {
		line += fmt.Sprintf("  load %d of %d", a.Cell.Load(), a.Of)
	}
	if a.Validity != store.Valid {
		line += fmt.Sprintf("  %s: %s", a.Validity, terminal.Line(a.Reason))
	}
	if a.Done < a.Planned {
		line += fmt.Sprintf("  (about %v left)", a.Remaining.Round(time.Second))
	}
	fmt.Fprintln(stderr, line)
}

// way returns a cell's protocol or transport, and its other values that are not the usual ones.
// It leaves out subject and network, and a loader, player or clock that all cells share.
func way(s *study.Study, c study.Cell) string {
	words := []string{c.Over()}
	for _, a := range c.Workload.Axes {
		if a.Axis == study.AxisLoad || a.Axis == c.Workload.Subject || a.Axis == c.Workload.Over || slices.Contains(c.Workload.Path, a.Axis) {
			continue
		}
		choice := a.Usual == "" || a.Axis == study.AxisClock // every study makes it
		if c.Unusual(a.Axis) && c.On(a.Axis) != study.System && (!choice || len(s.Matrix[a.Axis]) > 1) {
			words = append(words, a.Say(c.On(a.Axis)))
		}
	}
	return strings.Join(words, " ")
}

// tally counts what a run has measured.
type tally struct {
	loads   int
	counted int           // loads that are valid or unsupported
	virtual time.Duration // of the pages, or streams, on the virtual clock
	what    string        // was loaded: pages or streams
}

func (t *tally) add(a runner.Attempt) {
	if a.Validity == store.Valid || a.Validity == store.Unsupported {
		t.counted++
	}
	if a.Validity == store.Unsupported {
		return
	}
	t.loads++
	t.what = a.Cell.Workload.Name
	if a.Cell.Clock() == study.ClockVirtual {
		t.virtual += a.Lasted
	}
}

func (t *tally) describe(took time.Duration) string {
	text := fmt.Sprintf("\n%d loads were measured in %v.", t.loads, took.Round(100*time.Millisecond))
	if t.virtual > 0 {
		text += fmt.Sprintf(" Their %s took %v on the virtual clock.", t.what, t.virtual.Round(time.Second))
	}
	return text
}
