package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wiretime/compare"
	"wiretime/interrupt"
	"wiretime/process"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

// untilStore is where compare --until keeps its stores unless a flag says otherwise.
const untilStore = "comparison"

// mostRepeats is up to how many repeats compare --until measures unless a flag says otherwise.
const mostRepeats = 60

// inTurn is how many repeats of a study on the real clock are measured before it is the other's turn: what changes on the machine meanwhile
// then reaches both.
const inTurn = 2

func untilFlags(c *cobra.Command, o *compareOptions) {
	c.Flags().StringVar(&o.until, "until", "", "A and B are studies: measure both until each pair of cells is decided, with this `MARGIN`, as in 1%")
	c.Flags().StringVar(&o.atMost, "at-most", strconv.Itoa(mostRepeats), "with --until: stop at so many repeats of each cell, or after a time such as 30m")
	c.MarkFlagsMutuallyExclusive("until", "margin")
	c.MarkFlagsMutuallyExclusive("until", "run")
}

// bound is when --until gives up.
type bound struct {
	repeats int
	end     time.Time // zero: none
}

func parseBound(text string) (bound, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= study.MostLoads {
		return bound{repeats: n}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return bound{repeats: study.MostLoads, end: time.Now().Add(d)}, nil
	}
	return bound{}, fmt.Errorf("invalid bound %.20q: want a number of repeats, as in 60, or a time, as in 30m", text)
}

func (b bound) reached() bool { return !b.end.IsZero() && !time.Now().Before(b.end) }

// measured is a study that --until measures.
type measured struct {
	name, store string
	virtual     bool // all its cells are on the virtual clock, where nothing changes meanwhile
	cells       int
}

// compareUntil measures two studies in turns and compares them at each look until all is decided.
func compareUntil(a, b string, o compareOptions, config compare.Config, rules []compare.Rule) error {
	var err error
	if config.Margin, err = parseMargin(o.until); err != nil {
		return input(fmt.Errorf("read --until: %w", err))
	}
	limit, err := parseBound(o.atMost)
	if err != nil {
		return input(fmt.Errorf("read --at-most: %w", err))
	}
	o.store = cmp.Or(o.store, untilStore)
	sides, err := o.measured(a, b)
	if err != nil {
		return err
	}
	limit.repeats = min(limit.repeats, study.MostLoads/max(sides[0].cells, sides[1].cells))
	ctx, stop := interruptible(context.Background())
	defer stop()
	var follow compare.Follow
	has := 0
	for _, look := range compare.Looks(limit.repeats, config.Figures) {
		if has, err = measureUpTo(ctx, sides, has, look.Repeats, limit); err != nil {
			return err
		}
		if has < look.Repeats {
			break
		}
		config.Alpha, config.Repeats = look.Alpha, look.Repeats
		result, err := compareStores(sides, config)
		if err != nil {
			return err
		}
		done := follow.Add(result, look)
		fmt.Fprintf(stderr, "Look %d, %d repeats: %s\n", look.Number, look.Repeats, result.Summary()[0])
		if done {
			break
		}
	}
	if follow.Result() == nil {
		return fmt.Errorf("compare %s with %s: --at-most %s was reached before the first look; go on with the same command", a, b, o.atMost)
	}
	return o.finish(follow.Result(), rules)
}

// measured reads both studies.
func (o compareOptions) measured(files ...string) (sides [2]measured, err error) {
	if _, err := os.Stat(filepath.Join(o.store, "wiretime.db")); err == nil {
		return sides, input(fmt.Errorf("compare with --until: %s is a store; name a folder for both stores with --store", o.store))
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return sides, err
	}
	for i, file := range files {
		name, source, err := namedSource(file)
		if err != nil {
			return sides, err
		}
		s, err := parseStudy(name, source, library)
		if err != nil {
			return sides, err
		}
		if s.Live() {
			return sides, input(fmt.Errorf("compare %s: --until does not load real sites over and over; measure with run, and compare the stores", file))
		}
		sides[i] = measured{file, filepath.Join(o.store, []string{"a", "b"}[i]), slices.Equal(s.Matrix[study.AxisClock], []string{study.ClockVirtual}), len(s.Cells(nil))}
	}
	return sides, nil
}

// measureUpTo measures both studies in turns until their cells have so many repeats or the bound is reached, and returns how many they have.
func measureUpTo(ctx context.Context, sides [2]measured, has, repeats int, limit bound) (int, error) {
	step := inTurn
	if sides[0].virtual && sides[1].virtual {
		step = repeats
	}
	for turn := 0; has < repeats; turn++ {
		if limit.reached() {
			return has, nil
		}
		to := min(repeats, has+step)
		for i := range sides {
			s := sides[(i+turn)%2] // neither is always the first
			if err := s.measure(ctx, to); err != nil {
				return has, err
			}
		}
		has = to
	}
	return has, nil
}

// measure measures so many repeats by a program of its own, since namespaces are those of a whole program.
func (m measured) measure(ctx context.Context, repeats int) error {
	if err := os.MkdirAll(filepath.Dir(m.store), 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "/proc/self/exe", "run", m.name, "--store", m.store, "--resume", "--repeats", strconv.Itoa(repeats))
	var said lastLine
	c.Stderr = &said
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = interrupt.Limit + 5*time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	err := process.Run(c)
	if ctx.Err() != nil {
		return fmt.Errorf("the comparison was interrupted; go on with the same command%w", errInterrupted)
	}
	if exited, is := errors.AsType[*exec.ExitError](err); is {
		err = fmt.Errorf("measure %s: %s (exit code %d)", m.name, said.text(), exited.ExitCode())
		if exited.ExitCode() == exitInput {
			return input(err)
		}
	}
	return err
}

// compareStores compares what both studies have measured so far.
func compareStores(sides [2]measured, config compare.Config) (*compare.Comparison, error) {
	var opened [2]compare.Side
	for i, m := range sides {
		st, err := store.Open(m.store, store.Read)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		run, err := latestRun(st)
		if err != nil {
			return nil, err
		}
		if opened[i], err = compare.Open(m.name, st, run, nil); err != nil {
			return nil, err
		}
	}
	result, err := compare.Compare(opened[0], opened[1], config, seedOf(opened[0]))
	return result, input(err)
}
