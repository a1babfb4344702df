package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"wiretime/english"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// progress shows how a run goes on: on a terminal in one line that changes, elsewhere in a line for each attempt.
type progress struct {
	to    terminal.Writer
	study *study.Study
	relay bool            // to the program that has started this one, which shows the line
	watch *terminal.Watch // nil: a line for each attempt
	said  map[string]bool // why attempts failed, each reason once

	mu      sync.Mutex // of what follows, which the line shows
	last    runner.Attempt
	ended   time.Time // when the last attempt did
	counts  map[store.Validity]int
	loading []study.Cell
}

// newProgress begins to show a run. all asks for a line for each attempt on terminals, too.
func newProgress(to terminal.Writer, s *study.Study, all, relay bool) *progress {
	p := &progress{to: to, study: s, relay: relay, said: map[string]bool{}, counts: map[store.Validity]int{}}
	if !all && !relay {
		p.watch = to.Watch(p.line)
	}
	return p
}

// end takes the line away.
func (p *progress) end() {
	if p.watch != nil {
		p.watch.End()
	}
}

// attempt shows an attempt that has ended.
func (p *progress) attempt(a runner.Attempt) {
	p.mu.Lock()
	p.last, p.ended = a, time.Now()
	p.counts[a.Validity]++
	p.mu.Unlock()
	changes := p.watch != nil || p.relay
	if !changes || a.Validity == store.Failed && !p.said[a.Reason] {
		p.said[a.Reason] = true
		printAttempt(p.to, p.study, a)
	}
	p.update()
}

// underWay shows what is being loaded.
func (p *progress) underWay(cells []study.Cell) {
	p.mu.Lock()
	p.loading = cells
	p.mu.Unlock()
	p.update()
}

func (p *progress) update() {
	switch {
	case p.watch != nil:
		p.watch.Update()
	case p.relay:
		fmt.Fprintf(p.to, "%s%s\n", relayMark, terminal.Line(p.line(0).String()))
	}
}

// line says how the run stands, what matters most first, because the end does not fit narrow terminals.
func (p *progress) line(int) terminal.Text {
	p.mu.Lock()
	defer p.mu.Unlock()
	var text terminal.Text
	if a := p.last; a.Planned > 0 {
		text = append(text, terminal.Part{Style: terminal.Bold, Words: fmt.Sprintf("[%*d/%d]", len(fmt.Sprint(a.Planned)), a.Done, a.Planned)})
		if a.Done < a.Planned {
			left := max(time.Second, a.Remaining-time.Since(p.ended)).Round(time.Second)
			text = append(text, terminal.Part{Words: fmt.Sprintf("  about %v left", left)})
		}
	}
	for _, c := range []struct {
		validity store.Validity
		style    terminal.Style
	}{{store.Failed, terminal.Red}, {store.Invalid, terminal.Yellow}, {store.Unsupported, terminal.Plain}} {
		if n := p.counts[c.validity]; n > 0 {
			text = append(text, terminal.Part{Words: "  "}, terminal.Part{Style: c.style, Words: fmt.Sprintf("%d %s", n, c.validity)})
		}
	}
	var loading []string
	for _, c := range p.loading {
		loading = append(loading, strings.Join([]string{c.Network.Name, c.Subject(), way(p.study, c)}, " "))
	}
	if len(text) > 0 {
		text = append(text, terminal.Part{Words: "  "})
	}
	return append(text, terminal.Part{Words: strings.Join(loading, ", ")})
}

// printAttempt prints a line for one attempt.
func printAttempt(to io.Writer, s *study.Study, a runner.Attempt) {
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
	fmt.Fprintln(to, line)
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
	verb, whose := "were", "Their "+t.what
	if t.loads == 1 {
		verb, whose = "was", "Its "+strings.TrimSuffix(t.what, "s")
	}
	text := fmt.Sprintf("\n%s %s measured in %v.", english.Count(t.loads, "load"), verb, took.Round(100*time.Millisecond))
	if t.virtual > 0 {
		text += fmt.Sprintf(" %s took %v on the virtual clock.", whose, t.virtual.Round(time.Second))
	}
	return text
}
