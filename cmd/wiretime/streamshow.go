package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/metric"
	"wiretime/terminal"
)

// printStream prints a stream's figures and handovers.
func printStream(out io.Writer, l *evidence.Evidence) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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

// progressLine shows the state of a stream while it plays: on a terminal in one line that
// changes, elsewhere in a line per second.
type progressLine struct {
	out      *os.File
	terminal bool
	last     time.Duration
	octets   int64
	shown    bool
}

func newProgressLine(out *os.File) *progressLine {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return &progressLine{out: out, terminal: err == nil}
}

func (l *progressLine) show(at time.Duration, s player.Status, f player.Figures) {
	pace := time.Second
	if l.terminal {
		pace = 0
	}
	if at < l.last+pace || at == l.last {
		return
	}
	rate := 8 * float64(f.Received-l.octets) / 1e6 / (at - l.last).Seconds()
	l.last, l.octets = at, f.Received
	line := fmt.Sprintf("%6.1f s  %6.1f Mbit/s  %7.1f MB", at.Seconds(), rate, float64(f.Received)/1e6)
	if s.State != player.Starting || s.Buffer > 0 {
		line += fmt.Sprintf("  %-7s at %-8s %-4s buffer %4.1f s  %d stalls, %d seeks", s.State, s.Position.Truncate(time.Second), s.Resolution, s.Buffer.Seconds(), f.Stalls, f.Seeks)
	}
	if n := len(f.Handovers); n > 0 {
		line += fmt.Sprintf("  %s since %.1f s", terminal.Line(f.Handovers[n-1].Access), f.Handovers[n-1].At.Seconds())
	}
	l.shown = true
	if l.terminal {
		fmt.Fprintf(l.out, "\r%s\x1b[K", line)
	} else {
		fmt.Fprintln(l.out, line)
	}
}

// end moves on from the line that changes.
func (l *progressLine) end() {
	if l.terminal && l.shown {
		fmt.Fprintln(l.out)
	}
}
