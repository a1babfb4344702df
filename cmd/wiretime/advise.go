package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/advise"
	"wiretime/lab"
	"wiretime/loader/browser"
	"wiretime/loader/chromium"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/site/record"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/studyfile"
	"wiretime/terminal"
	"wiretime/workload/pageload"
)

type adviseOptions struct {
	site                  string // reference or URL
	population, store     string
	output                string
	question              advise.Question
	resume, json, builtin bool
	list                  bool // the populations
	browsers              runner.Browsers
}

// leastLoads is how many loads of each cell give intervals for 25 changes at once.
const leastLoads = 10

func adviseCommand() *cobra.Command {
	var o adviseOptions
	c := &cobra.Command{
		Use: "advise SITE|URL", Short: "Find out what would help a page for its users",
		Long: `Advise measures on the virtual clock what could be changed about a page and its
servers: protocols, windows, congestion control, preloads and Early Hints, hosts,
compression, TLS, 0-RTT and distance. It ranks the changes by what they save a
population of networks, combines what helps, and verifies the best with Chromium.

SITE is what a study can name; a URL is recorded first ('wiretime site record') unless
there is a site of its host's name. docs/advise.md says what the figures mean.

A POPULATION is a built-in one (--populations lists them), a file with a network and its
weight on each line, or the same in one line: 'lte: 40, cable: 45, 3g: 10'.`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.list != (len(args) == 0) || len(args) > 1 {
				return input(errors.New("advise: name one site or URL, or list the populations with --populations"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if o.list {
				return listPopulations()
			}
			o.site = args[0]
			return adviseOn(o)
		},
	}
	f, q := c.Flags(), &o.question
	f.StringVar(&o.population, "population", network.Populations()[0].Name, "the users' networks: `NAME`, file, or 'lte: 40, cable: 45'")
	f.BoolVar(&o.list, "populations", false, "list the built-in populations with their sources")
	f.StringVar(&q.Protocol, "protocol", "h2", "over which the site is served today")
	f.StringVar(&q.Metric, "metric", "onload", "by which changes are ranked: a metric of pages in ms")
	f.IntVar(&q.Loads, "loads", leastLoads, "loads of each cell; fewer than 10 decide little")
	f.Uint64Var(&q.Seed, "seed", 1, "of losses, the loads' order and the intervals")
	f.DurationVar(&q.Distance, "distance", 20*time.Millisecond, "of round trip by which servers come nearer, or are farther away")
	f.BoolVar(&q.SPDY, "spdy", false, "measure SPDY/3.1, too")
	f.BoolVar(&q.Quick, "quick", false, "only single changes, for the two networks with the greatest weights, without Chromium")
	f.BoolVar(&o.builtin, "no-browser", false, "do not verify the best with Chromium")
	f.StringVarP(&o.output, "output", "o", "advice.html", "page to write, for the people who decide")
	f.BoolVar(&o.json, "json", false, "print the advice as JSON instead of tables")
	f.StringVar(&o.store, "store", "advice", "folder that keeps the measurements")
	f.BoolVar(&o.resume, "resume", false, "go on with what the store has of the same question")
	f.StringVar(&o.browsers.Chromium, "chromium", "", "Chromium's binary (default: the first that is found)")
	return c
}

func listPopulations() error {
	for _, p := range network.Populations() {
		var shares []string
		for _, s := range p.Shares {
			shares = append(shares, fmt.Sprintf("%s %.3g %%", s.Network, 100*p.Part(s)))
		}
		if _, err := fmt.Fprintf(stdout, "%s: %s\n  %s\n  source: %s\n  %s\n", p.Name, p.Title, strings.Join(shares, ", "), p.Source, p.Note); err != nil {
			return err
		}
	}
	return nil
}

// readPopulation reads what --population says.
func readPopulation(word string) (network.Population, error) {
	if strings.Contains(word, ":") && !strings.Contains(word, "/") {
		return inlinePopulation(word)
	}
	known, unknown := network.LookupPopulation(word)
	if unknown == nil {
		return known, nil
	}
	text, err := readStudyFile(word)
	if errors.Is(err, fs.ErrNotExist) {
		return known, input(fmt.Errorf("read the population: no file %s, and %w", word, unknown))
	}
	if err != nil {
		return known, input(err)
	}
	p, err := studyfile.ParsePopulation(word, text)
	p.Title = "The users that the file names"
	return p, err
}

// inlinePopulation reads a population in one line, with or without braces.
func inlinePopulation(word string) (network.Population, error) {
	line, added := word, 0
	if !strings.HasPrefix(strings.TrimSpace(word), "{") {
		line, added = "{"+word+"}", 1
	}
	p, err := studyfile.ParsePopulation("--population", []byte(line))
	if mistakes, ok := errors.AsType[studyfile.Errors](err); ok {
		for i := range mistakes {
			mistakes[i].Column = max(1, mistakes[i].Column-added)
		}
	}
	p.Name, p.Title = strings.TrimSpace(word), "The users that the command names"
	return p, err
}

// check returns an error for flags that make no question.
func (o *adviseOptions) check() (err error) {
	q := &o.question
	if q.Population, err = readPopulation(o.population); err != nil {
		return err
	}
	if _, err := protocol.Lookup(q.Protocol); err != nil {
		return fmt.Errorf("--protocol: %w", err)
	}
	metrics := runner.Metrics(study.Pages())
	i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == q.Metric && m.Unit == "ms" })
	if i < 0 {
		return fmt.Errorf("--metric %s: must be a metric of pages in ms, such as onload, dcl or plt", q.Metric)
	}
	q.MetricTitle = metrics[i].Title
	if q.Loads < 1 || q.Loads > 1000 {
		return fmt.Errorf("--loads %d: must be 1 to 1000", q.Loads)
	}
	if q.Distance <= 0 || q.Distance > 10*time.Second {
		return fmt.Errorf("--distance %v: must be positive, at most 10s", q.Distance)
	}
	return nil
}

