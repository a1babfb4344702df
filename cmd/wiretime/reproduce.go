package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

type reproduceOptions struct {
	store, out     string
	loads          []string
	browsers       runner.Browsers
	otherPrograms  bool // may carry the loads out
	storedCommands bool // of the store's study may be run
}

func reproduceCommand() *cobra.Command {
	var o reproduceOptions
	c := &cobra.Command{
		Use: "reproduce LOAD...", Short: "Carry loads on the virtual clock out again, compare them with the store, bring their artefacts back",
		Long: `Reproduce carries loads on the virtual clock out again, as the store says that they were made,
and compares every artefact, byte for byte by its SHA-256, and every metric. If a load's artefacts
were dropped (keep: median or none) and come out the same, they are put back into the store.

The exit code is 1 if anything differs. If this program, the kernel, the browser or another part
is not the one that made a load, nothing runs without --other-programs.`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			o.loads = args
			return reproduce(o)
		},
	}
	c.Flags().StringVar(&o.store, "store", defaultStore, "folder of the results")
	c.Flags().StringVar(&o.out, "out", "", "folder that gets the artefacts, one folder per load; the store stays as it is")
	c.Flags().StringVar(&o.browsers.Chromium, "chromium", "", "Chromium's binary (default: the first that is found)")
	c.Flags().StringVar(&o.browsers.Firefox, "firefox", "", "Firefox's binary (default: the first that is found)")
	c.Flags().BoolVar(&o.otherPrograms, "other-programs", false, "carry the loads out although the program, the kernel or the browser is another one")
	c.Flags().BoolVar(&o.storedCommands, storedCommandsFlag, false, "run the servers' commands of the store's study without asking")
	return c
}

// reproduce is called twice, as run is.
func reproduce(o reproduceOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	run, loads, err := loadsToReproduce(o)
	if err != nil {
		return err
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	s, err := parseStudy(cmp.Or(runner.StudyFile(run.Environment), run.StudyName), []byte(run.StudyText), library)
	if err != nil {
		return err
	}
	if run.Quick() {
		s.UseQuick()
	}
	if slots := runner.SlotsOf(run.Environment); slots != nil {
		s.UseSlots(slots)
	}
	if err := confirmCommands(runOptions{store: o.store, storedCommands: o.storedCommands}, s); err != nil {
		return err
	}
	if err := s.UseClock(study.ClockVirtual); err != nil {
		return err
	}
	s.Matrix[study.AxisLoader] = loadersOf(loads)
	w, err := findWays(runOptions{browsers: o.browsers}, s)
	if err != nil {
		return err
	}
	sites, err := runner.Sites(ctx, library, s.Matrix[study.AxisSite])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.CloseSites(sites)) }()
	if _, err := w.enter(ctx, 0); err != nil {
		return err
	}
	return compareLoads(ctx, o, run, s, loads, w, sites)
}

// loadsToReproduce returns the named loads and their run.
func loadsToReproduce(o reproduceOptions) (run store.Run, loads []store.Load, err error) {
	st, err := store.Open(o.store, store.Read)
	if err != nil {
		return run, nil, err
	}
	defer st.Close()
	for _, id := range o.loads {
		l, err := st.Load(id)
		if errors.Is(err, store.ErrNotFound) {
			err = input(err)
		}
		if err == nil {
			err = input(runner.Irreproducible(l))
		}
		if err == nil && len(loads) > 0 && l.Run != loads[0].Run {
			err = input(fmt.Errorf("load %s is of another run than load %s; reproduce the loads of one run at a time", l.ID, loads[0].ID))
		}
		if err != nil {
			return run, nil, fmt.Errorf("reproduce: %w", err)
		}
		loads = append(loads, l)
	}
	run, err = st.Run(loads[0].Run)
	return run, loads, err
}

// loadersOf returns the loaders, or players, of loads: no browser is needed that none of them uses.
func loadersOf(loads []store.Load) (loaders []string) {
	for _, l := range loads {
		if by := l.Cell.By(); !slices.Contains(loaders, by) {
			loaders = append(loaders, by)
		}
	}
	return loaders
}

func compareLoads(ctx context.Context, o reproduceOptions, run store.Run, s *study.Study, loads []store.Load, w *ways, sites map[string]*site.Site) (err error) {
	putBack := o.out == "" && slices.ContainsFunc(loads, func(l store.Load) bool { return l.Dropped })
	mode := store.Read
	if putBack {
		mode = store.Write
	}
	st, err := store.Open(o.store, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	programs, err := w.programs(ctx, s, sites)
	if err != nil {
		return err
	}
	if err := checkPrograms(o, st, loads, programs); err != nil {
		return err
	}
	differing := 0
	var shown repeating
	shown.watch = stderr.Watch(shown.line)
	err = runner.Reproduce(ctx, runner.Config{
		Store: st, Run: run.ID, Seed: s.Seed, Options: s.Options, Sites: sites, Browsers: w.browsers, Servers: runner.Templates(s), Kernel: w.kernel,
	}, loads, shown.carriedOut, func(r runner.Repetition) error {
		if !r.Same() {
			differing++
		}
		if err := printRepetition(r); err != nil {
			return err
		}
		return placeArtefacts(o, st, r)
	})
	shown.end()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while loads were carried out again; those that were compared are done%w", errInterrupted)
	}
	if err == nil && differing > 0 {
		err = fmt.Errorf("%d of %d loads came out differently", differing, len(loads))
	}
	return err
}

