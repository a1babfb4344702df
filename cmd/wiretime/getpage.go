package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/get"
	"wiretime/loader/builtin"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/protocol"
)

// checkPage tells whether the flags make sense together with --page and --strategy.
func (o getOptions) checkPage() error {
	type flag struct {
		name  string
		given bool
	}
	if o.har != "" && !o.page {
		return errors.New("--har goes with --page: a HAR is of pages")
	}
	if !o.page && o.strategy == "" {
		return nil
	}
	for _, f := range []flag{
		{"--verbose", o.verbose}, {"--window", o.window != ""}, {"--update", o.update != ""}, {"--frames", o.frames != ""}, {"--qlog", o.qlog != ""},
	} {
		if f.given {
			return fmt.Errorf("%s goes with neither --page nor --strategy: leave it out, or them", f.name)
		}
	}
	for _, f := range []flag{
		{"--header", len(o.headers) > 0}, {"--request", o.method != ""}, {"--data", o.data != nil}, {"--location", o.follow}, {"--fail", o.fail},
	} {
		if o.page && f.given {
			return fmt.Errorf("--page asks as a browser does, follows redirects, and takes pages for what they are: leave %s out", f.name)
		}
	}
	return nil
}

// row is the row of the table of protocols that URLs are fetched over when it is not a
// get.Client that does it. Without --protocol it is HTTP/1.1 in the clear, or HTTP/2.
func (o getOptions) row(urls []string) (protocol.Protocol, error) {
	name := o.protocol
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			return protocol.Protocol{}, err
		}
		name = cmp.Or(name, map[string]string{"http": "http/1.1"}[u.Scheme], "h2")
		p, err := protocol.Lookup(name)
		if err != nil {
			return p, err
		}
		if err := get.CheckURL(name, u); err != nil {
			return p, err
		}
		if u.Scheme != p.Scheme {
			return p, fmt.Errorf("%s is fetched over %s, whose URLs begin with %s: name URLs of one kind, or another --protocol", address, name, p.Scheme)
		}
	}
	return protocol.Lookup(name)
}

// network is this machine's, as the loaders take it.
func (o getOptions) network(config get.Config, p protocol.Protocol, strategy session.Strategy) session.Options {
	return session.Options{
		Protocol: p, Strategy: strategy,
		Verify:       verifier(config.Roots, config.Insecure),
		Dial:         new(net.Dialer).DialContext,
		ListenPacket: new(net.ListenConfig).ListenPacket,
		Resolve: func(ctx context.Context, host string) (netip.Addr, error) {
			for from, to := range config.Addresses {
				if name, _, err := net.SplitHostPort(from); err == nil && strings.EqualFold(name, host) {
					return to, nil
				}
			}
			all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
			if err != nil {
				return netip.Addr{}, err
			}
			return all[0].Unmap(), nil
		},
	}
}

// verifier decides on certificates by what the flags say of trust.
func verifier(roots *x509.CertPool, insecure bool) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		if insecure {
			return nil
		}
		between := x509.NewCertPool()
		for _, certificate := range c.PeerCertificates[1:] {
			between.AddCert(certificate)
		}
		if _, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: c.ServerName}); err != nil {
			return fmt.Errorf("%w (--cacert names other authorities to trust, --insecure trusts every certificate)", err)
		}
		return nil
	}
}

// getByStrategy fetches URLs as one client does that has a strategy.
func getByStrategy(ctx context.Context, o getOptions, config get.Config, requests []*http.Request, args []string, out io.Writer) error {
	options, err := o.sessionOptions(config, args)
	if err != nil {
		return input(err)
	}
	s := session.New(options)
	client := &http.Client{Transport: s, CheckRedirect: o.redirect}
	return errors.Join(get.All(ctx, client, requests, o.fail, out), s.Close())
}

func (o getOptions) sessionOptions(config get.Config, args []string) (session.Options, error) {
	strategy, err := session.ParseStrategy(o.strategy)
	if err != nil {
		return session.Options{}, fmt.Errorf("--strategy: %w", err)
	}
	p, err := o.row(args)
	if err != nil {
		return session.Options{}, err
	}
	if err := strategy.Supports(p); err != nil {
		return session.Options{}, fmt.Errorf("--strategy: %w", err)
	}
	return o.network(config, p, strategy), nil
}

// getPages loads pages with all that they need, at the same moment, and tells how that
// went, whether it went well or not.
func getPages(ctx context.Context, o getOptions, config get.Config, args []string, out *output) (err error) {
	options, err := o.sessionOptions(config, args)
	if err != nil {
		return input(err)
	}
	if o.har != "" {
		// That it cannot be written is better known before.
		place, err := newOutput(o.har)
		if err != nil {
			return input(err)
		}
		place.discard()
	}
	loader := builtin.New(builtin.Options{
		Verify: options.Verify, Dial: options.Dial, ListenPacket: options.ListenPacket, Resolve: options.Resolve,
	})
	visit, err := loader.Open(builtin.Config{Protocol: options.Protocol, Strategy: options.Strategy})
	if err != nil {
		return err
	}
	har, timing, err := visit.LoadTogether(ctx, args)
	err = errors.Join(err, visit.Close())
	if har == nil {
		return err
	}
	if o.har != "" {
		err = errors.Join(err, capture.WriteHAR(o.har, har))
	}
	printPages(out, har, timing)
	return errors.Join(err, out.keep())
}

// printPages prints a line for each request, and one for all of them. What is wrong with
// a resource goes to standard error; what is wrong with a page is the caller's to tell.
func printPages(out io.Writer, har *capture.HAR, timing capture.Timing) {
	began := har.Log.Pages[0].Started
	fmt.Fprintf(out, "%9s %9s  %-9s %-4s %6s %9s  %s\n", "at, ms", "took, ms", "protocol", "conn", "status", "octets", "resource")
	connections, octets := map[string]bool{}, int64(0)
	for _, e := range har.Log.Entries {
		answer := fmt.Sprint(e.Response.Status)
		if e.Response.Error != "" {
			answer = "failed"
			if e.ResourceType != page.Document.String() {
				fmt.Fprintf(os.Stderr, "wiretime: %s: %s\n", e.Request.URL, e.Response.Error)
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

// inMilliseconds is a moment that a page may not have come to.
func inMilliseconds(ms float64) string {
	if ms < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f ms", ms)
}
