package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/loader/session"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/protocol"
	"wiretime/runner"
	"wiretime/server"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/study/studyfile"
	"wiretime/terminal"
	"wiretime/workload/crowd"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
	"wiretime/workload/upload"
)

// defaultStore is where results are kept unless a flag says otherwise.
const defaultStore = "results"

type runOptions struct {
	study, store, clock string
	browsers            runner.Browsers // as chosen; empty: the first that is found
	resume              bool
	quick               bool
	storedCommands      bool // of a study that comes from the store may be run
	verify              int
	wait                time.Duration // for a quiet machine
	captureMemory       int64         // MB; 0: the default
	count               bool
	keep                string // overrides the study's; empty: what the study says
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
STUDY begins a new one. If the store's study starts programs of its own that you
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
			if o.captureMemory < 0 {
				return input(fmt.Errorf("run a study: --capture-memory %d: must not be negative", o.captureMemory))
			}
			return run(o)
		},
	}
	c.Flags().StringVar(&o.store, "store", defaultStore, "folder that keeps the results")
	browserFlags(c, &o.browsers)
	c.Flags().StringVar(&o.clock, "clock", "", "real, virtual or auto (default: what the study says)")
	c.Flags().IntVar(&o.verify, "verify-determinism", 0, "afterwards run `N` of the loads on the virtual clock again and compare them")
	c.Flags().DurationVar(&o.wait, "wait", 30*time.Second,
		"how long to wait for a quiet machine before loads on the real clock; 0: do not check the machine")
	c.Flags().Int64Var(&o.captureMemory, "capture-memory", 0,
		"memory in `MB` that the captures of all loads together may take; what does not fit goes to the store's disk (default: half of what is available)")
	c.Flags().BoolVar(&o.count, "count", false, "keep what each load on the virtual clock asked of the guest's kernel, and print what loads cost")
	c.Flags().StringVar(&o.keep, "keep", "", "which valid loads keep their artefacts: all, compressed, median (one of each cell) or none (default: what the study says)")
	c.Flags().BoolVar(&o.quick, "quick", false, "measure only the study's quick part (its key quick), or one repeat of each cell")
	c.Flags().BoolVar(&o.resume, "resume", false, "continue the store's unfinished run, if there is one")
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
	if err := confirmCommands(o, s); err != nil {
		return err
	}
	w, err := findWays(o, s)
	if err != nil {
		return err
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

// readStudy reads the named study or, to resume, the study in the store.
func readStudy(o runOptions, library site.Library) (*study.Study, error) {
	name, source, err := studySource(&o)
	if err != nil {
		return nil, err
	}
	s, err := parseStudy(name, source, library)
	if err == nil && o.quick {
		s.UseQuick()
	}
	if err == nil && o.clock != "" {
		err = input(s.UseClock(o.clock))
	}
	if err == nil && o.keep != "" {
		err = input(s.UseKeep(o.keep))
	}
	if err == nil {
		err = checkCount(o, s.Keep)
	}
	return s, err
}

func parseStudy(name string, source []byte, library site.Library) (*study.Study, error) {
	return studyfile.Parse(name, source, studyfile.Vocabulary{
		Protocols: protocol.Names(), Loaders: pageload.Loaders(), SiteKnown: library.KnownRef,
		Strategy: strategyName, Windows: studyfile.Windows{Name: pageload.WindowName, Refuse: pageload.RefuseWindow}, Metrics: units(runner.Metrics(study.Pages())), Servers: server.Names(), Placeholders: server.Placeholders(),
		Upload: upload.ParseReference, UploadMetrics: units(runner.Metrics(study.Uploads())),
		Transports: transport.Names(), Players: playback.Players(), Media: mediaSize, StreamMetrics: units(runner.Metrics(study.Streams())),
		CrowdMetrics: units(runner.Metrics(study.Crowds())),
	})
}

// units returns the units of metrics by name.
func units(metrics []study.Metric) map[string]string {
	units := map[string]string{}
	for _, m := range metrics {
		units[m.Name] = m.Unit
	}
	return units
}

// mediaSize returns the size of a file in octets, or 0 for a video.
func mediaSize(reference string) (int64, error) {
	item, err := storage.ParseMedia(reference)
	return item.Sizes[storage.Plain], err
}

// strategyName returns the canonical name of a strategy, which may have several.
func strategyName(word string) (string, error) {
	s, err := session.ParseStrategy(word)
	return s.String(), err
}

// studySource returns the study to measure. For one that is resumed it sets o.quick.
func studySource(o *runOptions) (name string, source []byte, err error) {
	if o.resume {
		return resumedSource(o)
	}
	return namedSource(o.study)
}

// namedSource returns a built-in study or one in a file.
func namedSource(study string) (name string, source []byte, err error) {
	if slices.Contains(builtin.Names(), study) {
		source, err = builtin.File(study)
		return study, source, err
	}
	source, err = readStudyFile(study)
	if errors.Is(err, fs.ErrNotExist) {
		_, unknown := builtin.File(study)
		return "", nil, input(fmt.Errorf("read the study %s: no such file; %w", study, unknown))
	}
	return study, source, input(err)
}

// readStudyFile reads no more of a file than is needed to see that it is too long.
func readStudyFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, studyfile.MaxSource+1))
}

