package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/schedule"
	schedules "wiretime/schedule/builtin"
	"wiretime/site"
	"wiretime/study/builtin"
	"wiretime/study/studyfile"
)

type scheduleOptions struct {
	file, store, unit string
	status, quick     bool
	verbose           bool // a line for each attempt, on terminals too
	reach             reach
}

func scheduleCommand() *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "schedule FILE",
		Short: "Run studies at times of day for days",
		Long: `Schedule runs studies at times of day, for some days, and keeps each study's
results in a store of its own. FILE is a schedule (docs/schedule.md is its
reference) or the name of a built-in one: ` + strings.Join(schedules.Names(), ", ") + `.

It waits in the foreground. The same command goes on after Ctrl-C, a reboot or a
crash: each slot is carried out once. A slot whose time goes by without it is
missed, which is recorded with the reason and not made up for. --unit writes a
systemd service that does the same.

The repeats of a study are those of each slot. Its results count all slots
together.

Studies that name places (at) are measured by workers there, in a campaign for
each slot. --listen starts a NATS server for them, which runs as long as the
schedule; --invite NAME writes the invitation of a worker. --nats uses one that is
there already (docs/places.md).`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			o.file = args[0]
			if err := o.reach.check(c); err != nil {
				return input(fmt.Errorf("run a schedule: %w", err))
			}
			return runSchedule(o)
		},
	}
	c.Flags().StringVar(&o.store, "store", "", "folder that keeps the diary, and a store for each study (default: what the schedule says)")
	c.Flags().StringVar(&o.unit, "unit", "", "write a systemd service into the folder `DIR` and run nothing")
	c.Flags().BoolVar(&o.status, "status", false, "show what became of each slot and run nothing")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "on a terminal: print a line for each attempt, as in a file, in place of one line that changes")
	c.Flags().BoolVar(&o.quick, "quick", false, "measure only the quick part of each study")
	o.reach.flags(c)
	c.MarkFlagsMutuallyExclusive("unit", "status")
	return c
}

// timetable is a schedule with its studies.
type timetable struct {
	*schedule.Schedule
	store   string // folder
	verbose bool   // a line for each attempt, on terminals too
	studies []scheduled
	reach   reach // of the studies with places
}

// scheduled is a study of a schedule.
type scheduled struct {
	source string // its file, or its name if it is built in
	store  string // its results' folder
	places []string
}

func runSchedule(o scheduleOptions) error {
	t, err := readSchedule(o)
	if err != nil {
		return err
	}
	switch {
	case o.status:
		return printStatus(stdout, t, time.Now())
	}
	if err := t.checkReach(); err != nil {
		return input(err)
	}
	switch {
	case o.unit != "":
		return writeUnit(o, t)
	}
	ctx, stop := interruptible(context.Background())
	defer stop()
	return followServed(ctx, o, t)
}

