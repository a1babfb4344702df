package session

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"wiretime/protocol"
)

// origin is one host and port, with credentials or without.
type origin struct {
	session   *Session
	authority string // host, with the port if the URL has one
	anonymous bool
	host      string
	port      string
	clock     clock
	// sending is held while a request is written, so that requests are sent in the
	// order of the queue.
	sending sync.Mutex

	// Guarded by the session's lock.
	row     protocol.Protocol // the protocol it is fetched over
	address netip.Addr        // zero: not resolved yet
	dns     time.Duration     // of the look-up; -1: already recorded by a request
	queue   queue
	busy    bool    // resolving the host, or sending over the shared connection
	conn    *conn   // carries all requests; nil: none, or not used by the strategy
	lanes   int     // connections with one request at a time, open and being opened
	hands   int     // those of lanes that are about to take a request
	opening int     // those of hands that are being opened
	idle    []*conn // in the order in which they became idle
	pipes   []*pipe

	// Connections being opened.
	multiplexes bool          // the origin is known to multiplex
	racing      []*racer      // dial attempts for a connection that carries all requests
	failed      int           // failed dial attempts of the race
	connected   chan struct{} // closed when a connection is made; nil: no guard
}

// carrier is a connection over one of the protocols.
type carrier interface {
	// send writes a request once the connection allows it, and returns the function
	// that reads the response. It is called for one request after the other.
	send(x *exchange) (receive func() error, err error)
	// usable reports whether it accepts another request, now or once another has
	// ended.
	usable() bool
	// close ends the requests in flight. It may be called more than once.
	close() error
}

// conn is a connection and what is recorded about it.
type conn struct {
	carrier
	origin       *origin // the origin it was opened for
	row          protocol.Protocol
	ctx          context.Context // ends when the session closes its connections
	number       int
	remote       netip.AddrPort
	connect, ssl time.Duration // -1: does not apply
	resumed      bool
	covers       func(host string) bool // whether its certificate covers a host
	shared       bool                   // carries all requests at once

	// Guarded by the session's lock.
	told  bool // a request has recorded the times
	spare bool // was opened before a request needed it
	under int  // requests in flight
	idle  bool
	used  int // number of the last request over it
}

// begin returns what to start for the requests in the queue. The caller holds
// the session's lock.
func (o *origin) begin() []func() {
	s := o.session
	switch {
	case len(o.queue) == 0:
		return nil
	case !o.address.IsValid():
		if o.busy {
			return nil
		}
		if twin := s.twin(o); twin != nil {
			if !twin.address.IsValid() {
				return nil // until it has resolved the host
			}
			o.address = twin.address
			return o.begin()
		}
		o.busy = true
		if o.row.ALPN == "" {
			return append(o.guard(), o.lookUp)
		}
		return []func(){o.lookUp}
	case s.options.Strategy.shared(o.row):
		return o.beginShared()
	case s.options.Strategy.word == pipelined:
		return o.beginPipes()
	}
	var begin []func()
	// An idle connection need not wait for one that is being opened.
	for len(o.idle) > 0 && o.hands-o.opening < len(o.queue) {
		c := o.takeIdle()
		if !c.usable() {
			s.drop(c)
			begin = append(begin, func() { _ = c.close() })
			continue
		}
		o.hands++
		begin = append(begin, func() { o.work(c) })
	}
	for o.hands < len(o.queue) && o.lanes < s.options.Strategy.lanes() {
		ok, evict := s.room()
		if !ok {
			break
		}
		if evict != nil {
			begin = append(begin, evict)
		}
		if o.lanes == 0 {
			begin = append(begin, o.guard()...)
		}
		o.lanes++
		o.hands++
		o.opening++
		begin = append(begin, func() { o.work(nil) })
	}
	return begin
}

// takeIdle takes the most recently used idle connection or, if none was used, the oldest,
// like Chromium (net/socket/transport_client_socket_pool.cc). There must be one. The
// caller holds the session's lock.
func (o *origin) takeIdle() *conn {
	i := 0
	for j, c := range o.idle {
		if c.told {
			i = j
		}
	}
	c := o.idle[i]
	o.idle = slices.Delete(o.idle, i, i+1)
	c.idle = false
	return c
}

// twin returns another origin of the same host whose address is known or being
// resolved. The caller holds the session's lock.
func (s *Session) twin(o *origin) *origin {
	i := slices.IndexFunc(s.origins, func(other *origin) bool {
		return other != o && other.host == o.host && (other.address.IsValid() || other.busy)
	})
	if i < 0 {
		return nil
	}
	return s.origins[i]
}

