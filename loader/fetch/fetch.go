// Package fetch is Wiretime's own loader: it fetches a page and all its
// resources, and does nothing else with them. Where a browser adds the time it
// takes to parse, to run scripts and to paint, this loader leaves the protocol
// and the network, and it costs so little that both clocks can be held against
// each other with it.
//
// The page's document is fetched first. Once it has arrived whole, everything
// else is asked for at once, in the order given, as far as the protocol allows:
//
//   - HTTP/1.1, in the clear and over TLS: at most 6 connections to a host, the
//     number browsers use, each with one request at a time and kept alive. A
//     request goes to the connection that is first ready for it.
//   - HTTP/2 (net/http): one connection per host, as many requests at a time as
//     the server allows.
//   - SPDY (package spdy): likewise, the document with the highest priority and
//     the rest with a middle one. Flow control has the windows that Chromium had
//     while it spoke SPDY, spdy.ChromiumWindow.
//   - HTTP/3 (quic-go): likewise. Flow control begins with the windows of
//     net/http's HTTP/2, so that they are not the difference between the two.
//
// Everything is cold: each load has connections of its own, looks each name up
// once, resumes no TLS session and has no cache. Redirects are not followed:
// where they lead is a resource like any other.
//
// The order of requests on a connection, of connections to a host and of hosts is
// the order given, never that of a map or of a race between goroutines. There are
// no pings and no timers but those of TCP, QUIC and the resolver.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/spdy"
)

// Options say where a loader runs and whom it trusts.
type Options struct {
	// Authority is the only issuer of certificates that is trusted. The chain's
	// dates do not count, as the lab's clock may be a virtual one.
	Authority *protocol.Authority
	// Dial opens a TCP connection on the client's host. It is called again while
	// earlier calls wait, and must not make one wait for another. Keep-alive
	// probes are turned off on what it returns.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ListenPacket opens a UDP socket on the client's host.
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
	// Resolve looks a name up as a client on that host would: see [Resolver].
	Resolve func(ctx context.Context, host string) (netip.Addr, error)
}

// Loader loads pages from one host. It is safe for concurrent use.
type Loader struct{ options Options }

// New makes a loader. It opens nothing.
func New(o Options) *Loader { return &Loader{o} }

// Visit is one load of one page, cold. It serves one call of Load.
type Visit struct {
	loader    *Loader
	protocol  protocol.Protocol
	resources []string
	ctx       context.Context // ends with the visit
	cancel    context.CancelCauseFunc
	origins   []*origin      // in the order of their first request
	asked     []*request     // in the order in which they were asked for
	pending   sync.WaitGroup // requests that are neither answered nor failed
	running   sync.WaitGroup // goroutines
	began     time.Time
	frames    frames

	mu          sync.Mutex
	connections int
	open        []func() error // how to close what is open
	closed      bool
}

// Open makes a visit ready. resources are the URLs of all that the page needs, in
// the order in which they are to be asked for; the protocol decides on their
// scheme, and the page itself is passed over among them. Each is fetched with GET.
func (l *Loader) Open(p protocol.Protocol, resources []string) *Visit {
	v := &Visit{loader: l, protocol: p, resources: resources}
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	return v
}

// Load fetches the page and then the visit's resources, and returns when
// each of them has arrived or failed. A failure does not keep the others from
// being fetched, unless it is the document's; the error names the first one in the
// page's order. An answer is an answer, whatever its status. What has been seen is
// returned even if there is an error.
//
// There is no parser and no renderer, so the times mean: DCL, the document had
// arrived whole; OnLoad and LastResource, the last resource had; FCP and LCP, -1.
func (v *Visit) Load(ctx context.Context, page string) (*capture.HAR, capture.Timing, error) {
	stop := context.AfterFunc(ctx, func() { _ = v.shut(context.Cause(ctx)) })
	defer stop()
	document, resources, err := v.prepare(page)
	v.began = time.Now()
	if _, ok := spdy.ParseVersion(v.protocol.ALPN); ok {
		v.frames.log = spdy.NewFrameLog(&v.frames, "client")
	}
	if err == nil {
		err = v.load(document, resources)
	}
	timing := v.timing()
	if err != nil {
		err = fmt.Errorf("load %s over %s: %w", page, v.protocol.Name, err)
	}
	return v.har(timing), timing, err
}