// readSchedule reads the named schedule and its studies.
func readSchedule(o scheduleOptions) (*timetable, error) {
	source, builtIn := schedules.File(o.file)
	folder := "."
	if !builtIn {
		var err error
		if source, err = readStudyFile(o.file); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; the built-in schedules are %s", err, strings.Join(schedules.Names(), ", "))
			}
			return nil, input(fmt.Errorf("read the schedule: %w", err))
		}
		folder = filepath.Dir(o.file)
	}
	place := func(study string) string {
		if slices.Contains(builtin.Names(), study) || filepath.IsAbs(study) {
			return study
		}
		return filepath.Join(folder, study)
	}
	s, err := studyfile.ParseSchedule(o.file, source, func(study string) error {
		_, _, err := namedSource(place(study))
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &timetable{Schedule: s, store: o.store, verbose: o.verbose, reach: o.reach}
	if t.store == "" {
		t.store = s.Store
		if !filepath.IsAbs(t.store) {
			t.store = filepath.Join(folder, t.store)
		}
	}
	return t, t.readStudies(place)
}

// readStudies reads the studies, so that a mistake in one shows before the first slot. Each has a store of its own, named
// after it.
func (t *timetable) readStudies(place func(string) string) error {
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	for _, name := range t.Studies {
		source := place(name)
		s, err := readStudy(runOptions{study: source}, library)
		if err != nil {
			return err
		}
		if t.Clock == schedule.ClockVirtual {
			if err := checkVirtual(s); err != nil {
				return input(err)
			}
		}
		one := scheduled{source, filepath.Join(t.store, s.Name), s.Places()}
		if slices.ContainsFunc(t.studies, func(o scheduled) bool { return o.store == one.store }) {
			return input(fmt.Errorf("read schedule %s: two of its studies have the name %s; rename one", t.Name, s.Name))
		}
		t.studies = append(t.studies, one)
	}
	return nil
}

// follow carries the schedule out.
func follow(ctx context.Context, o scheduleOptions, t *timetable) (err error) {
	clock := schedule.Wall()
	d, err := schedule.Open(t.store, t.Schedule, clock.Now(), o.quick)
	if err != nil {
		return input(err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if t.Clock == schedule.ClockVirtual {
		clock = &schedule.Virtual{Time: d.Slots[0].At.Add(-d.Slots[0].Since)}
	}
	err = schedule.Run(ctx, schedule.Config{
		Diary: d, Clock: clock,
		Carry:  func(ctx context.Context, s schedule.Slot) error { return t.carry(ctx, d, s) },
		Report: func(s schedule.Slot) { fmt.Fprintln(stderr, slotLine(d, s)) },
		Await: func(at time.Time) {
			if t.Clock == schedule.ClockWall {
				fmt.Fprintf(stderr, "Waiting for the next slot, %s. Ctrl-C stops; the same command goes on.\n", at.Format(slotTime))
			}
		},
		Warn: func(err error) { fmt.Fprintf(stderr, "wiretime: note: %v; it is tried again at the next slot\n", err) },
	})
	if ctx.Err() != nil {
		return fmt.Errorf("schedule %s was interrupted; the same command goes on%w", t.Name, errInterrupted)
	}
	if err != nil {
		return err
	}
	for _, s := range t.studies {
		if err := endRun(s.store, d); err != nil {
			return err
		}
	}
	return printStatus(stdout, t, time.Now())
}

// slotLine says what became of a slot.
func slotLine(d *schedule.Diary, s schedule.Slot) string {
	line := fmt.Sprintf("Slot %d of %d, %s: ", s.Number, len(d.Slots), s.At.Format(slotTime))
	switch s.State {
	case schedule.Waiting:
		return line + "waits again, since the clock was set back"
	case schedule.Running:
		return line + "begins"
	}
	line += string(s.State)
	if s.Why != "" {
		line += ": " + s.Why
	}
	return line
}

// writeUnit writes a systemd service that carries the schedule out.
func writeUnit(o scheduleOptions, t *timetable) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	file := o.file
	if _, builtIn := schedules.File(file); !builtIn {
		if file, err = filepath.Abs(file); err != nil {
			return err
		}
	}
	store, err := filepath.Abs(t.store)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(o.unit)
	if err != nil {
		return err
	}
	command := []string{program, "schedule", file, "--store", store}
	if o.quick {
		command = append(command, "--quick")
	}
	command = append(command, t.reach.words()...)
	if len(t.reach.invite) > 0 { // now, since the service would invite them at each start
		server, err := t.startServer(context.Background())
		if err == nil {
			err = server.Close()
		}
		if err != nil {
			return err
		}
	}
	system := os.Geteuid() == 0
	path, err := t.WriteUnit(dir, command, folder, system)
	if err != nil {
		return err
	}
	user := ""
	if !system {
		user = "--user "
	}
	fmt.Fprintf(stdout, "%s is written. Start it, now and with the machine:\n\n    systemctl %senable --now %s\n", path, user, path)
	if !system {
		fmt.Fprintln(stdout, "    loginctl enable-linger   # so that it also runs while you are not logged in")
	}
	return nil
}
