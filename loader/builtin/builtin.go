// Package builtin loads pages like a browser, over any protocol row and with any
// connection strategy, at a small fraction of a browser's cost. It replaces
// Chromium where Chromium is not available (SPDY, pipelining, one connection at a
// time) or too expensive.
//
// Package page is its main thread: what a page requests, when and how urgently, and
// when it fires its events. Package session is its network. This package adds what
// lies between them: Chromium's two queues of requests (scheduler.go), header fields
// as large as Chromium's (fields.go), redirects, cookies, content codings and the HTTP
// cache.
//
// Processor time counts as zero unless Config.CPU says otherwise, and nothing is
// painted, so there is no FCP and no LCP. docs/loaders.md compares the loader
// with Chromium.
package builtin

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/protocol"
	"wiretime/window"
)

// Options say where a loader runs and whom it trusts.
type Options struct {
	// Verify checks a server's certificate.
	Verify func(tls.ConnectionState) error
	// Dial, ListenPacket and Resolve are the client's network: see session.Options.
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
	Resolve      func(ctx context.Context, host string) (netip.Addr, error)
}

// Loader loads pages from one host. It is safe for concurrent use.
type Loader struct{ options Options }

// New returns a loader. It opens nothing.
func New(o Options) *Loader { return &Loader{o} }

// Config describes a browser session.
type Config struct {
	Protocol protocol.Protocol
	Strategy session.Strategy // zero: a browser's
	// TLS12 requires servers to choose TLS 1.2: see session.Options.
	TLS12 bool
	// PlainHeaders sends the headers of requests over SPDY uncompressed.
	PlainHeaders bool
	// EqualTurns has requests state no priorities in the field of RFC 9218.
	EqualTurns bool
	// EarlyData makes HTTP/3 send requests in the first flight of a connection to
	// an origin it already knows (RFC 9001 section 4.6).
	EarlyData bool
	// Fallback is the protocol for an HTTP/3 origin that cannot be reached over
	// UDP: "h2", or empty for none.
	Fallback string
	// Windows limits what servers send; nil for the windows of package session.
	Windows *window.Receiver
	// NoteWindows keeps the windows that both ends announce, for Visit.Announced.
	NoteWindows bool
	// Recorded are resources that scripts request. The schemes of their URLs are
	// ignored.
	Recorded []page.Recorded
	// Steps holds, by the number of a step in the site's journey, what the step causes.
	Steps map[int]Caused
	// CPU is the cost of work on the main thread.
	CPU page.CPU
	// Limits bound what a load may take up.
	Limits Limits
}

// Visit is one browser session: it keeps names, TLS sessions, connections, cookies and
// the cache from page to page. It loads one page, or one set of tabs, at a time.
type Visit struct {
	options session.Options
	config  Config
	cookies cookies
	keys    session.Keys

	mu       sync.Mutex // the main thread
	session  *session.Session
	cache    cache
	reload   bool              // pages are reloads
	shown    map[string]string // the last URL of each page, after redirects, by the URL that was requested
	answered map[string]bool   // hosts that have answered
	at       string            // URL of the page that was loaded last, after redirects; empty: none
}

// Open starts a session in which nothing is known yet.
func (l *Loader) Open(c Config) (*Visit, error) {
	cookies, err := newCookies()
	if err != nil {
		return nil, err
	}
	c.Limits = c.Limits.withDefaults()
	v := &Visit{config: c, cookies: cookies, shown: map[string]string{}, answered: map[string]bool{}, options: session.Options{
		Protocol: c.Protocol, Strategy: c.Strategy, TLS12: c.TLS12, PlainHeaders: c.PlainHeaders, EarlyData: c.EarlyData, Fallback: c.Fallback, Windows: c.Windows, NoteWindows: c.NoteWindows, Push: true, ChromiumSizes: true,
		Verify: l.options.Verify, Dial: l.options.Dial, ListenPacket: l.options.ListenPacket, Resolve: l.options.Resolve,
	}}
	v.options.KeyLog = &v.keys
	v.session = session.New(v.options)
	return v, nil
}

