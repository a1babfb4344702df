// Package session is the network side of a loader: the names, TLS sessions and
// connections of one client. Loaders ask it for resources and are told of each
// answer as it arrives; what a page is, it does not know.
//
// How connections are used is the [Strategy]'s; the one that browsers have is:
//
//   - HTTP/1.1, in the clear and over TLS: at most 6 connections to a host, each
//     with one request at a time and kept alive. A request goes to the connection
//     that is first ready for it.
//   - HTTP/2 (net/http): one connection for an origin, as many requests at a time
//     as the server allows.
//   - SPDY (package spdy): likewise. Flow control has the windows that Chromium
//     had while it spoke SPDY, spdy.ChromiumWindow.
//   - HTTP/3 (quic-go): likewise. Flow control begins with the windows of
//     net/http's HTTP/2, so that they are not the difference between the two.
//
// Those that multiplex use a connection for another origin too, if the address is
// the same and the certificate good for its host (RFC 9113 section 9.1.1, RFC 9114
// section 3.3).
//
// Requests wait in one queue for each origin: those with a higher priority first,
// equal ones in the order of Fetch. That is the order on the wire, never that of a
// map or of a race between goroutines. There are no pings and no timers but those
// of TCP, QUIC and the resolver.
//
// A session begins cold: nothing looked up, no TLS session, no connection. It
// keeps what it learns: names, the TLS sessions for which servers give tickets,
// the tokens by which QUIC servers know an address again (RFC 9000 section 8.1.3),
// and, until Disconnect, its connections.
package session

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/protocol"
	"wiretime/spdy"
)

// Options say what a session speaks, where it runs and whom it trusts.
type Options struct {
	Protocol protocol.Protocol
	// Strategy is how connections are used. It must support the protocol.
	Strategy Strategy
	// Verify decides on the certificate of a server: protocol.Authority.Verify in
	// the lab. It is asked about resumed sessions too.
	Verify func(tls.ConnectionState) error
	// KeyLog receives the TLS secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// Dial opens a TCP connection on the client's host. It is called again while
	// earlier calls wait, and must not make one wait for another. Keep-alive
	// probes are turned off on what it returns.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ListenPacket opens a UDP socket on the client's host.
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
	// Resolve looks a name up as a client on that host would: see [Resolver].
	Resolve func(ctx context.Context, host string) (netip.Addr, error)
	// EarlyData has HTTP/3 send requests with safe methods as 0-RTT when a TLS
	// session is resumed whose server allows it (RFC 9001 section 4.6, RFC 8470).
	EarlyData bool
	// Push accepts what SPDY servers push to the one connection of an origin. It
	// answers a later request for the same URL.
	Push bool
	// ChromiumSizes has ClientHellos over TCP be as long as Chromium's, and QUIC's packets:
	// 1250 octets at most, and no search for what the path can carry.
	ChromiumSizes bool
	// Fallback is "", or "h2": an origin of HTTP/3 whose QUIC handshake fails is
	// fetched from over that row instead, for the rest of the session. When the
	// handshake takes longer than 300 ms a TCP connection is tried beside it, and
	// the first to be ready is used, as Chromium has it.
	Fallback string
}

// Session is one client. Its methods are safe for concurrent use.
type Session struct {
	options Options
	tickets *tickets // of TLS over TCP
	quic    *tickets
	tokens  quic.TokenStore
	frames  frames
	running sync.WaitGroup // goroutines

	mu          sync.Mutex
	ctx         context.Context // ends with the connections that are open
	cancel      context.CancelCauseFunc
	closed      bool
	dispatching bool
	origins     []*origin   // in the order of their first request
	live        []*exchange // under way, in the order of Fetch
	incoming    queue       // that no origin has yet
	active      int         // that origins have
	watches     []*watch
	fetched     int     // requests so far
	connections int     // opened so far
	open        []*conn // in the order in which they were opened
	sockets     int     // open and being opened
}

// New makes a session. It opens nothing.
func New(o Options) *Session {
	s := &Session{
		options: o, tickets: newTickets(false), quic: newTickets(true), tokens: quic.NewLRUTokenStore(mostTokens, 1),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if _, ok := spdy.ParseVersion(o.Protocol.ALPN); ok {
		s.frames.log = spdy.NewFrameLog(&s.frames, "client")
	}
	return s
}

// mostTokens is how many hosts a session keeps a QUIC token for.
const mostTokens = 1024

// Fetch asks for a resource and returns at once; the request's handler is told of
// the rest, and is not called before Fetch has returned.
//
// A request that is sent over a connection which others have used, and which ends
// without a part of the answer, is sent again over a new one.
func (s *Session) Fetch(r *Request) {
	x := newExchange(s, r)
	x.calls.Lock()
	defer x.calls.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go x.end(ErrClosed)
		return
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

// start runs f beside its caller and lets it begin: on one processor, as under the
// virtual clock, f runs until it has to wait for the network before the caller
// goes on, so that what is started first goes first onto the wire.
func (s *Session) start(f func()) {
	s.running.Go(f)
	runtime.Gosched()
}

// context is that of connections which are opened now.
func (s *Session) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// Connections is how many connections were opened so far.
func (s *Session) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// The reasons for which requests end that are under way at such a time.
var (
	ErrClosed       = errors.New("the session was closed")
	ErrDisconnected = errors.New("the session closed its connections")
)

// Disconnect closes all connections and waits for them. Requests under way end
// with ErrDisconnected. Names and TLS sessions are kept, and the next Fetch opens
// new connections. It must not be called by a handler, or beside Fetch.
func (s *Session) Disconnect() error {
	err := s.shut(ErrDisconnected)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
	}
	return err
}

// Close ends what is under way with ErrClosed, closes all connections and waits for
// the session's goroutines. Connections that their server has closed before are no
// error. It must not be called by a handler.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.shut(ErrClosed)
}

// shut ends whatever is under way, for the given reason, closes what is open, what
// was opened last first, and waits for all goroutines.
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

// watch is a context that requests are under way with.
type watch struct {
	done  <-chan struct{}
	stop  func() bool
	users int
}

// watch has requests end with their context: those of one context in the order of
// Fetch. The session's lock is held.
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
			s.abort(done)
		})
		s.watches = append(s.watches, w)
	}
	s.watches[i].users++
}

// unwatch is for a request that has ended. The session's lock is held.
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
	log *spdy.FrameLog // nil where the protocol has none

	mu   sync.Mutex
	text []byte
}

func (f *frames) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, b...)
	return len(b), nil
}

// StartFrameLog has FrameLog hold nothing of what was before. Times and the numbers of
// connections go on.
func (s *Session) StartFrameLog() {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	head := bytes.IndexByte(s.frames.text, '\n') + 1 // the first record describes the rest
	s.frames.text = s.frames.text[:head]
}

// FrameLog is every frame of the session's connections so far, as package spdy
// writes them down; nil where the protocol is not SPDY.
func (s *Session) FrameLog() []byte {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return bytes.Clone(s.frames.text)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
