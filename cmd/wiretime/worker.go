package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/campaign"
	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/study"
)

type workerOptions struct {
	join     string
	access   broker.Access
	trust    string
	folder   string
	jobs     int
	core     int
	commands bool // a study's own servers may run commands
	browsers runner.Browsers
}

func workerCommand() *cobra.Command {
	var o workerOptions
	c := &cobra.Command{
		Use:   "worker",
		Short: "Carry out batches of campaigns",
		Long: `Worker joins the campaigns of a coordinator ('wiretime campaign run'), carries out
batches of their loads on the virtual clock, and sends back what they left. It
needs one outgoing connection. It works until it is interrupted, and then gives
back what it has not finished.

--join takes the invitation that 'wiretime campaign run --invite NAME' has
written. --nats, --creds and --trust join over a NATS server of your own
(docs/nats.md).

It carries out only plans that are signed with the key that it trusts, and only
where program, kernel, browsers and sites are the coordinator's, by their
checksums and versions.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case o.join == "" && o.access.URL == "":
				return input(errors.New("work for campaigns: name an invitation with --join, or a NATS server with --nats"))
			case o.join == "" && o.trust == "":
				return input(errors.New("work for campaigns: --trust is missing: the coordinator prints the key that its plans are signed with"))
			case o.jobs < 1 || o.core < 0:
				return input(fmt.Errorf("work for campaigns: --jobs %d must be positive, and --core %d must not be negative", o.jobs, o.core))
			}
			return runWorker(o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.join, "join", "", "invitation `FILE` of a coordinator")
	accessFlags(c, &o.access)
	f.StringVar(&o.trust, "trust", "", "public `KEY` that plans must be signed with, as the coordinator prints it")
	f.StringVar(&o.folder, "folder", "", "folder for what batches leave until it is sent (default: in the cache folder)")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "`N` batches at once, each on a core of its own")
	f.IntVar(&o.core, "core", 0, "the first of these cores, from 0")
	f.BoolVar(&o.commands, "allow-commands", false, "also carry out studies that start servers of their own, by commands that they name")
	browserFlags(c, &o.browsers)
	for _, flag := range []string{"nats", "creds", "tlsca", "tlscert", "tlskey", "trust"} {
		c.MarkFlagsMutuallyExclusive("join", flag)
	}
	return c
}

func runWorker(o workerOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	if o.folder, err = workerFolder(o.folder); err != nil {
		return err
	}
	if o.join != "" {
		i, err := broker.ReadInvitation(o.join)
		if err != nil {
			return input(err)
		}
		if o.access, err = i.Access(o.folder); err != nil {
			return err
		}
		o.trust = i.Trust
	}
	name, err := o.access.User()
	if err != nil {
		return input(err)
	}
	if name == "" {
		return input(errors.New("work for campaigns: --creds is missing: a worker goes by the name of its NATS user"))
	}
	conn, err := o.access.Connect(ctx, "wiretime worker "+name)
	if err != nil {
		return err
	}
	defer conn.Close()
	w, err := campaign.NewWorker(ctx, campaign.WorkerConfig{
		Conn: conn, Name: name, Jobs: o.jobs, Core: o.core, Dir: o.folder, Trust: o.trust,
		Prepare: func(ctx context.Context, p *campaign.Plan, sites string) (campaign.Executor, error) {
			return prepare(ctx, o, p, sites)
		},
		Said: func(line string) { fmt.Fprintln(stderr, line) },
	})
	if err != nil {
		return err
	}
	err = w.Run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("the worker was stopped; unfinished batches are given back%w", errInterrupted)
	}
	return err
}

// workerFolder makes the folder of a worker.
func workerFolder(named string) (string, error) {
	if named == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a folder for batches: %w", err)
		}
		named = filepath.Join(cache, "wiretime", "worker")
	}
	dir, err := filepath.Abs(named)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for batches: %w", err)
	}
	return dir, nil
}

// prepared carries out a plan with sites that it has opened.
type prepared struct {
	*runner.Executor
	sites map[string]*site.Site
}

func (p prepared) Close() error { return errors.Join(p.Executor.Close(), runner.CloseSites(p.sites)) }

// prepare makes this machine ready for a plan, if it has the same programs.
func prepare(ctx context.Context, o workerOptions, p *campaign.Plan, sitesFolder string) (_ campaign.Executor, err error) {
	unfit := func(err error) error { return fmt.Errorf("%w: %w", campaign.ErrUnfit, err) }
	cells, err := p.StudyCells()
	if err != nil {
		return nil, err
	}
	if len(p.Servers) > 0 && !o.commands {
		var commands []string
		for _, s := range p.Servers {
			commands = append(commands, fmt.Sprintf("%q", s.Command))
		}
		return nil, unfit(fmt.Errorf("study %s starts servers of its own: %s; look at them, then add --allow-commands", p.Study, strings.Join(commands, ", ")))
	}
	s := &study.Study{Name: p.Study, Workload: cells[0].Workload, Matrix: map[study.Axis][]string{}}
	for _, axis := range []study.Axis{study.AxisLoader, study.AxisServer, study.AxisSite, study.AxisClock} {
		s.Matrix[axis] = wordsOf(cells, axis)
	}
	w, err := findWays(runOptions{browsers: o.browsers}, s)
	if err != nil {
		return nil, unfit(err)
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return nil, err
	}
	library.Dir = sitesFolder
	sites, err := runner.Sites(ctx, library, s.Matrix[study.AxisSite])
	if err != nil {
		return nil, unfit(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, runner.CloseSites(sites))
		}
	}()
	programs, err := w.programs(ctx, s, sites)
	if err != nil {
		return nil, unfit(err)
	}
	if err := sameAs(p.Programs, programs); err != nil {
		return nil, unfit(err)
	}
	c := p.Config()
	c.Sites, c.Browsers, c.Kernel = sites, w.browsers, w.kernel
	executor, err := runner.NewExecutor(ctx, c, cells)
	if err != nil {
		return nil, err
	}
	return prepared{executor, sites}, nil
}

// wordsOf returns the values of cells on an axis, each once, without the empty one.
func wordsOf(cells []study.Cell, axis study.Axis) []string {
	all := map[string]bool{}
	for _, c := range cells {
		all[c.On(axis)] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// sameAs says in what this machine's programs are others than the plan's.
func sameAs(wanted, here map[string]string) error {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if here[name] != wanted[name] {
			differ = append(differ, fmt.Sprintf("%s is %q here, and %q at the coordinator", name, here[name], wanted[name]))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("it has other programs: %s; install the coordinator's", strings.Join(differ, "; "))
	}
	return nil
}
