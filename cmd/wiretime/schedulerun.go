package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"wiretime/english"
	"wiretime/interrupt"
	"wiretime/process"
	"wiretime/schedule"
	"wiretime/terminal"
)

// carry carries out a slot: each study in turn, by a program of its own, which a bug of a load cannot take the schedule down
// with. A study that fails does not keep the others from their turn.
func (t *timetable) carry(ctx context.Context, d *schedule.Diary, s schedule.Slot) error {
	var failed []error
	for _, study := range t.studies {
		if err := t.runSlot(ctx, d, s, study); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", filepath.Base(study.store), err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

func (t *timetable) runSlot(ctx context.Context, d *schedule.Diary, s schedule.Slot, study scheduled) error {
	args := append(t.command(study), "--store", study.store, "--"+diaryFlag, d.Path(), "--"+slotFlag, strconv.Itoa(s.Number))
	if d.Quick {
		args = append(args, "--quick")
	}
	var said lastLine
	shown := io.Writer(stderr)
	if !t.verbose && len(study.places) == 0 {
		if line := relay(stderr); line != nil {
			defer line.end()
			shown = line
			args = append(args, "--"+relayFlag)
		}
	}
	c := exec.CommandContext(ctx, "/proc/self/exe", args...)
	c.Stdout, c.Stderr = stdout, io.MultiWriter(shown, &said)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = interrupt.Limit + 5*time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	c.ExtraFiles = []*os.File{d.Held()}
	err := process.Run(c)
	if exited, is := errors.AsType[*exec.ExitError](err); is && said.text() != "" {
		return fmt.Errorf("%s (exit code %d)", said.text(), exited.ExitCode())
	}
	return err
}

// lastLine keeps the end of what a program says on standard error: the error that it ended with.
type lastLine struct{ end []byte }

// mostSaid is how many octets of it are kept.
const mostSaid = 4 << 10

func (l *lastLine) Write(p []byte) (int, error) {
	l.end = append(l.end, p...)
	l.end = l.end[max(0, len(l.end)-mostSaid):]
	return len(p), nil
}

// text returns the last error, without the program's name.
func (l *lastLine) text() string {
	const mark = "wiretime: "
	if i := bytes.LastIndex(l.end, []byte(mark)); i >= 0 {
		return strings.Join(strings.Fields(string(l.end[i+len(mark):])), " ")
	}
	return ""
}

// printStatus shows what became of a schedule's slots.
func printStatus(w io.Writer, t *timetable, now time.Time) error {
	d, err := schedule.Read(schedule.Path(t.store, t.Name))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(w, "Schedule %s has not been started with the store %s.\n", t.Name, t.store)
		return err
	}
	if err != nil {
		return err
	}
	first, last := d.Slots[0].At, d.Slots[len(d.Slots)-1].At
	fmt.Fprintf(w, "Schedule %s: %s, %s to %s (%s), on the %s clock.\n", d.Schedule, english.Count(len(d.Slots), "slot"), first.Format(slotTime), last.Format(slotTime), d.Zone, d.Clock)
	table := terminal.NewTable(w)
	fmt.Fprintln(table, "slot\ttime\tstate\ttook\t")
	for _, s := range d.Slots {
		took := ""
		if d.Clock == schedule.ClockWall && !s.Ended.IsZero() && !s.Began.IsZero() {
			took = s.Ended.Sub(s.Began).Round(time.Second).String()
		}
		why := s.Why
		if s.Asleep > 0 {
			why = strings.TrimPrefix(why+"; the machine was suspended meanwhile, for "+s.Asleep.String(), "; ")
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", s.Number, s.At.Format(slotTime), s.State, took, why)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d done, %d failed, %d missed, %d to come.\n", d.Count(schedule.Done), d.Count(schedule.Failed), d.Count(schedule.Missed), d.Count(schedule.Waiting)+d.Count(schedule.Running))
	printNext(w, t, d, now)
	for _, s := range t.studies {
		fmt.Fprintf(w, "Results: wiretime results --store %s\n", s.store)
	}
	return nil
}

// printNext says what the schedule is waiting for, and whether anybody waits.
func printNext(w io.Writer, t *timetable, d *schedule.Diary, now time.Time) {
	for _, s := range d.Slots {
		if s.State != schedule.Waiting && s.State != schedule.Running {
			continue
		}
		fmt.Fprintf(w, "Next: slot %d, %s", s.Number, s.At.Format(slotTime))
		if ahead := s.At.Sub(now); d.Clock == schedule.ClockWall && ahead > 0 {
			fmt.Fprintf(w, ", in %v", ahead.Round(time.Second))
		}
		if schedule.Active(t.store, t.Name) {
			fmt.Fprintln(w, ". A program is carrying the schedule out.")
		} else {
			fmt.Fprintln(w, ". No program is carrying the schedule out: start it with wiretime schedule.")
		}
		return
	}
}