// resumedSource returns the study of the store's unfinished run. If all its runs are finished,
// it returns the named study.
func resumedSource(o *runOptions) (name string, source []byte, err error) {
	unfinished, ok, err := unfinishedRun(o.store)
	if o.study != "" && (errors.Is(err, store.ErrNotStore) || err == nil && !ok) {
		return namedSource(o.study)
	}
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, input(fmt.Errorf("resume a run: store %s has no unfinished run", o.store))
	}
	if err := checkQuick(o, unfinished); err != nil {
		return "", nil, err
	}
	if o.study == "" {
		return cmp.Or(runner.StudyFile(unfinished.Environment), unfinished.StudyName), []byte(unfinished.StudyText), nil
	}
	name, source, err = namedSource(o.study)
	if err == nil && string(source) != unfinished.StudyText {
		err = input(fmt.Errorf("resume run %d of store %s: it measures study %s, but %s is another study or has changed since the run began; leave out the study to continue the run, or name another --store",
			unfinished.ID, o.store, unfinished.StudyName, o.study))
	}
	return name, source, err
}

// checkQuick makes sure that a quick run is not continued as a full one, nor a full one as a quick
// one. It sets o.quick if the unfinished run is a quick one.
func checkQuick(o *runOptions, unfinished store.Run) error {
	quick := unfinished.Quick()
	switch {
	case o.quick && !quick:
		return input(fmt.Errorf("resume run %d of store %s: it measures the whole study; leave out --quick, or name another --store", unfinished.ID, o.store))
	case quick && !o.quick && o.study != "":
		return input(fmt.Errorf("resume run %d of store %s: it is a quick run, which measures only a part of study %s; add --quick to continue it, or name another --store for a full run",
			unfinished.ID, o.store, unfinished.StudyName))
	}
	o.quick = quick
	return nil
}

