package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/replay"
	"wiretime/site"
	"wiretime/site/check"
	"wiretime/terminal"
	"wiretime/workload/pageload"
)

type checkOptions struct {
	check.Config
	protocols []string
	learn     bool
}

func siteCheckCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use: "check SITE", Short: "Load a site over each protocol, and list what its archive lacks",
		Long: `Check loads a site in a lab, over a path without rate limit and with a one-way delay
of 5 ms. It compares the requests with the site's archive and lists the requests that
the archive cannot answer (misses), those that got the nearest match (inexact), the
requests that failed, and the resources that were never requested. It exits with 1 if
there are misses or failures, if the page did not load over a protocol, or if the
protocols differ in the resources that were requested.

--learn writes into the site which script requested which resource, and when, as
Chromium reports it. The loader builtin, which runs no scripts, relies on that.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return checkSite(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.protocols, "protocol", nil, "protocols, separated by commas (default: all that the loader supports)")
	f.StringVar(&o.Loader, "loader", pageload.Chromium, pageload.Chromium+" or "+pageload.Builtin)
	f.StringVar(&o.Chromium, "chromium", "", "Chromium's binary (default: the first one found)")
	f.DurationVar(&o.Timeout, "timeout", time.Minute, "limit of each load")
	f.BoolVar(&o.learn, "learn", false, "write into the site which script requested which resource")
	f.BoolVar(&o.Freeze, "freeze", false, "freeze the page's clock and random numbers, as the option freeze of studies does")
	return c
}

func checkSite(ctx context.Context, reference string, o checkOptions) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := o.parse(); err != nil {
		return input(err)
	}
	s, err := openSite(ctx, reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Loader == pageload.Chromium {
		if o.Chromium, err = chromium.Find(o.Chromium); err != nil {
			return err
		}
	}
	if err := lab.CheckTUN(); err != nil {
		return err
	}
	if _, err := lab.Enter(); err != nil {
		return err
	}
	o.Loading = func(protocol string) { fmt.Fprintf(stderr, "Loading %s over %s\n", s.Name, protocol) }
	results, err := check.Load(ctx, s, o.Config)
	if err != nil {
		return err
	}
	printChecks(stdout, results)
	if o.learn {
		if err := learn(s, results[0]); err != nil {
			return err
		}
	}
	if !check.Complete(results) {
		return fmt.Errorf("the replay of site %s is incomplete", s.Name)
	}
	return nil
}

// parse completes the configuration from the flags.
func (o *checkOptions) parse() (err error) {
	if o.Loader != pageload.Chromium && o.Loader != pageload.Builtin {
		return fmt.Errorf("--loader: unknown loader %q: want %s or %s", o.Loader, pageload.Chromium, pageload.Builtin)
	}
	if o.learn && o.Loader != pageload.Chromium {
		return fmt.Errorf("--learn needs --loader %s: the loader %s runs no scripts", pageload.Chromium, o.Loader)
	}
	o.Initiators = o.learn
	if o.Protocols, err = check.Protocols(o.Loader, o.protocols); err != nil {
		return fmt.Errorf("--protocol: %w", err)
	}
	return nil
}

// printChecks prints a table of the loads, what each of them lacks, and where they differ.
func printChecks(out io.Writer, results []check.Result) {
	w := terminal.NewTable(out)
	w.Right = true
	fmt.Fprintln(w, "protocol\trequests\tof the archive\tinexact\tmisses\tfailed\tonLoad, ms\t")
	for _, r := range results {
		v := r.Verdict
		fmt.Fprintf(w, "%s\t%d\t%d of %d, %.1f %%\t%d\t%d\t%d\t%.0f\t\n", r.Protocol, len(r.Record.Server),
			v.Requested, v.Recorded, 100*v.Share(), len(v.Inexact), len(v.Misses), len(v.Failed), r.Record.Timing.OnLoad)
	}
	_ = w.Flush() // to where the lines below would fail as well
	for _, r := range results {
		if r.Record.LoadError != nil {
			fmt.Fprintf(out, "\nThe page did not load over %s: %v\n", r.Protocol, r.Record.LoadError)
		}
	}
	loaded := check.Loaded(results) // the others say nothing about the archive
	for _, list := range []struct {
		title string
		of    func(check.Result) []string
	}{
		{"Renamed, because Chromium reaches hosts of these domains over TLS only:", func(r check.Result) []string { return r.Renamed }},
		{"Misses, which the archive cannot answer:", func(r check.Result) []string { return r.Verdict.Misses }},
		{"Failed:", func(r check.Result) []string { return failures(r.Verdict.Failed) }},
		{"Not waited for:", func(r check.Result) []string { return failures(r.Verdict.Unawaited) }},
		{"Inexact, which got the nearest match of the archive:", func(r check.Result) []string { return nearMatches(r.Verdict.Inexact) }},
		{"In the archive, but not requested:", func(r check.Result) []string { return r.Verdict.Never }},
	} {
		printList(out, list.title, loaded, list.of)
	}
	if differ := check.Differences(loaded); len(differ) > 0 {
		fmt.Fprintf(out, "\nRequested over some of the protocols only:\n")
		for _, line := range differ {
			fmt.Fprintf(out, "  %s\n", terminal.Line(line))
		}
	} else if len(loaded) > 1 {
		fmt.Fprintf(out, "\nThe same %d resources were requested over all %d protocols that loaded the page.\n", len(replay.Requests(loaded[0].Record.Server)), len(loaded))
	}
}

func failures(all []replay.Failure) (lines []string) {
	for _, f := range all {
		lines = append(lines, f.URL+": "+f.Reason)
	}
	return lines
}

func nearMatches(all []replay.Inexact) (lines []string) {
	for _, i := range all {
		lines = append(lines, i.Asked+" by "+i.Answered)
	}
	return lines
}

// printList prints the lines of all loads, each once. A line that not all loads have names
// the protocols of those that do.
func printList(out io.Writer, title string, results []check.Result, of func(check.Result) []string) {
	protocols := map[string][]string{}
	var order []string
	for _, r := range results {
		for _, line := range of(r) {
			if protocols[line] == nil {
				order = append(order, line)
			}
			if !slices.Contains(protocols[line], r.Protocol) {
				protocols[line] = append(protocols[line], r.Protocol)
			}
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	for _, line := range order {
		if len(protocols[line]) < len(results) {
			line += " (" + strings.Join(protocols[line], ", ") + ")"
		}
		fmt.Fprintf(out, "  %s\n", terminal.Line(line))
	}
}

// learn writes into the library's site what a load shows about initiators.
func learn(s *site.Site, r check.Result) error {
	learned, changed, err := replay.Learn(s, r.Record.HAR)
	if err != nil {
		return err
	}
	if changed == 0 {
		fmt.Fprintln(stdout, "\nThe site already has all initiators that Chromium reports.")
		return nil
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	if err := library.Replace(learned); err != nil {
		return input(err)
	}
	fmt.Fprintf(stdout, "\nLearned the initiators of %s.\n", english.Count(changed, "resource"))
	return nil
}