// Load loads a page and returns when its load event has fired and nothing is in flight
// any more. What has been seen is returned even if there is an error; only a failure
// of the page's own document is one.
func (v *Visit) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	return v.LoadTogether(ctx, []string{url})
}

// LoadTogether opens several pages at the same moment, each in its own tab. The HAR
// has a page for each; the timing is that of the last one.
func (v *Visit) LoadTogether(ctx context.Context, urls []string) (*capture.HAR, capture.Timing, error) {
	began := time.Now()
	tabs := make([]*tab, 0, len(urls))
	for _, url := range urls {
		t, err := v.newTab(ctx, v.target(url), began)
		if err != nil {
			v.giveUp(tabs, err)
			return nil, unknownTiming, fmt.Errorf("load %s over %s: %w", url, v.config.Protocol.Name, err)
		}
		tabs = append(tabs, t)
	}
	v.begin(tabs)
	var failed error
	for _, t := range tabs {
		err := t.wait(ctx)
		if err != nil && failed == nil {
			failed = fmt.Errorf("load %s over %s: %w", t.address, v.config.Protocol.Name, err)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, t := range tabs {
		v.shown[urls[i]] = t.url.String()
		v.at = t.url.String()
	}
	return newHAR(tabs), timing(tabs), failed
}

// target returns the URL to request for a page: its last one if the page is reloaded.
func (v *Visit) target(url string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reload {
		return cmp.Or(v.shown[url], url)
	}
	return url
}

// begin requests the tabs' documents.
func (v *Visit) begin(tabs []*tab) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range tabs {
		t.begin()
	}
}

// giveUp ends tabs that were not started.
func (v *Visit) giveUp(tabs []*tab, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range tabs {
		t.end(err)
	}
}

// Forget drops what is not to be kept between two visits. It keeps cookies, and names as
// long as it keeps anything else. With keep.Reload, all pages are reloads until the next
// Forget: every request has the field Cache-Control: max-age=0, and a stored response is
// revalidated however fresh it is, unless the same load has fetched it. A page that was
// redirected is reloaded from its last URL. Browsers revalidated everything until 2016;
// docs/measuring.md says what they do today. Forget must not be called while a page is
// loading.
func (v *Visit) Forget(_ context.Context, keep capture.Warm) error {
	v.mu.Lock()
	if !keep.Cache {
		v.cache = cache{}
	}
	v.reload = keep.Reload
	before := v.session
	if !keep.Sessions && !keep.Connections {
		v.session = session.New(v.options)
		clear(v.answered)
	}
	after := v.session
	v.mu.Unlock()
	// The session waits for handlers, which wait for the main thread.
	var err error
	switch {
	case before != after:
		err = before.Close()
	case !keep.Connections:
		err = before.Disconnect()
	}
	after.StartFrameLog()
	return err
}

// obeys reports whether a host is known to obey priorities: over SPDY and HTTP/2 as soon as
// a connection exists, over HTTP/3 when a response of the host has said that it speaks it
// (net/http/http_server_properties.cc, SupportsRequestPriority).
func (v *Visit) obeys(host string) bool {
	if v.config.Protocol.Spoken == "h3" {
		return v.answered[host]
	}
	return v.session.Multiplexes(host)
}

// FrameLog returns every frame of the session's SPDY connections since the last
// Forget, or nil over other protocols.
func (v *Visit) FrameLog() []byte { return v.session.FrameLog() }

// Announced returns the windows that the client and the server announced over HTTP/2: see
// session.Session.Announced.
func (v *Visit) Announced() (client, server []int) { return v.session.Announced() }

// KeyLog returns the TLS secrets of all connections so far, in NSS key log
// format.
func (v *Visit) KeyLog() ([]byte, error) { return v.keys.Text(), nil }

// Close ends the session.
func (v *Visit) Close() error { return v.session.Close() }
