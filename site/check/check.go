// Package check loads a site in a lab over several protocols and compares what each load
// requested with what the site's archive holds.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"wiretime/lab"
	"wiretime/network"
	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/site"
	"wiretime/station"
	"wiretime/workload/pageload"
)

// Config says how a site is loaded.
type Config struct {
	// Loader is pageload.Chromium or pageload.Builtin.
	Loader string
	// Chromium is the browser's binary; the builtin loader ignores it.
	Chromium string
	// Protocols has a row for each load.
	Protocols []protocol.Protocol
	// Timeout limits each load.
	Timeout time.Duration
	// Initiators has Chromium report which script requested a resource, which Learn needs.
	Initiators bool
	// Freeze freezes the page's clock and random numbers.
	Freeze bool
	// Loading is called with the protocol's name before each load.
	Loading func(protocol string)
}

// Result is what one load showed.
type Result struct {
	Protocol string
	// Renamed describes the domains that were served under other names, as replay.Renamed does.
	Renamed []string
	Record  *pageload.Record
	// Verdict compares the load with the archive. It means nothing if Record.LoadError is set.
	Verdict replay.Verdict
}

// Protocols returns the rows of the named protocols; no names means all that the loader
// speaks. It is an error if the loader does not speak one of them.
func Protocols(loader string, names []string) ([]protocol.Protocol, error) {
	var rows []protocol.Protocol
	for _, p := range protocol.All() {
		if len(names) == 0 && (loader == pageload.Builtin || p.NoBrowser == "") {
			rows = append(rows, p)
		}
	}
	for _, name := range names {
		p, err := protocol.Lookup(name)
		if err != nil {
			return nil, err
		}
		if p.NoBrowser != "" && loader == pageload.Chromium {
			return nil, fmt.Errorf("%s: %s", name, p.NoBrowser)
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// Load loads the site over each protocol, on a path without rate limit and with a one-way
// delay of 5 ms. The program must have called lab.Enter. A page that does not load is no
// error; its result says so.
func Load(ctx context.Context, s *site.Site, c Config) (results []Result, err error) {
	folder, err := os.MkdirTemp(lab.Scratch, "check-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the loads: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ca, err := protocol.NewAuthority()
	if err != nil {
		return nil, err
	}
	st, err := station.Open(ctx, station.Config{
		Chromium: c.Chromium, Stacks: c.Initiators, Authority: ca, ForceQUIC: s.Origins(),
		Lab: lab.Config{
			AccessLinks: 1, InstantDNS: true, TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem(),
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for _, p := range c.Protocols {
		c.Loading(p.Name)
		dir, err := os.MkdirTemp(folder, "load-")
		if err != nil {
			return nil, err
		}
		var record *pageload.Record
		err = panics.Run(ctx, func(ctx context.Context) error {
			loaded, err := c.order(p).RunOn(ctx, st, s, dir)
			if err != nil {
				return err
			}
			record = loaded.(*pageload.Record)
			if panics.In(record.LoadError) != nil {
				return record.LoadError
			}
			return nil
		}, nil)
		if panics.In(err) != nil {
			return nil, fmt.Errorf("load site %s over %s: %w", s.Name, p.Name, err)
		}
		if err != nil {
			return nil, err
		}
		renamed := replay.Renamed(record.HAR)
		replay.RestoreNames(record.HAR, record.Server)
		results = append(results, Result{p.Name, renamed, record, replay.Compare(s, record.HAR, record.Server)})
	}
	return results, nil
}

// order describes the load over one protocol.
func (c Config) order(p protocol.Protocol) *pageload.Order {
	link := network.Link{Delay: 5 * time.Millisecond}
	return &pageload.Order{
		Loader: c.Loader, Protocol: p.Name, Seed: 1, Timeout: c.Timeout, Freeze: c.Freeze,
		Path: network.Path{Name: "check", Access: []network.Access{{Name: "access", Up: link, Down: link}}},
		TCP:  lab.TCPOptions{Congestion: "cubic", InitCwnd: 10},
	}
}

// Loaded returns the results of the loads in which the page loaded.
func Loaded(results []Result) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Record.LoadError != nil })
}

// Complete reports whether the page loaded in every load, without misses or failures, and
// whether all loads requested the same.
func Complete(results []Result) bool {
	for _, r := range results {
		if r.Record.LoadError != nil || len(r.Verdict.Misses)+len(r.Verdict.Failed) > 0 {
			return false
		}
	}
	return len(Differences(results)) == 0
}

// Differences returns the requests that some of the loads did not make, sorted, each with
// the protocols over which it was made, as in "GET https://www.a.test/ (h2, h3)".
func Differences(results []Result) []string {
	over := map[string][]string{}
	for _, r := range results {
		for _, request := range replay.Requests(r.Record.Server) {
			over[request] = append(over[request], r.Protocol)
		}
	}
	var lines []string
	for request, protocols := range over {
		if len(protocols) < len(results) {
			lines = append(lines, request+" ("+strings.Join(protocols, ", ")+")")
		}
	}
	slices.Sort(lines)
	return lines
}
