package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/get"
	"wiretime/loader/builtin"
	"wiretime/loader/live"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/panics"
	"wiretime/terminal"
	"wiretime/window"
)

// checkPage returns an error for flags that cannot be combined with --page or --strategy.
func (o getOptions) checkPage() error {
	type flag struct {
		name  string
		given bool
	}
	if o.har != "" && !o.page {
		return errors.New("--har needs --page")
	}
	if _, err := o.limits(); err != nil {
		return err
	}
	if !o.page && o.strategy == "" {
		return nil
	}
	for _, f := range []flag{
		{"--verbose", o.verbose}, {"--window", o.window != ""}, {"--update", o.update != ""}, {"--frames", o.frames != ""}, {"--qlog", o.qlog != ""},
	} {
		if f.given {
			return fmt.Errorf("%s cannot be combined with --page or --strategy", f.name)
		}
	}
	for _, f := range []flag{
		{"--header", len(o.headers) > 0}, {"--request", o.method != ""}, {"--data", o.data != nil}, {"--location", o.follow}, {"--fail", o.fail},
	} {
		if o.page && f.given {
			return fmt.Errorf("%s cannot be combined with --page, which requests as a browser does", f.name)
		}
	}
	return nil
}

// sessionOptions returns the options of a client with the strategy of the flags.
func (o getOptions) sessionOptions(config get.Config, urls []string) (session.Options, error) {
	strategy, err := session.ParseStrategy(o.strategy)
	if err != nil {
		return session.Options{}, fmt.Errorf("--strategy: %w", err)
	}
	p, err := live.Protocol(o.protocol, urls)
	if err != nil {
		return session.Options{}, err
	}
	if err := strategy.Supports(p); err != nil {
		return session.Options{}, fmt.Errorf("--strategy: %w", err)
	}
	network := live.Config{Roots: config.Roots, Insecure: config.Insecure, Addresses: config.Addresses}
	return network.Session(p, strategy), nil
}

// limits returns what a page may take up.
func (o getOptions) limits() (l builtin.Limits, err error) {
	for _, f := range []struct {
		name, value string
		to          *int64
	}{{"--max-body", o.maxBody, &l.Body}, {"--max-page", o.maxPage, &l.Page}} {
		octets, err := window.ParseSize(f.value)
		if err != nil {
			return l, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.to = int64(octets)
	}
	if l.Requests = o.maxRequests; l.Requests < 1 {
		return l, fmt.Errorf("--max-requests: %d must be positive", l.Requests)
	}
	return l, nil
}

// getPages loads all pages with their resources at once, and prints the requests even after
// an error.
func (o getOptions) getPages(ctx context.Context, config get.Config, urls []string, out *output) error {
	options, err := o.sessionOptions(config, urls)
	if err != nil {
		return input(err)
	}
	if o.har != "" {
		// It is better to learn before the load that the file cannot be written.
		place, err := newOutput(o.har)
		if err != nil {
			return input(err)
		}
		place.discard()
	}
	limits, err := o.limits()
	if err != nil {
		return input(err)
	}
	var har *capture.HAR
	var timing capture.Timing
	err = panics.Run(ctx, func(ctx context.Context) (err error) {
		har, timing, err = live.LoadPages(ctx, options, limits, urls)
		return err
	}, nil)
	if har == nil {
		return err
	}
	if o.har != "" {
		err = errors.Join(err, capture.WriteHAR(o.har, har))
	}
	printPages(terminal.NewWriter(out), har, timing)
	return errors.Join(err, out.keep())
}

// printPages prints a line for each request and a summary. Errors of resources go to
// standard error; the caller reports those of pages.
func printPages(out io.Writer, har *capture.HAR, timing capture.Timing) {
	began := har.Log.Pages[0].Started
	fmt.Fprintf(out, "%9s %9s  %-9s %-4s %6s %9s  %s\n", "at, ms", "took, ms", "protocol", "conn", "status", "octets", "resource")
	connections, octets := map[string]bool{}, int64(0)
	for _, e := range har.Log.Entries {
		answer := fmt.Sprint(e.Response.Status)
		if e.Response.Error != "" {
			answer = "failed"
			if e.ResourceType != page.Document.String() {
				fmt.Fprintf(stderr, "wiretime: %s: %s\n", e.Request.URL, terminal.Line(e.Response.Error))
			}
		}
		size := max(0, e.Response.BodySize)
		fmt.Fprintf(out, "%9.1f %9.1f  %-9s %-4s %6s %9d  %s %s\n", float64(e.Started.Sub(began))/1e6, e.Time, e.Protocol, e.Connection, answer,
			size, e.ResourceType, e.Request.URL)
		if e.Connection != "" {
			connections[e.Connection] = true
		}
		octets += size
	}
	fmt.Fprintf(out, "\nDCL %s, onLoad %s: %s over %s, %s\n", inMilliseconds(timing.DCL), inMilliseconds(timing.OnLoad),
		english.Count(len(har.Log.Entries), "request"), english.Count(len(connections), "connection"), english.Count(int(octets), "octet"))
}

// inMilliseconds writes a time that the page may not have reached.
func inMilliseconds(ms float64) string {
	if ms < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f ms", ms)
}
