package setup

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Display shows the progress of steps: on a terminal as lines that are redrawn in place,
// elsewhere as a line for each step that begins or ends.
type Display struct {
	out   io.Writer
	width func() int // of the terminal, in columns; nil if there is none
	drawn int        // lines on the terminal that the next drawing replaces
}

// NewDisplay makes a display that writes to a file such as standard error.
func NewDisplay(out *os.File) *Display {
	d := &Display{out: out}
	fd := int(out.Fd())
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
		d.width = func() int {
			size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
			if err != nil || size.Col == 0 {
				return 80
			}
			return int(size.Col)
		}
	}
	return d
}

// show redraws the states on a terminal.
func (d *Display) show(states []state, now time.Time) {
	if d.width == nil {
		return
	}
	d.erase()
	for _, line := range append(lines(states, now), remaining(states)) {
		if runes, width := []rune(line), d.width(); len(runes) >= width { // a wrapped line could not be erased
			line = string(runes[:max(0, width-1)])
		}
		fmt.Fprintln(d.out, line)
		d.drawn++
	}
}

// erase removes the last drawing from the terminal.
func (d *Display) erase() {
	if d.drawn > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\r\x1b[J", d.drawn)
		d.drawn = 0
	}
}

// note prints a line that stays.
func (d *Display) note(text string) {
	d.erase()
	fmt.Fprintln(d.out, "note:", text)
}

// failed prints why a step failed. It stays.
func (d *Display) failed(e *FailedError) {
	d.erase()
	fmt.Fprintf(d.out, "-- %s: failed: %v\n", e.Step, e.Err)
	if e.Again != "" {
		fmt.Fprintf(d.out, "   This step alone: %s\n", e.Again)
	}
}

func (d *Display) began(states []state, i int) {
	if d.width == nil {
		fmt.Fprintf(d.out, "-- %s: begun\n", states[i].name)
	}
}

func (d *Display) ended(states []state, i int) {
	if d.width == nil && states[i].phase != failed { // whose cause is shown already
		fmt.Fprintf(d.out, "-- %s: %s; %s\n", states[i].name, outcome(states[i]), remaining(states))
	}
}

// end keeps the last drawing.
func (d *Display) end() { d.drawn = 0 }

// lines renders the states, one per line.
func lines(states []state, now time.Time) []string {
	longest := 0
	for _, s := range states {
		longest = max(longest, len(s.name))
	}
	var all []string
	for _, s := range states {
		mark, text := " ", outcome(s)
		switch s.phase {
		case done:
			mark = "✓"
		case failed, dropped:
			mark = "✗"
		case underWay:
			mark = "…"
			text = now.Sub(s.began).Round(time.Second).String()
			if s.detail != "" {
				text = s.detail + ", " + text
			}
		}
		all = append(all, fmt.Sprintf("%s %-*s  %s", mark, longest, s.name, text))
	}
	return all
}

// outcome describes a step that is not running.
func outcome(s state) string {
	switch s.phase {
	case done:
		return "done in " + s.took.Round(time.Second).String()
	case failed:
		return "failed"
	case dropped:
		return "stopped"
	}
	return "waits for: " + s.waiting
}

// remaining counts the finished steps and names the others.
func remaining(states []state) string {
	finished := 0
	var left []string
	for _, s := range states {
		switch s.phase {
		case done:
			finished++
		case waiting, underWay:
			left = append(left, s.name)
		}
	}
	text := fmt.Sprintf("%d of %d done", finished, len(states))
	if left != nil {
		text += ", left: " + strings.Join(left, ", ")
	}
	return text
}
