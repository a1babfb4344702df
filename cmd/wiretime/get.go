package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"wiretime/get"
	"wiretime/loader/builtin"
	"wiretime/loader/session"
	"wiretime/panics"
	"wiretime/spdy"
	"wiretime/window"
)

type getOptions struct {
	protocol, output, method, cacert, window, update, frames, qlog, strategy, har string
	data                                                                          *string
	headers, resolve                                                              []string
	maxBody, maxPage                                                              string
	verbose, insecure, follow, fail, page                                         bool
	maxTime                                                                       time.Duration
	maxRequests                                                                   int
}

func getCommand() *cobra.Command {
	var o getOptions
	var data string
	c := &cobra.Command{
		Use:   "get URL...",
		Short: "Fetch URLs over any protocol, and show how",
		Long: `Get fetches URLs over any protocol and writes the bodies to standard output, or
to a file, whole or not at all. URLs of one origin share a connection. Over SPDY,
HTTP/2 and HTTP/3 they are fetched concurrently.

Protocols: ` + strings.Join(get.Names(), ", ") + `. Without --protocol,
http URLs are fetched over http/1.1, and https URLs over h2 or https/1.1, as the
server chooses. With --protocol, it is an error if the server chooses another one;
the message says what the server offers. For http URLs, SPDY and h2 are used
without TLS.

A status of 400 or more is not an error unless --fail is given.

With --page each URL is a page, which is loaded with all its resources, as in a
browser, and the output is a table of the requests. --strategy sets how connections
are used, with or without --page: ` + strings.Join(session.Strategies(), ", ") + `.

    wiretime get -v --protocol spdy/3.1 https://localhost:8004/
    wiretime get --protocol h3 -o page.html https://example.org/
    wiretime get --page --strategy sequential --protocol https/1.1 https://example.org/`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("data") {
				o.data = &data
			}
			return runGet(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "", "the only protocol to use")
	f.StringVarP(&o.output, "output", "o", "", "file that receives the bodies")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "report connections, phases, heads and frames on standard error")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "field of the requests, as 'Name: value'; 'Name:' removes one")
	f.StringVarP(&o.method, "request", "X", "", "method (default: GET, or POST with --data)")
	f.StringVarP(&data, "data", "d", "", "body of the requests; @FILE for a file's content, @- for standard input")
	f.BoolVar(&o.insecure, "insecure", false, "trust every certificate")
	f.StringVar(&o.cacert, "cacert", "", "file with the only certificate authorities to trust, as PEM")
	f.StringArrayVar(&o.resolve, "resolve", nil, "HOST:PORT:ADDRESS: connect to ADDRESS for HOST:PORT")
	f.DurationVar(&o.maxTime, "max-time", defaultMaxTime, "limit for everything together, such as 10s; 0 for none")
	f.BoolVarP(&o.follow, "location", "L", false, "follow redirects, 10 at most")
	f.BoolVar(&o.fail, "fail", false, "treat a status of 400 or more as a failure, and omit its body")
	f.StringVar(&o.window, "window", "", "SPDY receive window of each stream and of the session, such as 64KiB")
	f.StringVar(&o.update, "update", "", "when to update the SPDY window: after a half or an eighth of it has been read, after each frame, or never")
	f.StringVar(&o.frames, "frames", "", "file that receives the SPDY frames, as JSON-SEQ")
	f.BoolVar(&o.page, "page", false, "load pages with all their resources, and write a table of the requests")
	f.StringVar(&o.maxBody, "max-body", "256MiB", "with --page: the largest body, without content codings")
	f.StringVar(&o.maxPage, "max-page", "512MiB", "with --page: the most octets of all bodies of a page, without content codings")
	f.IntVar(&o.maxRequests, "max-requests", builtin.DefaultRequestLimit, "with --page: the most requests of a page")
	f.StringVar(&o.strategy, "strategy", "", "how connections are used, such as sequential or parallel-6 (default: browser)")
	f.StringVar(&o.har, "har", "", "with --page: file that receives the HAR")
	f.StringVar(&o.qlog, "qlog", "", "file that receives the qlog of the first QUIC connection")
	return c
}

// defaultMaxTime is the limit of a fetch without --max-time. Without one, a server that goes silent would keep the
// program forever.
const defaultMaxTime = 10 * time.Minute

// maxRedirects is how many redirects are followed.
const maxRedirects = 10

func runGet(ctx context.Context, o getOptions, args []string) (err error) {
	config, err := o.config()
	if err != nil {
		return input(err)
	}
	requests, err := o.requests(args)
	if err == nil {
		err = o.checkPage()
	}
	if err != nil {
		return input(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if o.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.maxTime, o.timeError())
		defer cancel()
	}
	for _, log := range []struct {
		name string
		to   *io.Writer
	}{{o.frames, &config.Frames}, {o.qlog, &config.QLog}} {
		if log.name == "" {
			continue
		}
		file, err := newOutput(log.name)
		if err != nil {
			return input(err)
		}
		*log.to = file
		// The log of a failed fetch is kept as well.
		defer func() { err = errors.Join(err, file.keep()) }()
	}
	out := &output{Writer: forPrograms}
	if o.output != "" {
		if out, err = newOutput(o.output); err != nil {
			return input(err)
		}
		defer out.discard()
	}
	if o.page {
		return o.getPages(ctx, config, args, out)
	}
	transport, err := o.transport(config, args)
	if err != nil {
		return input(err)
	}
	batch := get.Batch{Client: &http.Client{Transport: transport, CheckRedirect: o.redirect}, Requests: requests, Fail: o.fail}
	if err := panics.Run(ctx, func(ctx context.Context) error { return errors.Join(batch.Fetch(ctx, out), transport.Close()) }, nil); err != nil {
		return err
	}
	return out.keep()
}