// beginShared does what begin does, for origins with one connection for all
// requests.
func (o *origin) beginShared() []func() {
	s := o.session
	if o.busy {
		return nil
	}
	var begin []func()
	if c := o.conn; c != nil && !c.usable() {
		s.drop(c)
		begin = append(begin, func() { _ = c.close() })
	}
	if o.conn == nil {
		o.conn = s.coalesce(o)
	}
	if o.conn == nil {
		return append(begin, o.attempts()...)
	}
	o.conn.idle = false
	o.busy = true
	c := o.conn
	return append(begin, func() { o.multiplex(c) })
}

// coalesce finds an open connection to the same address whose certificate also
// covers another origin. The caller holds the session's lock.
func (s *Session) coalesce(o *origin) *conn {
	for _, c := range s.open {
		if c.shared && c.row.Name == o.row.Name && c.remote == o.server() && c.usable() && c.covers(o.host) && c.origin.anonymous == o.anonymous {
			return c
		}
	}
	return nil
}

// lookUp resolves the host.
func (o *origin) lookUp() {
	s := o.session
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	from := time.Now()
	address, err := s.options.Resolve(ctx, o.host)
	if err != nil {
		o.giveUp(ctx, fmt.Errorf("look up %s: %w", o.host, err))
		return
	}
	s.mu.Lock()
	o.address, o.dns, o.busy = address, time.Since(from), false
	s.mu.Unlock()
	s.advance()
}

// giveUp fails the requests in the queue.
func (o *origin) giveUp(ctx context.Context, err error) {
	s := o.session
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	s.mu.Lock()
	rest := o.queue
	o.queue, o.busy = nil, false
	o.relax()
	s.mu.Unlock()
	for _, x := range rest {
		s.finish(x, err)
	}
	s.advance()
}

// multiplex sends the queue's requests one after the other over the shared
// connection.
func (o *origin) multiplex(c *conn) {
	s := o.session
	// The first request reports a connection that is lost at once.
	for first := true; first || c.usable(); first = false {
		x, receive, err := o.send(c)
		if x == nil {
			return
		}
		if err != nil {
			s.settle(x, c, err)
			continue
		}
		s.running.Go(func() { s.settle(x, c, receive()) })
	}
	s.mu.Lock()
	o.busy = false
	s.mu.Unlock()
	s.advance()
}

// work sends one request over c, or over a new connection if c is nil, and reads
// the response.
func (o *origin) work(c *conn) {
	s := o.session
	if c == nil {
		var err error
		c, err = o.open(s.context(), false)
		s.mu.Lock()
		o.opening--
		if err != nil {
			o.lanes--
			o.hands--
		}
		s.mu.Unlock()
		if err != nil {
			o.giveUp(c.ctx, err)
			return
		}
	}
	x, receive, err := o.send(c)
	if x == nil {
		s.advance()
		return
	}
	if err == nil {
		err = receive()
	}
	s.settle(x, c, err)
}

// send writes the next request to c before any other connection takes another. If
// there is none, c becomes idle.
func (o *origin) send(c *conn) (x *exchange, receive func() error, err error) {
	s := o.session
	o.sending.Lock()
	defer o.sending.Unlock()
	s.mu.Lock()
	s.assign()
	x = o.queue.take()
	if !c.shared {
		o.hands--
	}
	switch {
	case x != nil:
		c.take(o, x)
	case c.shared:
		o.busy, c.idle = false, c.under == 0
	default:
		c.idle, c.spare = true, true
		o.idle = append(o.idle, c)
	}
	s.mu.Unlock()
	if x != nil {
		receive, err = c.carrier.send(x)
	}
	return x, receive, err
}

// take records the connection of a request. The first request to an origin
// records the look-up, the first over a connection how it was opened. The caller
// holds the session's lock.
func (c *conn) take(o *origin, x *exchange) {
	x.Connection, x.Remote, x.Proto, x.Resumed = c.number, c.remote.Addr().String(), c.row.Spoken, c.resumed
	if o.dns >= 0 {
		x.DNS, o.dns = o.dns, -1
	}
	if !c.told {
		c.told, x.First, x.Connect, x.SSL = true, true, c.connect, c.ssl
	}
	c.under++
	c.idle, c.used = false, x.number
}

// aborts sets how a request in flight is ended.
func (c *conn) aborts(x *exchange, f func()) {
	s := c.origin.session
	s.mu.Lock()
	x.abort = f
	s.mu.Unlock()
	if x.ctx.Err() != nil {
		f()
	}
}

// server returns where the origin is served.
func (o *origin) server() netip.AddrPort {
	port, err := net.LookupPort("ip", o.port)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(o.address, uint16(port))
}
