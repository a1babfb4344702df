package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"wiretime/campaign"
	"wiretime/campaign/broker"
	"wiretime/english"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

type campaignOptions struct {
	run     runOptions
	name    string
	workers int

	workersGiven bool // by the user
	reach        reach
	server       string  // folder of the NATS server that a schedule runs; empty: no schedule does
	checks       float64 // percent of the batches
	room         int64   // MB
}

func campaignCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "campaign",
		Short: "Measure a study with several workers, on this machine and others",
		Args:  arguments(cobra.NoArgs),
	}
	c.AddCommand(campaignRunCommand())
	return c
}

func campaignRunCommand() *cobra.Command {
	var o campaignOptions
	c := &cobra.Command{
		Use:   "run STUDY",
		Short: "Divide a study among workers and keep its results in a store",
		Long: `Run plans the loads of a study, as 'wiretime run' does, and has workers make them
on the virtual clock. A batch of loads leaves the same bytes on any machine with
the same programs, so the store is the one that 'wiretime run' would have made.

A study that names places (at) is measured on the real or the live clock, by
workers there (docs/places.md).

Without further flags it starts a NATS server and one worker, both on this
machine. --listen lets workers on other machines in: each needs an invitation,
which --invite NAME writes, and joins with 'wiretime worker --join FILE'. --nats
uses a NATS server that is there already (docs/nats.md).

--resume continues a campaign that was interrupted or killed; --resume of a run
of 'wiretime run', and the other way round, work too.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.run.study = args[0]
			}
			if err := checkCampaign(c, &o); err != nil {
				return input(fmt.Errorf("run a campaign: %w", err))
			}
			return runCampaign(o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.run.store, "store", defaultStore, "folder that keeps the results")
	f.StringVar(&o.name, "name", "", "name of the campaign: a-z, 0-9 and - (default: the study's)")
	f.IntVar(&o.workers, "workers", 1, "start `N` workers on this machine, which share its cores; 0: none")
	o.reach.flags(c)
	f.Float64Var(&o.checks, "checks", 1, "`PERCENT` of the batches that are carried out twice, by different workers, and compared")
	f.Int64Var(&o.room, "room", 0, "`MB` that artefacts may take in NATS until they are in the store; when it is full, workers wait (default: 10 GB, or half of what is free on the store's disk)")
	f.BoolVar(&o.run.resume, "resume", false, "continue the store's unfinished run, if there is one")
	f.BoolVar(&o.run.quick, "quick", false, "measure only the study's quick part (its key quick), or one repeat of each cell")
	f.IntVar(&o.run.repeats, "repeats", 0, "measure each cell `N` times (default: what the study says)")
	f.StringVar(&o.run.keep, "keep", "", "which valid loads keep their artefacts: all, compressed, median (one of each cell) or none (default: what the study says)")
	f.BoolVar(&o.run.storedCommands, storedCommandsFlag, false, "with --resume: run the servers' commands of the store's study without asking")
	browserFlags(c, &o.run.browsers)
	slotFlags(c, &o.run)
	f.StringVar(&o.server, serverFlag, "", "folder of the schedule's NATS server")
	_ = f.MarkHidden(serverFlag) // it exists
	return c
}

func checkCampaign(c *cobra.Command, o *campaignOptions) error {
	given := c.Flags().Changed
	o.workersGiven = given("workers")
	if o.run.study == "" && !o.run.resume {
		return errors.New("no study given; name a file or a built-in study, which 'wiretime run --help' lists")
	}
	for flag, negative := range map[string]bool{"workers": o.workers < 0, "repeats": o.run.repeats < 0, "room": o.room < 0} {
		if negative {
			return fmt.Errorf("--%s %s: must not be negative", flag, c.Flags().Lookup(flag).Value)
		}
	}
	if !(o.checks >= 0 && o.checks <= 100) {
		return fmt.Errorf("--checks %v: must be a percentage, 0 to 100", o.checks)
	}
	if err := o.reach.check(c); err != nil || o.reach.access.URL == "" {
		return err
	}
	if given("workers") {
		return errors.New("--workers starts workers that join the NATS server of this program, and --nats names another one; leave out one of them (workers join with 'wiretime worker --nats')")
	}
	o.workers = 0
	return nil
}

// runCampaign is what 'wiretime run' is for a study that this process measures itself.
func runCampaign(o campaignOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	s, err := readStudy(o.run, library)
	if err != nil {
		return err
	}
	if err := fitCampaign(&o, s); err != nil {
		return input(fmt.Errorf("run a campaign of study %s: %w", s.Name, err))
	}
	if err := confirmCommands(o.run, s); err != nil {
		return err
	}
	w, err := findWays(o.run, s)
	if err != nil {
		return err
	}
	var sites map[string]*site.Site
	if !s.Live() {
		if sites, err = runner.Sites(ctx, library, s.Matrix[study.AxisSite]); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, runner.CloseSites(sites)) }()
	name := cmp.Or(o.name, campaignName(s.Name))
	if err := broker.CheckName(name); err != nil {
		return input(fmt.Errorf("run a campaign: %w; choose one with --name", err))
	}
	var conn *nats.Conn
	if o.reach.access.URL != "" {
		if conn, err = o.reach.access.Connect(ctx, "wiretime coordinator of "+name); err != nil {
			return err
		}
		defer conn.Close()
	}
	st, err := store.Open(o.run.store, store.Create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	id, err := beginRun(ctx, o.run, st, s, w, sites, privilegeOf(s))
	if err != nil {
		return err
	}
	pending, err := pendingInSlot(o.run, st, id, s)
	if err != nil {
		return err
	}
	keep, err := whatToKeep(o.run, st, id)
	if err != nil {
		return err
	}
	programs, err := runner.Programs(ctx, w.browsers, s.Matrix[study.AxisServer], w.kernel, sites)
	if err != nil {
		return err
	}
	c := campaign.Config{
		Conn: conn, Campaign: name, Store: st, Keep: keep, Checks: o.checks / 100,
		Plan: campaign.Plan{Study: s.Name, Seed: s.Seed, Options: s.Options, Servers: runner.Templates(s), Programs: programs, Bare: keep == study.KeepNone && len(s.Places()) == 0},
	}
	if o.reach.listen != "" || o.reach.access.URL != "" || o.server != "" { // workers of this machine have these programs
		c.Program, c.Kernel = "/proc/self/exe", w.kernel
	}
	if c.Batches, c.Cells, err = runner.Divide(runner.Config{Store: st, Run: id, Seed: s.Seed, Options: s.Options, Sites: sites, Browsers: w.browsers,
		Servers: runner.Templates(s), Kernel: w.kernel, Programs: programs, Slot: o.run.slot}); err != nil {
		return input(err)
	}
	if c.Run, err = st.Run(id); err != nil {
		return err
	}
	if !s.Live() {
		if c.Sites, err = addedSites(library, s.Matrix[study.AxisSite]); err != nil {
			return err
		}
	}
	if c.Octets = o.room * 1e6; o.room == 0 {
		if c.Octets, err = room(o.reach, st.Dir()); err != nil {
			return err
		}
	}
	if c.End, err = endOfSlot(o.run); err != nil {
		return err
	}
	failedBefore, err := failedLoads(st, id)
	if err != nil {
		return err
	}
	began, before := time.Now(), c.Run.Done
	err = conduct(ctx, o, c)
	if ctx.Err() != nil {
		return fmt.Errorf("campaign %s was interrupted; go on with: wiretime %s%w", c.Campaign, continuation("campaign run", o.run, s), errInterrupted)
	}
	if err != nil {
		return err
	}
	if o.run.slot > 0 {
		failed, err := failedLoads(st, id)
		if err != nil {
			return err
		}
		return checkSlot(pending, pending-(failed-failedBefore))
	}
	if err := printResults(stdout, st, id, study.Median, onTerminal()); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s measured in %v.\n", english.Count(c.Run.Planned-before, "load"), time.Since(began).Round(100*time.Millisecond))
	return checkComplete(st, id)
}

// usualRoom is how many octets artefacts may take in NATS, unless the user or the disk says otherwise.
const usualRoom = 10e9

// room returns how many octets artefacts may take in NATS. If its server is this program's, they lie on the disk of dir.
func room(r reach, dir string) (int64, error) {
	if r.access.URL != "" {
		return usualRoom, nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("find the room on the store's disk: %w", err)
	}
	return min(usualRoom, int64(fs.Bavail)*fs.Bsize/2), nil
}

// campaignName makes a name for a campaign from a study's.
func campaignName(study string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(study))
	return name[:min(len(name), 40)]
}

// addedSites returns the folders of the sites that are not built in, by name.
func addedSites(library site.Library, references []string) (map[string]string, error) {
	folders := map[string]string{}
	for _, reference := range references {
		name, folder, err := library.Added(reference)
		if err != nil {
			return nil, err
		}
		if name != "" {
			folders[name] = folder
		}
	}
	return folders, nil
}

// natsFolder is the folder of a store for the NATS server of its campaigns. It is removed when a campaign has ended to which no
// other machine had access.
const natsFolder = "nats"

// conduct runs the campaign, over a NATS server of its own or over one that is there.
func conduct(ctx context.Context, o campaignOptions, c campaign.Config) (err error) {
	shown := newCampaignProgress(stderr)
	defer shown.end()
	c.Report, c.Said = shown.report, func(line string) { fmt.Fprintln(stderr, line) }
	if o.server != "" {
		if c.Conn, c.Key, err = broker.Join(ctx, o.server); err != nil {
			return err
		}
		defer c.Conn.Close()
		return campaign.NewCoordinator(c).Conduct(ctx)
	}
	if c.Conn != nil {
		if c.Key, err = userKey(); err != nil {
			return err
		}
		if err := sayTrust(c.Key); err != nil {
			return err
		}
		return campaign.NewCoordinator(c).Conduct(ctx)
	}
	dir := filepath.Join(c.Store.Dir(), natsFolder)
	server, err := broker.Start(ctx, broker.Config{Dir: dir, Listen: o.reach.listen, Hosts: o.reach.hosts})
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, server.Close())
		}
	}()
	for _, name := range o.reach.invite {
		if err := invite(server, name, time.Now().Add(inviteTerm)); err != nil {
			return err
		}
	}
	if c.Conn, err = server.Coordinator(ctx); err != nil {
		return err
	}
	c.Key, c.Sole, c.Revoke = server.PlanKey(), true, server.Revoke
	if err := conductWith(ctx, c, server, o.workers); err != nil {
		return err
	}
	closed = true
	if err := server.Close(); err != nil || o.reach.listen != "" { // invitations stay valid
		return err
	}
	return os.RemoveAll(dir)
}

// conductWith runs the campaign with workers on this machine beside those that join.
func conductWith(ctx context.Context, c campaign.Config, server *broker.Server, workers int) error {
	defer c.Conn.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	crew := &crew{server: server, campaign: c.Campaign, dir: filepath.Join(c.Store.Dir(), natsFolder), size: workers, jobs: max(1, runtime.NumCPU()/max(1, workers)), said: c.Said}
	if err := crew.start(ctx, stop); err != nil {
		return err
	}
	defer crew.wait()
	err := campaign.NewCoordinator(c).Conduct(ctx)
	stop(nil)
	return err
}

// userKey returns the key that this user signs plans with, from $XDG_CONFIG_HOME/wiretime. The first call makes it.
func userKey() (nkeys.KeyPair, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("find the folder for the key that signs plans: %w", err)
	}
	dir = filepath.Join(dir, "wiretime")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for the key that signs plans: %w", err)
	}
	key, err := broker.OpenPlanKey(filepath.Join(dir, "campaign.nk"))
	if err != nil {
		return nil, fmt.Errorf("open the key that signs plans: %w", err)
	}
	return key, nil
}

func sayTrust(key nkeys.KeyPair) error {
	public, err := key.PublicKey()
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Workers join with: wiretime worker --nats URL --creds FILE --trust %s\n", public)
	return nil
}