// timeError is the error of a fetch that takes too long.
func (o getOptions) timeError() error {
	if o.maxTime == defaultMaxTime {
		return fmt.Errorf("timed out after %s, the default of --max-time: give a longer one, or 0 for none", o.maxTime)
	}
	return fmt.Errorf("timed out after --max-time %s", o.maxTime)
}

// transport returns what fetches the URLs: a client with a strategy if there is one.
func (o getOptions) transport(config get.Config, urls []string) (closingTransport, error) {
	if o.strategy == "" {
		return get.New(config)
	}
	options, err := o.sessionOptions(config, urls)
	if err != nil {
		return nil, err
	}
	return session.New(options), nil
}

// closingTransport is a transport whose connections Close closes.
type closingTransport interface {
	http.RoundTripper
	io.Closer
}

// redirect decides whether to follow a redirect.
func (o getOptions) redirect(_ *http.Request, via []*http.Request) error {
	switch {
	case !o.follow:
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// config returns the configuration that the flags describe.
func (o getOptions) config() (get.Config, error) {
	c := get.Config{Protocol: o.protocol, Insecure: o.insecure, Addresses: map[string]netip.Addr{}}
	if o.verbose {
		c.Story = stderr
	}
	if err := get.CheckProtocol(o.protocol); err != nil {
		return c, fmt.Errorf("--protocol: %w", err)
	}
	version, isSPDY := spdy.ParseVersion(o.protocol)
	switch {
	case o.maxTime < 0:
		return c, fmt.Errorf("--max-time: %s is negative", o.maxTime)
	case o.frames != "" && !isSPDY:
		return c, errors.New("--frames logs SPDY frames: give an SPDY --protocol, such as spdy/3.1")
	case o.qlog != "" && o.protocol != "h3":
		return c, errors.New("--qlog logs QUIC: give --protocol h3")
	case (o.window != "" || o.update != "") && (!isSPDY || version == spdy.V2):
		return c, errors.New("--window and --update set SPDY flow control: give --protocol spdy/3 or spdy/3.1")
	}
	var err error
	if c.Window, err = o.receiveWindow(); err != nil {
		return c, err
	}
	if o.cacert != "" {
		if c.Roots, err = readRoots(o.cacert); err != nil {
			return c, fmt.Errorf("--cacert: %w", err)
		}
	}
	for _, r := range o.resolve {
		place, address, err := parseResolve(r)
		if err != nil {
			return c, fmt.Errorf("--resolve: %w", err)
		}
		c.Addresses[place] = address
	}
	return c, nil
}

// readRoots reads certificate authorities from a PEM file.
func readRoots(name string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate in PEM", name)
	}
	return roots, nil
}

// parseResolve parses a value of --resolve.
func parseResolve(s string) (place string, _ netip.Addr, _ error) {
	host, rest, _ := strings.Cut(s, ":")
	port, address, ok := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	a, addressErr := netip.ParseAddr(strings.Trim(address, "[]"))
	if !ok || host == "" || err != nil || n == 0 || addressErr != nil {
		return "", netip.Addr{}, fmt.Errorf("invalid value %q: want HOST:PORT:ADDRESS, such as example.org:443:127.0.0.1", s)
	}
	return host + ":" + port, a, nil
}

// updateRules are the values of --update.
var updateRules = map[string]spdy.UpdateRule{
	"": spdy.UpdateHalf, "half": spdy.UpdateHalf, "eighth": spdy.UpdateEighth, "frame": spdy.UpdateFrame, "never": spdy.UpdateNever,
}

func (o getOptions) receiveWindow() (spdy.Window, error) {
	var w spdy.Window
	rule, ok := updateRules[o.update]
	if !ok {
		return w, fmt.Errorf("--update: invalid value %q: want half, eighth, frame or never", o.update)
	}
	w.Update, w.SessionUpdate = rule, rule
	if o.window != "" {
		octets, err := window.ParseSize(o.window)
		if err != nil {
			return w, fmt.Errorf("--window: %w", err)
		}
		w.Stream, w.Session = octets, octets
	}
	return w, nil
}

// requests returns the requests for the URLs.
func (o getOptions) requests(urls []string) (_ []*http.Request, err error) {
	t := get.Template{Protocol: o.protocol, Method: o.method}
	if o.method != "" && !httpguts.ValidHeaderFieldName(o.method) { // methods and names are tokens alike
		return nil, fmt.Errorf("--request: invalid method %q", o.method)
	}
	fields := http.Header{"User-Agent": {"wiretime"}, "Accept": {"*/*"}}
	if o.data != nil {
		fields.Set("Content-Type", "application/x-www-form-urlencoded")
		if t.Body, err = get.ParseBody(*o.data, os.Stdin); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
	}
	if t.Header, t.Host, err = get.ParseHeader(fields, o.headers); err != nil {
		return nil, fmt.Errorf("--header: %w", err)
	}
	return t.Requests(urls)
}