// prepare makes the requests for the page and its resources.
func (v *Visit) prepare(page string) (document *request, resources []*request, err error) {
	if document, err = v.request(page); err != nil {
		return nil, nil, err
	}
	document.kind = "document"
	for _, address := range v.resources {
		r, err := v.request(address)
		if err != nil {
			return nil, nil, err
		}
		if *r.http.URL == *document.http.URL {
			continue
		}
		r.initiator = document.http.URL.String()
		resources = append(resources, r)
	}
	return document, resources, nil
}

func (v *Visit) request(address string) (*request, error) {
	address, err := v.protocol.URL(address)
	if err != nil {
		return nil, err
	}
	h, err := http.NewRequestWithContext(v.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", address, err)
	}
	// A single field: HTTP/2 and HTTP/3 write them in the random order of a map.
	h.Header.Set("User-Agent", userAgent)
	return newRequest(h, v.origin(h.URL)), nil
}

func (v *Visit) load(document *request, resources []*request) error {
	v.fetch([]*request{document})
	if document.err != nil {
		return document.failure()
	}
	for _, r := range resources {
		r.started = document.ended
	}
	v.fetch(resources)
	for _, r := range resources {
		if r.err != nil {
			return r.failure()
		}
	}
	return nil
}

func (v *Visit) origin(u *url.URL) *origin {
	i := slices.IndexFunc(v.origins, func(o *origin) bool { return o.authority == u.Host })
	if i >= 0 {
		return v.origins[i]
	}
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(v.protocol.Port)
	}
	o := &origin{visit: v, authority: u.Host, host: u.Hostname(), port: port, dns: -1}
	version, isSPDY := spdy.ParseVersion(v.protocol.ALPN)
	switch {
	case isSPDY:
		o.carrier = &spdyCarrier{origin: o, version: version}
	case v.protocol.Spoken == "h2":
		o.carrier = &h2{origin: o}
	case v.protocol.Spoken == "h3":
		o.carrier = &h3{origin: o}
	default:
		o.carrier = &h1{origin: o}
	}
	v.origins = append(v.origins, o)
	return o
}

// fetch has every origin fetch its part of the requests, and waits until each of
// them is answered or has failed.
func (v *Visit) fetch(requests []*request) {
	v.asked = append(v.asked, requests...)
	v.pending.Add(len(requests))
	for _, o := range v.origins {
		var part []*request
		for _, r := range requests {
			if r.origin == o {
				part = append(part, r)
			}
		}
		if len(part) > 0 {
			v.start(func() { o.fetch(part) })
		}
	}
	v.pending.Wait()
}

// start runs f beside its caller and lets it begin: on one processor, as under the
// virtual clock, f runs until it has to wait for the network before the caller
// goes on, so that what is started first goes first onto the wire.
func (v *Visit) start(f func()) {
	v.running.Go(f)
	runtime.Gosched()
}

// now is the time since navigationStart.
func (v *Visit) now() time.Duration { return time.Since(v.began) }

// number gives a new connection its number, from 1.
func (v *Visit) number() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.connections++
	return v.connections
}

// keep has the visit close something at its end. It is an error if that has come.
func (v *Visit) keep(closing func() error) error {
	v.mu.Lock()
	if !v.closed {
		v.open = append(v.open, closing)
		v.mu.Unlock()
		return nil
	}
	v.mu.Unlock()
	return errors.Join(context.Cause(v.ctx), closing())
}

// shut ends whatever is under way, for the given reason, and closes all that is
// open, what was opened last first.
func (v *Visit) shut(cause error) error {
	v.cancel(cause)
	v.mu.Lock()
	v.closed = true
	open := v.open
	v.open = nil
	v.mu.Unlock()
	var errs []error
	for _, closing := range slices.Backward(open) {
		errs = append(errs, closing())
	}
	return errors.Join(errs...)
}

// errClosed is why a request fails that is under way when its visit is closed.
var errClosed = errors.New("the visit was closed")

// Close closes the visit's connections and waits for its goroutines. Connections
// that their server has closed before are no error.
func (v *Visit) Close() error {
	err := v.shut(errClosed)
	v.running.Wait()
	return err
}
