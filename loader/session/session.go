// Package session is the network side of a loader: the names, TLS sessions and
// connections of one client. Loaders request resources from it and receive each
// response as it arrives. It knows nothing about pages.
//
// The [Strategy] determines how connections are used. That of browsers is:
//
//   - HTTP/1.1, with and without TLS: at most 6 connections to a host, each with one
//     request at a time and kept alive. A request goes to the first connection that is
//     ready for it.
//   - HTTP/2 (net/http): one connection for an origin, with as many requests at a time
//     as the server allows.
//   - SPDY (package spdy): likewise. The flow-control windows are those of Chromium when
//     it spoke SPDY, spdy.ChromiumWindow.
//   - HTTP/3 (quic-go): likewise. The initial flow-control windows are those of net/http's
//     HTTP/2, so that windows make no difference between the two.
//
// Protocols that multiplex also use a connection for another origin if the address
// is the same and the certificate covers its host (RFC 9113 section 9.1.1, RFC
// 9114 section 3.3).
//
// Requests wait in one queue for each origin: higher priorities first, equal ones
// in the order of Fetch. The order on the wire is the same, and never depends on a
// map or on a race between goroutines. There are no pings, and no timers except
// those of TCP, QUIC and the resolver.
//
// A session starts cold: no names resolved, no TLS session, no connection. It
// keeps what it learns: names, the TLS sessions for which servers issue tickets,
// the address validation tokens of QUIC servers (RFC 9000 section 8.1.3) and,
// until Disconnect, its connections.
package session

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/spdy"
	"wiretime/window"
)

// Options say what a session speaks, where it runs and whom it trusts.
type Options struct {
	Protocol protocol.Protocol
	// Strategy says how connections are used. It must support the protocol.
	Strategy Strategy
	// Verify checks the certificate of a server: protocol.Authority.Verify in the
	// lab. It is also called for resumed sessions.
	Verify func(tls.ConnectionState) error
	// KeyLog receives the TLS secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// Dial opens a TCP connection on the client's host. Calls overlap, and must
	// not wait for each other. The session disables keep-alive probes on the
	// connection.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ListenPacket opens a UDP socket on the client's host.
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
	// Resolve resolves a name like a client on that host: see [Resolver].
	Resolve func(ctx context.Context, host string) (netip.Addr, error)
	// TLS12 requires servers to choose TLS 1.2, which the session offers beside 1.3 as browsers do; otherwise it offers
	// 1.3 only. Not over HTTP/3.
	TLS12 bool
	// PlainHeaders sends the headers of requests over SPDY uncompressed.
	PlainHeaders bool
	// EarlyData makes HTTP/3 send requests with safe methods as 0-RTT when it
	// resumes a TLS session whose server allows it (RFC 9001 section 4.6, RFC
	// 8470).
	EarlyData bool
	// Push accepts what SPDY servers push on the connection of an origin. A push
	// answers a later request for the same URL.
	Push bool
	// ChromiumSizes makes ClientHellos over TCP as long as Chromium's, and QUIC packets
	// like Chromium's: 1250 octets at most, without path MTU discovery.
	ChromiumSizes bool
	// Fallback is "" or "h2". With "h2", an HTTP/3 origin whose QUIC handshake
	// fails is fetched over that row instead for the rest of the session. Like
	// Chromium, the session tries a TCP connection beside a handshake that takes
	// longer than 300 ms, and uses the first to be ready.
	Fallback string
	// Windows limits what servers send; nil for the windows in the package's description.
	Windows *window.Receiver
	// NoteWindows keeps the windows that both ends of HTTP/2 connections announce, for
	// Session.Announced.
	NoteWindows bool
}

// Session is one client. Its methods are safe for concurrent use.
type Session struct {
	options Options
	tickets *tickets // of TLS over TCP
	quic    *tickets
	tokens  quic.TokenStore
	frames  frames
	running panics.Group // goroutines

	mu          sync.Mutex
	ctx         context.Context // ends with the open connections
	cancel      context.CancelCauseFunc
	closed      bool
	dispatching bool
	origins     []*origin   // in the order of their first request
	live        []*exchange // in flight, in the order of Fetch
	incoming    queue       // not yet assigned to an origin
	active      int         // assigned to origins
	watches     []*watch
	fetched     int     // requests so far
	connections int     // opened so far
	open        []*conn // in the order in which they were opened
	noted       []*notedConn
	sockets     int // open or being opened
}

// New returns a session. It opens nothing.
func New(o Options) *Session {
	s := &Session{
		options: o, tickets: newTickets(false, o.TLS12), quic: newTickets(true, false), tokens: quic.NewLRUTokenStore(mostTokens, 1),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if _, ok := spdy.ParseVersion(o.Protocol.ALPN); ok {
		s.frames.log = spdy.NewFrameLog(&s.frames, "client")
	}
	return s
}

// mostTokens is the number of hosts for which a session keeps a QUIC token.
const mostTokens = 1024

// Fetch requests a resource and returns at once. The request's handler receives
// the rest, and is not called before Fetch has returned.
//
// If a request is sent over a connection that others have used, and ends without
// any part of a response, it is sent again over a new connection.
func (s *Session) Fetch(r *Request) {
	x := newExchange(s, r)
	x.calls.Lock()
	defer x.calls.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go panics.From(x.ctx).Call(func() { x.end(ErrClosed) })
		return
	}
	if s.fetched == 0 {
		s.running.Guard = panics.From(x.ctx)
	}
	s.fetched++
	x.number = s.fetched
	s.live = append(s.live, x)
	s.incoming.add(x)
	s.watch(x)
	if !s.dispatching {
		s.dispatching = true
		s.running.Go(s.dispatch)
	}
}

