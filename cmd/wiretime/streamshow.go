package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/metric"
	"wiretime/terminal"
)

// printStream prints a stream's figures and handovers.
func printStream(out io.Writer, l *evidence.Evidence) error {
	w := terminal.NewTable(out)
	for _, m := range metric.Streams().Metrics {
		if v, ok := m.Of(l); ok {
			fmt.Fprintf(w, "%s\t%s %s\n", m.Title, number(v), m.Unit)
		}
	}
	if handovers := l.Stream.Figures.Handovers; len(handovers) > 0 {
		fmt.Fprintf(w, "\nhandover at\tto\tsession ready after\toctets again after\n")
		for _, h := range handovers {
			fmt.Fprintf(w, "%.3f s\t%s\t%s\t%s\n", h.At.Seconds(), h.Access, after(h.At, h.Ready), after(h.At, h.Recovered))
		}
	}
	return w.Flush()
}

// after writes how much later something happened, if it did.
func after(began, happened time.Duration) string {
	if happened == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(happened-began)/1e6)
}

// number writes a figure with at most one decimal.
func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// playing shows the state of a stream while it plays: on a terminal in one line that changes, elsewhere in a line per second.
type playing struct {
	watch  *terminal.Watch
	last   time.Duration
	octets int64

	mu   sync.Mutex
	line string
}

func showPlaying() *playing {
	p := &playing{}
	p.watch = stderr.Watch(func(int) terminal.Text {
		p.mu.Lock()
		defer p.mu.Unlock()
		return terminal.Text{{Words: p.line}}
	})
	return p
}

func (p *playing) show(at time.Duration, s player.Status, f player.Figures) {
	pace := time.Second
	if p.watch != nil {
		pace = 0
	}
	if at < p.last+pace || at == p.last {
		return
	}
	rate := 8 * float64(f.Received-p.octets) / 1e6 / (at - p.last).Seconds()
	p.last, p.octets = at, f.Received
	line := fmt.Sprintf("%6.1f s  %6.1f Mbit/s  %7.1f MB", at.Seconds(), rate, float64(f.Received)/1e6)
	if s.State != player.Starting || s.Buffer > 0 {
		line += fmt.Sprintf("  %-7s at %-8s %-4s buffer %4.1f s  %d stalls, %d seeks", s.State, s.Position.Truncate(time.Second), s.Resolution, s.Buffer.Seconds(), f.Stalls, f.Seeks)
	}
	if n := len(f.Handovers); n > 0 {
		line += fmt.Sprintf("  %s since %.1f s", terminal.Line(f.Handovers[n-1].Access), f.Handovers[n-1].At.Seconds())
	}
	if p.watch == nil {
		fmt.Fprintln(stderr, line)
		return
	}
	p.mu.Lock()
	p.line = line
	p.mu.Unlock()
	p.watch.Update()
}

// end leaves the last state as a line.
func (p *playing) end() {
	if p.watch == nil {
		return
	}
	p.watch.End()
	if p.line != "" {
		fmt.Fprintln(stderr, p.line)
	}
}