// adviseOn is called twice, like run: outside, where it records and fetches, and inside the lab's namespaces.
func adviseOn(o adviseOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	if err := o.check(); err != nil {
		return input(err)
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	if o.question.Site, err = siteOf(ctx, o, library); err != nil {
		return err
	}
	page, err := library.Open(ctx, o.question.Site)
	if err != nil {
		return input(err)
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	if !o.builtin && !o.question.Quick {
		o.question.Browser = pageload.Chromium
		if o.browsers.Chromium, err = chromium.Find(o.browsers.Chromium); err != nil {
			return fmt.Errorf("%w, or leave Chromium out with --no-browser", err)
		}
	}
	privilege, err := (&ways{}).enter(ctx, 0)
	if err != nil {
		return err
	}
	st, err := store.Open(o.store, store.Create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	noteKey(st)
	a := &advisor{adviseOptions: o, store: st, library: library, privilege: privilege}
	advice, err := advise.Advise(ctx, o.question, page, a.measure)
	if ctx.Err() != nil {
		return fmt.Errorf("the advice is not complete; go on with the same command and --resume%w", errInterrupted)
	}
	if err != nil {
		return err
	}
	return o.show(advice)
}

// siteOf returns the reference of the site. A URL is recorded, unless there is a site of its host's name.
func siteOf(ctx context.Context, o adviseOptions, library site.Library) (string, error) {
	if !strings.Contains(o.site, "://") {
		return o.site, input(library.KnownRef(o.site))
	}
	u, err := url.Parse(o.site)
	if err != nil || u.Hostname() == "" {
		return "", input(fmt.Errorf("advise on %q: want a site, or a URL such as https://www.example.org/", o.site))
	}
	name := site.NameFrom(u.Hostname())
	if err := library.KnownRef(name); err == nil {
		if !lab.Inside() {
			fmt.Fprintf(stderr, "There is a recording of %s: site %s. To record anew, use 'wiretime site record --replace'.\n", u.Hostname(), name)
		}
		return name, nil
	}
	return name, recordSite(ctx, o.site, recordOptions{name: name, chromium: o.browsers.Chromium, limit: 2 * time.Minute, quiet: time.Second,
		maxRequests: browser.MaxRequests, maxSize: record.DefaultMaxSize})
}

// show prints the advice and writes its page.
func (o *adviseOptions) show(advice *advise.Advice) error {
	if err := advice.WritePage(o.output, runner.Version()); err != nil {
		return err
	}
	if o.json {
		text, err := json.MarshalIndent(advice, "", "  ")
		if err == nil {
			_, err = forPrograms.Write(append(text, '\n'))
		}
		return err
	}
	if err := advice.WriteText(stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stderr, "Page written to", o.output)
	return err
}

// advisor measures the rounds of an advice.
type advisor struct {
	adviseOptions
	store     *store.Store
	library   site.Library
	privilege string
}

// measure implements advise.Measure.
func (a *advisor) measure(ctx context.Context, text []byte, what string) (results []store.Result, unsupported map[string]string, err error) {
	s, err := parseStudy("the study of an advice", text, a.library)
	if err != nil {
		return nil, nil, err
	}
	run, found, err := a.earlier(s)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintln(stderr, what)
	if !found || run.Finished.IsZero() {
		if run.ID, err = a.run(ctx, s, run.ID); err != nil {
			return nil, nil, err
		}
	}
	if results, err = a.store.Results(run.ID, a.question.Metric); err != nil {
		return nil, nil, err
	}
	unsupported, err = a.unsupported(run.ID, results)
	return results, unsupported, err
}

// earlier returns the store's run of the same study, if what it has is to be used. It is an error if another run is unfinished.
func (a *advisor) earlier(s *study.Study) (store.Run, bool, error) {
	runs, err := a.store.Runs()
	if err != nil {
		return store.Run{}, false, err
	}
	slices.Reverse(runs)
	same := slices.IndexFunc(runs, func(r store.Run) bool { return r.StudyText == string(s.Source) })
	open := slices.IndexFunc(runs, func(r store.Run) bool { return r.Finished.IsZero() })
	switch {
	case open >= 0 && (open != same || !a.resume):
		return store.Run{}, false, input(fmt.Errorf("advise: store %s has an unfinished run (run %d of study %s); go on with the same command and --resume, or name another --store",
			a.store.Dir(), runs[open].ID, runs[open].StudyName))
	case same < 0 || !a.resume:
		return store.Run{}, false, nil
	}
	return runs[same], true, nil
}

// run measures a study in a new run or, with an ID, continues that one.
func (a *advisor) run(ctx context.Context, s *study.Study, id int64) (run int64, err error) {
	o := runOptions{study: s.Name, store: a.adviseOptions.store, browsers: a.browsers}
	w, err := findWays(o, s)
	if err != nil {
		return 0, err
	}
	sites, err := runner.Sites(ctx, a.library, s.Matrix[study.AxisSite])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runner.CloseSites(sites)) }()
	if id == 0 {
		if id, err = beginRun(ctx, o, a.store, s, w, sites, a.privilege); err != nil {
			return 0, err
		}
	}
	programs, err := w.programs(ctx, s, sites)
	if err != nil {
		return 0, err
	}
	began, sum := time.Now(), tally{}
	shown := newProgress(stderr, s, false, false)
	err = runner.Run(ctx, runner.Config{
		Store: a.store, Run: id, Seed: s.Seed, Options: s.Options, Sites: sites, Browsers: w.browsers, Kernel: w.kernel, Keep: s.Keep, Programs: programs,
		Report: func(at runner.Attempt) { sum.add(at); shown.attempt(at) }, UnderWay: shown.underWay,
	})
	shown.end()
	if err == nil {
		fmt.Fprintln(stderr, sum.describe(time.Since(began)))
	}
	return id, err
}

// unsupported returns why cells of a run could not be measured.
func (a *advisor) unsupported(run int64, results []store.Result) (map[string]string, error) {
	if !slices.ContainsFunc(results, func(r store.Result) bool { return r.Unsupported > 0 }) {
		return nil, nil
	}
	loads, err := a.store.Loads(run)
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, l := range loads {
		if l.Validity == store.Unsupported {
			why[l.Cell.Key()] = terminal.Line(l.Reason)
		}
	}
	return why, nil
}