// start runs f concurrently and lets it begin: on one processor, as on the virtual
// clock, f runs until it waits for the network before the caller continues, so
// that what is started first is sent first.
func (s *Session) start(f func()) {
	s.running.Go(f)
	runtime.Gosched()
}

// context returns the context of connections opened now.
func (s *Session) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// Connections returns how many connections have been opened so far.
func (s *Session) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// The causes with which requests in flight end.
var (
	ErrClosed       = errors.New("the session was closed")
	ErrDisconnected = errors.New("the session closed its connections")
)

// Disconnect closes all connections and waits for them. Requests in flight end
// with ErrDisconnected. Names and TLS sessions are kept, and the next Fetch opens
// new connections. Disconnect must not be called by a handler, or concurrently
// with Fetch.
func (s *Session) Disconnect() error {
	err := s.shut(ErrDisconnected)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
	}
	return err
}

// Close ends the requests in flight with ErrClosed, closes all connections and
// waits for the session's goroutines. Connections that their server has already
// closed are no error. A handler must not call Close.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.shut(ErrClosed)
}

// shut ends all requests in flight with the given cause, closes the connections,
// the newest first, and waits for all goroutines.
func (s *Session) shut(cause error) error {
	s.mu.Lock()
	s.cancel(cause)
	var waiting []*exchange
	for _, x := range s.live {
		if s.withdraw(x) {
			waiting = append(waiting, x)
		}
	}
	open := slices.Clone(s.open)
	s.mu.Unlock()
	for _, x := range waiting {
		s.finish(x, cause)
	}
	var errs []error
	for _, c := range slices.Backward(open) {
		errs = append(errs, c.close())
	}
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.sockets = nil, 0
	for _, o := range s.origins {
		o.conn, o.idle, o.pipes, o.lanes = nil, nil, nil, 0
		o.relax()
	}
	return errors.Join(errs...)
}

// watch is a context shared by requests in flight.
type watch struct {
	done  <-chan struct{}
	stop  func() bool
	users int
}

// watch makes requests end with their context; those of one context end in the
// order of Fetch. The caller holds the session's lock.
func (s *Session) watch(x *exchange) {
	done := x.ctx.Done()
	if done == nil {
		return
	}
	i := slices.IndexFunc(s.watches, func(w *watch) bool { return w.done == done })
	if i < 0 {
		i = len(s.watches)
		s.running.Add(1)
		w := &watch{done: done}
		w.stop = context.AfterFunc(x.ctx, func() {
			defer s.running.Done()
			s.running.Guard.Call(func() { s.abort(done) })
		})
		s.watches = append(s.watches, w)
	}
	s.watches[i].users++
}

// unwatch removes a request that has ended. The caller holds the session's
// lock.
func (s *Session) unwatch(x *exchange) {
	i := slices.IndexFunc(s.watches, func(w *watch) bool { return w.done == x.ctx.Done() })
	if i < 0 {
		return
	}
	w := s.watches[i]
	if w.users--; w.users > 0 {
		return
	}
	s.watches = slices.Delete(s.watches, i, i+1)
	if w.stop() {
		s.running.Done()
	}
}

// abort ends the requests of a context.
func (s *Session) abort(done <-chan struct{}) {
	s.mu.Lock()
	var waiting []*exchange
	var aborts []func()
	for _, x := range s.live {
		switch {
		case x.ctx.Done() != done:
		case s.withdraw(x):
			waiting = append(waiting, x)
		case x.abort != nil:
			aborts = append(aborts, x.abort)
		}
	}
	s.mu.Unlock()
	for _, x := range waiting {
		s.finish(x, context.Cause(x.ctx))
	}
	for _, f := range aborts {
		f()
	}
	s.advance()
}

// frames is a session's frame log.
type frames struct {
	log *spdy.FrameLog // nil if the protocol has none

	mu   sync.Mutex
	text []byte
}

// mostFrameLog is the longest frame log, in octets: a record is far longer than the shortest frame.
const mostFrameLog = 64 << 20

func (f *frames) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.text)+len(b) > mostFrameLog {
		return 0, fmt.Errorf("the session's SPDY frame log exceeds %d octets", mostFrameLog)
	}
	f.text = append(f.text, b...)
	return len(b), nil
}

// StartFrameLog drops earlier frames from FrameLog. Times and connection numbers
// continue.
func (s *Session) StartFrameLog() {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	head := bytes.IndexByte(s.frames.text, '\n') + 1 // the first record describes the rest
	s.frames.text = s.frames.text[:head]
}

// FrameLog returns every frame of the session's connections so far, in package
// spdy's format, or nil if the protocol is not SPDY.
func (s *Session) FrameLog() []byte {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return bytes.Clone(s.frames.text)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