// repeating shows how many loads have been carried out again: on a terminal in one line that changes, elsewhere in a line for each.
type repeating struct {
	watch *terminal.Watch // nil: a line for each load

	mu        sync.Mutex // of what follows
	done, all int
}

func (p *repeating) line(int) terminal.Text {
	p.mu.Lock()
	defer p.mu.Unlock()
	return terminal.Text{{Style: terminal.Bold, Words: fmt.Sprintf("[%*d/%d]", len(fmt.Sprint(p.all)), p.done, p.all)}, {Words: "  loads carried out again"}}
}

func (p *repeating) carriedOut(done, all int) {
	p.mu.Lock()
	p.done, p.all = done, all
	p.mu.Unlock()
	if p.watch != nil {
		p.watch.Update()
		return
	}
	fmt.Fprintf(stderr, "[%*d/%d] carried out\n", len(fmt.Sprint(all)), done, all)
}

// end takes the line away.
func (p *repeating) end() {
	if p.watch != nil {
		p.watch.End()
	}
}

// checkPrograms makes sure that the programs are those that made the loads.
func checkPrograms(o reproduceOptions, st *store.Store, loads []store.Load, now map[string]string) error {
	for _, l := range loads {
		made, err := st.Making(l.ID)
		if err != nil {
			return err
		}
		different := runner.ComparePrograms(l, made, now)
		if len(different) == 0 {
			continue
		}
		var said strings.Builder
		for _, d := range different {
			fmt.Fprintf(&said, "    %s: %s; today: %s\n", d.Name, cmp.Or(terminal.Line(d.Then), "none"), cmp.Or(d.Now, "none"))
		}
		if !o.otherPrograms {
			return input(fmt.Errorf("reproduce load %s: it was made by other programs, or of another site:\n%sa load comes out the same only with the same ones: build or install those, or add --other-programs to see what these change", l.ID, said.String()))
		}
		fmt.Fprintf(stderr, "wiretime: note: load %s was made by other programs, or of another site:\n%s", l.ID, said.String())
	}
	return nil
}

func printRepetition(r runner.Repetition) error {
	after := "the first that its guest makes"
	if r.Before > 0 {
		after = fmt.Sprintf("after the %d that its guest makes before it", r.Before)
	}
	fmt.Fprintf(stdout, "load %s, %s, %s\n", r.Load.ID, r.Load.Cell.Key(), after)
	w := terminal.NewTable(stdout)
	for _, p := range r.Files {
		fmt.Fprintf(w, "    %s\t%s\n", terminal.Line(p.Name), describePair(p))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Same() {
		_, err := fmt.Fprintf(stdout, "    %d metrics and the verdict, %s: the same\n", r.Metrics, r.Validity)
		return err
	}
	for _, d := range differences(r) {
		fmt.Fprintf(stdout, "    %s\n", terminal.Line(d))
	}
	return nil
}

func describePair(p runner.FilePair) string {
	switch {
	case p.First == nil:
		return fmt.Sprintf("%d octets that the load in the store does not have", p.Second.Octets)
	case p.Second == nil:
		return fmt.Sprintf("missing; the load in the store has it, with %d octets", p.First.Octets)
	case p.Same():
		return fmt.Sprintf("the same %d octets, SHA-256 %s", p.First.Octets, p.First.SHA256)
	}
	return fmt.Sprintf("%d octets with SHA-256 %s; in the store %d with %s", p.Second.Octets, p.Second.SHA256, p.First.Octets, p.First.SHA256)
}

// placeArtefacts puts a load's artefacts where the user wants them.
func placeArtefacts(o reproduceOptions, st *store.Store, r runner.Repetition) error {
	switch {
	case o.out != "":
		dir := filepath.Join(o.out, r.Load.ID)
		if err := writeFolder(dir, r.CopyTo); err != nil {
			return fmt.Errorf("write the artefacts of load %s: %w", r.Load.ID, err)
		}
		fmt.Fprintf(stdout, "    its artefacts are in %s\n", dir)
	case r.Load.Dropped && r.SameFiles():
		if err := runner.PutBack(st, r); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "    its artefacts are back in %s\n", filepath.Join(st.Dir(), "loads", r.Load.ID))
	case r.Load.Dropped:
		fmt.Fprintf(stdout, "    its artefacts are not put back, since they are not those that were dropped; --out DIR keeps them elsewhere\n")
	}
	return nil
}

// differences lists what is not the same in a repetition, files first.
func differences(r runner.Repetition) []string {
	var all []string
	for _, p := range r.Files {
		if !p.Same() {
			all = append(all, p.Name+" differs")
		}
	}
	for _, d := range r.Differences {
		all = append(all, fmt.Sprintf("%s %g and %g %s", d.Metric.Name, d.First, d.Second, d.Metric.Unit))
	}
	if r.Validity != r.Load.Validity || r.Reason != r.Load.Reason {
		all = append(all, fmt.Sprintf("%s (%s), now %s (%s)", r.Load.Validity, r.Load.Reason, r.Validity, r.Reason))
	}
	return all
}
