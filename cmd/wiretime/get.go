package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"wiretime/get"
	"wiretime/loader/session"
	"wiretime/spdy"
)

type getOptions struct {
	protocol, output, method, cacert, window, update, frames, qlog, strategy, har string
	data                                                                          *string
	headers, resolve                                                              []string
	verbose, insecure, follow, fail, page                                         bool
	maxTime                                                                       time.Duration
}

func getCommand() *cobra.Command {
	var o getOptions
	var data string
	c := &cobra.Command{
		Use:   "get URL...",
		Short: "Fetch URLs over any protocol, and show how",
		Long: `Get fetches URLs over any protocol and writes the bodies to standard output, or
to a file: that is written whole or not at all. Several URLs of one origin share
a connection, and over SPDY, HTTP/2 and HTTP/3 they are fetched at once.

Protocols: ` + strings.Join(get.Names(), ", ") + `. Without --protocol
http URLs are fetched over http/1.1, https URLs over h2 or https/1.1, as the
server chooses. With it, an answer over another one is an error that says what
the server offers. With an http URL, SPDY and h2 are spoken in the clear.

A status of 400 or more is an answer like any other, unless --fail is given.

With --page each URL is a page that is loaded with all it needs, as a browser
would, and what is written is a table of the requests. --strategy says how
connections are used, there and elsewhere: ` + strings.Join(session.Strategies(), ", ") + `.

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
	f.StringVar(&o.protocol, "protocol", "", "the protocol to fetch over, and no other")
	f.StringVarP(&o.output, "output", "o", "", "file that receives the bodies")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "tell of connections, phases, heads and frames on standard error")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "field of the requests, as 'Name: value'; 'Name:' leaves one out")
	f.StringVarP(&o.method, "request", "X", "", "method (default: GET, or POST with --data)")
	f.StringVarP(&data, "data", "d", "", "body of the requests; @FILE for a file's content, @- for standard input")
	f.BoolVar(&o.insecure, "insecure", false, "trust every certificate")
	f.StringVar(&o.cacert, "cacert", "", "file with the only certificate authorities to trust, as PEM")
	f.StringArrayVar(&o.resolve, "resolve", nil, "HOST:PORT:ADDRESS: where to find a host's port")
	f.DurationVar(&o.maxTime, "max-time", 0, "longest that everything together may take, such as 10s")
	f.BoolVarP(&o.follow, "location", "L", false, "follow redirects, 10 at most")
	f.BoolVar(&o.fail, "fail", false, "take a status of 400 or more for a failure, and leave its body out")
	f.StringVar(&o.window, "window", "", "receive window of SPDY, of each stream and of the session, such as 64KiB")
	f.StringVar(&o.update, "update", "", "when SPDY's window is given back: once a half or an eighth of it is read, for each frame, or never")
	f.StringVar(&o.frames, "frames", "", "file that receives the frames of SPDY, as JSON-SEQ")
	f.BoolVar(&o.page, "page", false, "load pages with all that they need, and write a table of the requests")
	f.StringVar(&o.strategy, "strategy", "", "how connections are used, such as sequential or parallel-6 (default: browser)")
	f.StringVar(&o.har, "har", "", "with --page: file that receives the HAR")
	f.StringVar(&o.qlog, "qlog", "", "file that receives the qlog of the first QUIC connection")
	return c
}

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
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.maxTime, fmt.Errorf("it took longer than --max-time %s", o.maxTime))
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
		// What a fetch that failed did is worth reading.
		defer func() { err = errors.Join(err, file.keep()) }()
	}
	out := &output{Writer: os.Stdout}
	if o.output != "" {
		if out, err = newOutput(o.output); err != nil {
			return input(err)
		}
		defer out.discard()
	}
	switch {
	case o.page:
		return getPages(ctx, o, config, args, out)
	case o.strategy != "":
		if err := getByStrategy(ctx, o, config, requests, args, out); err != nil {
			return err
		}
		return out.keep()
	}
	transport, err := get.New(config)
	if err != nil {
		return input(err)
	}
	client := &http.Client{Transport: transport, CheckRedirect: o.redirect}
	err = errors.Join(get.All(ctx, client, requests, o.fail, out), transport.Close())
	if err != nil {
		return err
	}
	return out.keep()
}

// redirect says whether to follow a redirect.
func (o getOptions) redirect(_ *http.Request, via []*http.Request) error {
	switch {
	case !o.follow:
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// config is what the flags say of how to fetch.
func (o getOptions) config() (get.Config, error) {
	c := get.Config{Protocol: o.protocol, Insecure: o.insecure, Addresses: map[string]netip.Addr{}}
	if o.verbose {
		c.Story = os.Stderr
	}
	if err := get.CheckProtocol(o.protocol); err != nil {
		return c, fmt.Errorf("--protocol: %w", err)
	}
	version, isSPDY := spdy.ParseVersion(o.protocol)
	switch {
	case o.maxTime < 0:
		return c, fmt.Errorf("--max-time: %s is no time", o.maxTime)
	case o.frames != "" && !isSPDY:
		return c, errors.New("--frames: that is the frames of SPDY: give a --protocol, such as spdy/3.1")
	case o.qlog != "" && o.protocol != "h3":
		return c, errors.New("--qlog: that is of QUIC: give --protocol h3")
	case (o.window != "" || o.update != "") && (!isSPDY || version == spdy.V2):
		return c, errors.New("--window and --update: those are of SPDY's flow control: give --protocol spdy/3 or spdy/3.1")
	}
	var err error
	if c.Window, err = o.receiveWindow(); err != nil {
		return c, err
	}
	if o.cacert != "" {
		pem, err := os.ReadFile(o.cacert)
		if err != nil {
			return c, fmt.Errorf("--cacert: %w", err)
		}
		c.Roots = x509.NewCertPool()
		if !c.Roots.AppendCertsFromPEM(pem) {
			return c, fmt.Errorf("--cacert: %s holds no certificate in PEM", o.cacert)
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

func parseResolve(s string) (place string, _ netip.Addr, _ error) {
	host, rest, _ := strings.Cut(s, ":")
	port, address, ok := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	a, addressErr := netip.ParseAddr(strings.Trim(address, "[]"))
	if !ok || host == "" || err != nil || n == 0 || addressErr != nil {
		return "", netip.Addr{}, fmt.Errorf("%q says not where a host is: write it as HOST:PORT:ADDRESS, such as example.org:443:127.0.0.1", s)
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
		return w, fmt.Errorf("--update: there is no %q: it is half, eighth, frame or never", o.update)
	}
	w.Update, w.SessionUpdate = rule, rule
	if o.window != "" {
		octets, err := parseOctets(o.window)
		if err != nil {
			return w, fmt.Errorf("--window: %w", err)
		}
		w.Stream, w.Session = octets, octets
	}
	return w, nil
}

// parseOctets reads a number of octets, at most what a window can hold.
func parseOctets(s string) (int, error) {
	const largest = 1<<31 - 1
	number, unit := s, 1
	for _, u := range []struct {
		name   string
		octets int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1e3}, {"MB", 1e6}} {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = digits, u.octets
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 1 || n > largest/unit {
		return 0, fmt.Errorf("%q is no number of octets from 1 to %d: write it as 65536, 64KiB or 10MB", s, largest)
	}
	return n * unit, nil
}

// requests are what is to be sent for the URLs.
func (o getOptions) requests(urls []string) ([]*http.Request, error) {
	header, host, err := o.header()
	if err != nil {
		return nil, err
	}
	body, err := o.body()
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	method := o.method
	if method == "" {
		method = http.MethodGet
		if o.data != nil {
			method = http.MethodPost
		}
	}
	var all []*http.Request
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("%q is no URL: %w", address, err)
		}
		if err := get.CheckURL(o.protocol, u); err != nil {
			return nil, err
		}
		r, err := http.NewRequest(method, address, nil)
		if err != nil {
			return nil, fmt.Errorf("--request: %w", err)
		}
		r.Header = header.Clone()
		if host != "" {
			r.Host = host
		}
		if body != nil {
			if err := body(r); err != nil {
				return nil, fmt.Errorf("--data: %w", err)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// header is the head of the requests, and their Host if that is not the URL's.
func (o getOptions) header() (h http.Header, host string, err error) {
	h = http.Header{"User-Agent": {"wiretime"}, "Accept": {"*/*"}}
	if o.data != nil {
		h.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	given := map[string]bool{}
	for _, line := range o.headers {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, "", fmt.Errorf("--header: %q is no field: write it as 'Name: value'", line)
		}
		name = http.CanonicalHeaderKey(name)
		switch {
		case name == "Host":
			host = value
		case value == "":
			// An empty User-Agent is what keeps one from being made up.
			h.Del(name)
			if name == "User-Agent" {
				h.Set(name, "")
			}
		case given[name]:
			h.Add(name, value)
		default:
			h.Set(name, value)
			given[name] = true
		}
	}
	return h, host, nil
}

// body is what gives a request its body; nil for none.
func (o getOptions) body() (func(*http.Request) error, error) {
	if o.data == nil {
		return nil, nil
	}
	name, isFile := strings.CutPrefix(*o.data, "@")
	content := []byte(*o.data)
	if isFile && name != "-" {
		if _, err := os.Stat(name); err != nil {
			return nil, err
		}
		return func(r *http.Request) error { return fileBody(r, name) }, nil
	}
	if isFile {
		var err error
		if content, err = io.ReadAll(os.Stdin); err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
	}
	return func(r *http.Request) error {
		r.ContentLength = int64(len(content))
		r.GetBody = func() (io.ReadCloser, error) {
			if len(content) == 0 {
				return http.NoBody, nil
			}
			return io.NopCloser(bytes.NewReader(content)), nil
		}
		var err error
		r.Body, err = r.GetBody()
		return err
	}, nil
}

func fileBody(r *http.Request, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", name)
	}
	r.Body, r.ContentLength = file, info.Size()
	if info.Size() == 0 {
		r.Body = http.NoBody
		_ = file.Close()
	}
	r.GetBody = func() (io.ReadCloser, error) { return os.Open(name) }
	return nil
}
