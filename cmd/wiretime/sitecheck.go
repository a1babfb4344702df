package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/site"
	"wiretime/station"
	"wiretime/workload/pageload"
)

type checkOptions struct {
	protocols []string
	loader    string
	chromium  string
	timeout   time.Duration
	learn     bool
	freeze    bool
}

func siteCheckCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use: "check SITE", Short: "Load a site over each protocol, and list what it misses",
		Long: `Check loads a site in a lab, over a link without limits and with a delay of 5 ms,
and holds what was asked for against what the archive has: requests that it has no
answer to (misses), those that were answered with the nearest of what it has
(inexact), failures, and resources that nothing asked for. It ends with code 1 if
there are misses or failures, if the page did not load over a protocol, or if the
protocols differ in the resources of the archive that are asked for.

--learn writes into the site which scripts asked for which resources, and when, as
Chromium says. The loader builtin, which runs no scripts, goes by that.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return checkSite(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.protocols, "protocol", nil, "the protocols, separated by commas (default: all that the loader speaks)")
	f.StringVar(&o.loader, "loader", station.Chromium, station.Chromium+" or "+station.Builtin)
	f.StringVar(&o.chromium, "chromium", "", "Chromium's binary (default: the first that is found)")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long each load may take")
	f.BoolVar(&o.learn, "learn", false, "write into the site what asked for what")
	f.BoolVar(&o.freeze, "freeze", false, "with the page's clock and random numbers frozen, as by the option freeze of studies")
	return c
}

func checkSite(ctx context.Context, reference string, o checkOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	rows, err := o.rows()
	if err != nil {
		return input(err)
	}
	s, err := openSite(ctx, reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.loader == station.Chromium {
		if o.chromium, err = chromium.Find(o.chromium); err != nil {
			return err
		}
	}
	if err := lab.CheckTUN(); err != nil {
		return err
	}
	if _, err := lab.Enter(); err != nil {
		return err
	}
	checks, err := loadOverAll(ctx, s, rows, o)
	if err != nil {
		return err
	}
	sound := printChecks(os.Stdout, checks)
	if o.learn {
		if err := learn(s, checks); err != nil {
			return err
		}
	}
	if !sound {
		return fmt.Errorf("the site %s is not replayed whole", s.Name)
	}
	return nil
}

// rows are the protocols that the flags ask for.
func (o checkOptions) rows() ([]protocol.Protocol, error) {
	if o.loader != station.Chromium && o.loader != station.Builtin {
		return nil, fmt.Errorf("--loader: %q is neither %s nor %s", o.loader, station.Chromium, station.Builtin)
	}
	if o.learn && o.loader != station.Chromium {
		return nil, fmt.Errorf("--learn: the loader %s runs no scripts, so it has nothing to teach: use %s", o.loader, station.Chromium)
	}
	var rows []protocol.Protocol
	for _, p := range protocol.All() {
		if len(o.protocols) == 0 && (o.loader == station.Builtin || p.NoBrowser == "") {
			rows = append(rows, p)
		}
	}
	for _, name := range o.protocols {
		p, err := protocol.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("--protocol: %w", err)
		}
		if p.NoBrowser != "" && o.loader == station.Chromium {
			return nil, fmt.Errorf("--protocol %s: %s", name, p.NoBrowser)
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// check is what a load over one protocol has shown.
type check struct {
	protocol string
	renamed  []string // domains, and the names under which they were served
	record   *pageload.Record
	verdict  replay.Verdict
}

func loadOverAll(ctx context.Context, s *site.Site, rows []protocol.Protocol, o checkOptions) (checks []check, err error) {
	folder, err := os.MkdirTemp(lab.Scratch, "check-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the loads: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ca, err := protocol.OpenAuthority(filepath.Join(folder, "ca"))
	if err != nil {
		return nil, err
	}
	config := station.Config{Chromium: o.chromium, Stacks: o.learn, Authority: ca, ForceQUIC: s.Origins(), Lab: lab.Config{
		AccessLinks: 1, InstantDNS: true, TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304},
	}}
	st, err := station.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	link := network.Link{Delay: 5 * time.Millisecond}
	for _, p := range rows {
		fmt.Fprintf(os.Stderr, "Loading %s over %s\n", s.Name, p.Name)
		dir, err := os.MkdirTemp(folder, "load-")
		if err != nil {
			return nil, err
		}
		loaded, err := st.Load(ctx, station.Order{Page: &pageload.Order{
			Loader: o.loader, Protocol: p.Name, Seed: 1, Timeout: o.timeout, Freeze: o.freeze,
			Path: network.Path{Name: "check", Access: []network.Access{{Name: "access", Up: link, Down: link}}},
			TCP:  lab.TCPOptions{Congestion: "cubic", InitCwnd: 10},
		}}, s, dir)
		if err != nil {
			return nil, err
		}
		record := loaded.Page
		renamed := renames(record.HAR)
		replay.RestoreNames(record.HAR, record.Server)
		checks = append(checks, check{p.Name, renamed, record, replay.Compare(s, record.HAR, record.Server)})
	}
	return checks, nil
}

// printChecks prints a table of the loads, what each lacks, and where they differ. It
// says whether all is well.
func printChecks(out io.Writer, checks []check) (sound bool) {
	sound = true
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "protocol\trequests\tof the archive\tinexact\tmisses\tfailed\tonLoad, ms\t")
	for _, c := range checks {
		v := c.verdict
		fmt.Fprintf(w, "%s\t%d\t%d of %d, %.1f %%\t%d\t%d\t%d\t%.0f\t\n", c.protocol, len(c.record.Server),
			v.Requested, v.Recorded, 100*v.Share(), len(v.Inexact), len(v.Misses), len(v.Failed), c.record.Timing.OnLoad)
		sound = sound && len(v.Misses)+len(v.Failed) == 0 && c.record.LoadError == nil
	}
	_ = w.Flush()      // to where the lines below would fail as well
	var loaded []check // what did not load says nothing of the archive
	for _, c := range checks {
		if c.record.LoadError != nil {
			fmt.Fprintf(out, "\nOver %s the page did not load: %v\n", c.protocol, c.record.LoadError)
		} else {
			loaded = append(loaded, c)
		}
	}
	checks = loaded
	list := func(title string, of func(check) []string) {
		seen := map[string][]string{}
		var order []string
		for _, c := range checks {
			for _, line := range of(c) {
				if seen[line] == nil {
					order = append(order, line)
				}
				if !slices.Contains(seen[line], c.protocol) {
					seen[line] = append(seen[line], c.protocol)
				}
			}
		}
		if len(order) == 0 {
			return
		}
		fmt.Fprintf(out, "\n%s\n", title)
		for _, line := range order {
			if len(seen[line]) < len(checks) {
				line += " (" + strings.Join(seen[line], ", ") + ")"
			}
			fmt.Fprintf(out, "  %s\n", line)
		}
	}
	list("Renamed, since Chromium reaches hosts of these domains over TLS alone:", func(c check) []string { return c.renamed })
	list("Misses: asked for, and not in the archive:", func(c check) []string { return c.verdict.Misses })
	list("Failed:", func(c check) (lines []string) {
		for _, f := range c.verdict.Failed {
			lines = append(lines, f.URL+": "+f.Reason)
		}
		return lines
	})
	list("Not waited for:", func(c check) (lines []string) {
		for _, f := range c.verdict.Unawaited {
			lines = append(lines, f.URL+": "+f.Reason)
		}
		return lines
	})
	list("Inexact: answered with the nearest of the archive:", func(c check) (lines []string) {
		for _, i := range c.verdict.Inexact {
			lines = append(lines, i.Asked+" by "+i.Answered)
		}
		return lines
	})
	list("In the archive, but not asked for:", func(c check) []string { return c.verdict.Never })
	if differ := differences(checks); len(differ) > 0 {
		sound = false
		fmt.Fprintf(out, "\nAsked for over some of the protocols only:\n")
		for _, line := range differ {
			fmt.Fprintf(out, "  %s\n", line)
		}
	} else if len(checks) > 1 {
		fmt.Fprintf(out, "\nThe same %d resources were asked for over all %d protocols that loaded the page.\n", len(replay.Requests(checks[0].record.Server)), len(checks))
	}
	return sound
}

// renames are the domains that had other names in a load, a line each.
func renames(har *capture.HAR) (lines []string) {
	if har == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(har.Log.RenamedDomains)) {
		lines = append(lines, name+" to "+har.Log.RenamedDomains[name])
	}
	return lines
}

// differences are the requests that were not made over every protocol.
func differences(checks []check) []string {
	over := map[string][]string{}
	for _, c := range checks {
		for _, request := range replay.Requests(c.record.Server) {
			over[request] = append(over[request], c.protocol)
		}
	}
	var lines []string
	for request, protocols := range over {
		if len(protocols) < len(checks) {
			lines = append(lines, request+" ("+strings.Join(protocols, ", ")+")")
		}
	}
	slices.Sort(lines)
	return lines
}

// learn writes into the library's site what the first of the loads says of initiators.
func learn(s *site.Site, checks []check) error {
	learned, changed, err := replay.Learn(s, checks[0].record.HAR)
	if err != nil {
		return err
	}
	if changed == 0 {
		fmt.Println("\nNothing new was learned of what asks for what.")
		return nil
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	if err := library.Replace(learned); err != nil {
		return input(err)
	}
	fmt.Printf("\nLearned of %s what asks for it.\n", several(changed, "resource"))
	return nil
}