func unfinishedRun(dir string) (store.Run, bool, error) {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return store.Run{}, false, err
	}
	defer st.Close()
	return st.UnfinishedRun()
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
	keep, err := whatToKeep(o, st, id)
	if err != nil {
		return err
	}
	programs, err := w.programs(ctx, s, sites)
	if err != nil {
		return err
	}
	var sum tally
	config := runner.Config{
		Store: st, Run: id, Seed: s.Seed, Awake: w.awake(), Options: s.Options, Sites: sites, Browsers: w.browsers, Servers: runner.Templates(s), Kernel: w.kernel, Count: o.count, CaptureMemory: o.captureMemory * 1e6,
		Keep: keep, Programs: programs,
		Report: func(a runner.Attempt) { sum.add(a); printAttempt(s, a) },
	}
	began := time.Now()
	err = runner.Run(ctx, config)
	if ctx.Err() != nil {
		return fmt.Errorf("run %d of study %s was interrupted; go on with: wiretime run --resume --store %s%w", id, s.Name, o.store, errInterrupted)
	}
	if err != nil {
		return err
	}
	if err := printResults(stdout, st, id); err != nil {
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

// tally counts what a run has measured.
type tally struct {
	loads   int
	virtual time.Duration // of the pages, or streams, on the virtual clock
	what    string        // was loaded: pages or streams
}

func (t *tally) add(a runner.Attempt) {
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

// beginRun continues the store's unfinished run, or begins a new one.
func beginRun(ctx context.Context, o runOptions, st *store.Store, s *study.Study, w *ways, sites map[string]*site.Site, privilege string) (int64, error) {
	unfinished, ok, err := st.UnfinishedRun()
	if err != nil {
		return 0, err
	}
	if ok && o.resume {
		fmt.Fprintf(stderr, "Going on with run %d of study %s: %d of %d loads are done.\n", unfinished.ID, unfinished.StudyName, unfinished.Done, unfinished.Planned)
		return unfinished.ID, nil
	}
	if ok {
		return 0, input(fmt.Errorf("begin a run: store %s has an unfinished run (run %d of study %s, %d of %d loads done); go on with --resume, or name another --store",
			o.store, unfinished.ID, unfinished.StudyName, unfinished.Done, unfinished.Planned))
	}
	file := o.study
	if !slices.Contains(builtin.Names(), file) {
		if file, err = filepath.Abs(file); err != nil {
			return 0, fmt.Errorf("find the study's folder: %w", err)
		}
	}
	cells := s.Cells(func(c study.Cell) string {
		if s.Options.Crowd == nil && w.virtual && !s.Foreign() && !w.mayBeReal() {
			return study.ClockVirtual
		}
		return runner.FasterClock(c, sites[c.On(study.AxisSite)], s.Options, w.virtual && !s.Foreign())
	})
	environment, err := runner.Environment(ctx, privilege, w.browsers, s.Matrix[study.AxisServer], w.kernel, w.state(), file, o.quick)
	if err != nil {
		return 0, err
	}
	spec := store.RunSpec{
		StudyName: s.Name, StudyText: string(s.Source), Seed: s.Seed, Version: runner.Version(),
		Environment: environment, Started: time.Now(), Keep: s.Keep, Metrics: runner.Metrics(s.Workload),
	}
	for i, c := range cells {
		cells[i].Network = runner.Network(c, sites[c.On(study.AxisSite)], s.Options)
	}
	spec.Cells, spec.Plan = cells, s.Plan(cells)
	addPaper(&spec, s, cells)
	id, err := st.BeginRun(spec)
	if err == nil {
		fmt.Fprintf(stderr, "Run %d of study %s: %d loads of %d cells, kept in %s.\n", id, s.Name, len(spec.Plan), len(spec.Cells), st.Dir())
	}
	return id, err
}

// addPaper adds the study's printed figures and claims to a run. It leaves out those about
// cells that the run lacks because a flag chose the clock.
func addPaper(spec *store.RunSpec, s *study.Study, cells []study.Cell) {
	for i, p := range s.Published {
		for _, f := range p.Figures {
			at := slices.IndexFunc(cells, f.Cell.Picks)
			if at < 0 {
				continue
			}
			spec.Published = append(spec.Published, store.Figure{Table: i + 1, Row: f.Row, Column: f.Column, Source: p.Source, Metric: p.Metric,
				Unit: p.Unit, RowLabel: f.RowLabel, ColumnLabel: f.ColumnLabel, Cell: cells[at].Key(), Printed: f.Printed, Value: f.Value})
		}
	}
	for _, c := range s.Claims {
		claim := store.Claim{Text: c.Text, Ratio: c.Ratio.Text, Low: c.Ratio.Low, High: c.Ratio.High, Open: c.Ratio.Open}
		for _, p := range c.Pairs(cells) {
			claim.Pairs = append(claim.Pairs, store.ClaimPair{Metric: c.Compare.Metric, Cell: p[0].Key(), ToMetric: c.To.Metric, ToCell: p[1].Key()})
		}
		if len(claim.Pairs) > 0 {
			spec.Claims = append(spec.Claims, claim)
		}
	}
}

// way returns a cell's protocol or transport, and its other values that are not the usual ones.
// It leaves out subject and network, and a loader, player or clock that all cells share.
func way(s *study.Study, c study.Cell) string {
	words := []string{c.Over()}
	for _, a := range c.Workload.Axes {
		if a.Axis == c.Workload.Subject || a.Axis == c.Workload.Over || slices.Contains(c.Workload.Path, a.Axis) {
			continue
		}
		choice := a.Usual == "" || a.Axis == study.AxisClock // every study makes it
		if c.Unusual(a.Axis) && (!choice || len(s.Matrix[a.Axis]) > 1) {
			words = append(words, a.Say(c.On(a.Axis)))
		}
	}
	return strings.Join(words, " ")
}

// printAttempt prints a progress line for one attempt.
func printAttempt(s *study.Study, a runner.Attempt) {
	metrics := runner.Metrics(a.Cell.Workload)
	headline := metrics[slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == a.Headline })].Title
	what := "no " + headline
	if a.Value >= 0 {
		what = fmt.Sprintf("%s %8.3f s", headline, a.Value/1000)
	}
	line := fmt.Sprintf("[%*d/%d] %-10s %-12s %-9s %s", len(fmt.Sprint(a.Planned)), a.Done, a.Planned, a.Cell.Network.Name, a.Cell.Subject(), way(s, a.Cell), what)
	if a.Validity != store.Valid {
		line += fmt.Sprintf("  %s: %s", a.Validity, terminal.Line(a.Reason))
	}
	if a.Done < a.Planned {
		line += fmt.Sprintf("  (about %v left)", a.Remaining.Round(time.Second))
	}
	fmt.Fprintln(stderr, line)
}
