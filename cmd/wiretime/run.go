package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/workload/crowd"
	"wiretime/workload/pageload"
)

// defaultStore is where results are kept unless a flag says otherwise.
const defaultStore = "results"

type runOptions struct {
	study, store, clock string
	browsers            runner.Browsers // as chosen; empty: the first that is found
	resume              bool
	quick               bool
	repeats             int  // of each cell; 0: as many as the study says, or the run has
	storedCommands      bool // of a study that comes from the store may be run
	verify              int
	wait                time.Duration // for a quiet machine
	captureMemory       int64         // MB; 0: the default
	count               bool
	keep                string // overrides the study's; empty: what the study says
	diary               string // of the schedule that the study runs on; empty: none
	slot                int    // of that schedule, from 1
	dry                 bool   // only say what would be loaded
	live                liveOptions
	verbose             bool // a line for each attempt, on terminals too
	relay               bool // the line that changes is shown by the program that has started this one
}

func runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run STUDY",
		Short: "Measure what a study says and keep it in a store",
		Long: `Run plans the loads of a study, runs them and keeps each in the store.

STUDY is a file (docs/study.md is its reference) or the name of a built-in
study: ` + strings.Join(builtin.Names(), ", ") + `.

--resume continues a run that was interrupted or killed: no load is lost, and
none is measured twice. If the store has no unfinished run, --resume with a
STUDY begins a new one; with --repeats it extends the latest run, and the loads
that are added are those that a run of so many repeats would have had. If the store's study starts programs of its own that you
have not run before, it shows them and asks, or needs --run-stored-commands.

--quick measures only the part of the study that its key quick names, or one
repeat of each cell. The run is marked as a quick one, and results of the whole
study need a run without --quick.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.study = args[0]
			}
			if o.study == "" && !o.resume {
				return input(errors.New("run a study: no study given; name a file or a built-in study: " + strings.Join(builtin.Names(), ", ")))
			}
			if o.repeats < 0 {
				return input(fmt.Errorf("run a study: --repeats %d: must not be negative", o.repeats))
			}
			if o.captureMemory < 0 {
				return input(fmt.Errorf("run a study: --capture-memory %d: must not be negative", o.captureMemory))
			}
			return run(o)
		},
	}
	c.Flags().StringVar(&o.store, "store", defaultStore, "folder that keeps the results")
	browserFlags(c, &o.browsers)
	c.Flags().StringVar(&o.clock, "clock", "", "real, virtual or auto (default: what the study says); live if the study is written for it")
	c.Flags().IntVar(&o.verify, "verify-determinism", 0, "afterwards run `N` of the loads on the virtual clock again and compare them")
	c.Flags().DurationVar(&o.wait, "wait", 30*time.Second,
		"how long to wait for a quiet machine before loads on the real clock; 0: do not check the machine")
	c.Flags().Int64Var(&o.captureMemory, "capture-memory", 0,
		"memory in `MB` that the captures of all loads together may take; what does not fit goes to the store's disk (default: half of what is available)")
	c.Flags().BoolVar(&o.count, "count", false, "keep what each load on the virtual clock asked of the guest's kernel, and print what loads cost")
	c.Flags().StringVar(&o.keep, "keep", "", "which valid loads keep their artefacts: all, compressed, median (one of each cell) or none (default: what the study says)")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "on a terminal: print a line for each attempt, as in a file, in place of one line that changes")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only print how much would be loaded and, on the live clock, from which hosts")
	c.Flags().StringArrayVar(&o.live.resolve, "resolve", nil, "live clock: HOST:PORT:ADDRESS, use ADDRESS for HOST")
	c.Flags().StringVar(&o.live.cacert, "cacert", "", "live clock: PEM file with certificates to trust as well; for Chromium, those that the servers send")
	c.Flags().BoolVar(&o.quick, "quick", false, "measure only the study's quick part (its key quick), or one repeat of each cell")
	c.Flags().BoolVar(&o.resume, "resume", false, "continue the store's unfinished run, if there is one")
	c.Flags().IntVar(&o.repeats, "repeats", 0, "measure each cell `N` times (default: what the study says); with --resume, extend the store's latest run to as many")
	slotFlags(c, &o)
	c.MarkFlagsMutuallyExclusive(slotFlag, "verify-determinism")
	c.Flags().BoolVar(&o.storedCommands, storedCommandsFlag, false, "with --resume: run the servers' commands of the store's study without asking")
	return c
}

// browserFlags lets the user choose the browsers' binaries.
func browserFlags(c *cobra.Command, b *runner.Browsers) {
	c.Flags().StringVar(&b.Chromium, "chromium", "", "Chromium's binary (default: the first that is found)")
	c.Flags().StringVar(&b.Firefox, "firefox", "", "Firefox's binary (default: the first that is found)")
}

// run is called twice: outside, where it makes sure that everything the run
// needs is there, and inside the lab's namespaces, where it measures.
func run(o runOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	s, err := readStudy(o, library)
	if err != nil {
		return err
	}
	live, err := o.live.config(s)
	if err != nil {
		return input(err)
	}
	if o.dry {
		return printPlan(stdout, s)
	}
	if places := s.Places(); len(places) > 0 {
		return input(fmt.Errorf("run study %s: it is measured at %s, by workers there; use 'wiretime campaign run' (docs/places.md)", s.Name, strings.Join(places, ", ")))
	}
	if err := confirmCommands(o, s); err != nil {
		return err
	}
	w, err := findWays(o, s)
	if err != nil {
		return err
	}
	w.live = live
	if s.Live() {
		if w.untapped, err = enterLive(s.Matrix[study.AxisLoader]); err != nil {
			return err
		}
		return measure(ctx, o, s, w, nil, "none: no lab is made")
	}
	// Sites may have to be fetched, which only works outside.
	var sites map[string]*site.Site
	if sites, err = runner.Sites(ctx, library, s.Matrix[study.AxisSite]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.CloseSites(sites)) }()
	if s.Options.Crowd != nil {
		crowd.RaiseFileLimit() // which only works outside, too
	}
	privilege, err := w.enter(ctx, o.wait)
	if err != nil {
		return err
	}
	return measure(ctx, o, s, w, sites, privilege)
}

// errInterrupted marks a run ended by Ctrl-C. It has no text; the error that wraps it has.
var errInterrupted = errors.New("")

// measure runs inside the lab's namespaces.
func measure(ctx context.Context, o runOptions, s *study.Study, w *ways, sites map[string]*site.Site, privilege string) (err error) {
	st, err := store.Open(o.store, store.Create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	noteKey(st)
	id, err := beginRun(ctx, o, st, s, w, sites, privilege)
	if err != nil {
		return err
	}
	lacking, err := pendingInSlot(o, st, id, s)
	if err != nil {
		return err
	}
	keep, err := whatToKeep(o, st, id)
	if err != nil {
		return err
	}
	programs, err := w.programs(ctx, s, sites)
	if err != nil {
		return err
	}
	var sum tally
	shown := newProgress(stderr, s, o.verbose, o.relay)
	config := runner.Config{
		Store: st, Run: id, Seed: s.Seed, Awake: w.awake(), Options: s.Options,
		Sites: sites, Browsers: w.browsers, Servers: runner.Templates(s), Kernel: w.kernel, Live: w.live,
		Count: o.count, CaptureMemory: o.captureMemory * 1e6, Keep: keep, Programs: programs, Slot: o.slot,
		Report: func(a runner.Attempt) { sum.add(a); shown.attempt(a) }, UnderWay: shown.underWay,
	}
	began := time.Now()
	err = runner.Run(ctx, config)
	shown.end()
	if ctx.Err() != nil {
		return fmt.Errorf("run %d of study %s was interrupted; go on with: wiretime %s%w", id, s.Name, continuation("run", o, s), errInterrupted)
	}
	if err != nil {
		return err
	}
	if o.slot > 0 {
		fmt.Fprintln(stderr, sum.describe(time.Since(began)))
		return checkSlot(lacking, sum.counted)
	}
	if err := printResults(stdout, st, id, study.Median, onTerminal()); err != nil {
		return err
	}
	fmt.Fprintln(stdout, sum.describe(time.Since(began)))
	if o.count {
		if err := printCosts(stdout, st, id); err != nil {
			return err
		}
	}
	if o.verify > 0 {
		if err := verify(ctx, s, config, o.verify); err != nil {
			return err
		}
	}
	return checkComplete(st, id)
}

// verify runs loads again and prints how they compare. A difference is an error unless a
// browser or a third-party server takes part: then it is only reported.
func verify(ctx context.Context, s *study.Study, c runner.Config, samples int) error {
	differing := 0
	fmt.Fprintf(stdout, "\nLoads run again, in guests that do what the first ones did until then:\n")
	err := runner.Verify(ctx, c, samples, func(r runner.Repetition) error {
		cell, verdict := r.Load.Cell, "the same in every metric and every byte of its artefacts"
		if !r.Same() {
			if !pageload.IsBrowser(cell.By()) && !cell.Unusual(study.AxisServer) {
				differing++
			}
			verdict = strings.Join(differences(r), "; ")
		}
		_, err := fmt.Fprintf(stdout, "%s  %s %s %s: %s\n", r.Load.ID, cell.Network.Name, cell.Subject(), way(s, cell), verdict)
		return err
	})
	if err == nil && differing > 0 {
		err = fmt.Errorf("%d loads without other people's programs came out differently when run again", differing)
	}
	return err
}

// checkComplete returns an error if planned loads ended without a valid attempt.
func checkComplete(st *store.Store, id int64) error {
	results, err := st.Results(id)
	if err != nil {
		return err
	}
	lacking := 0
	for _, r := range results {
		lacking += max(0, r.Planned-r.Valid-r.Unsupported)
	}
	if lacking > 0 {
		return fmt.Errorf("%d planned loads have no valid attempt; 'wiretime export csv' has the reason of each", lacking)
	}
	return nil
}
