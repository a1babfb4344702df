package session

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
)

// dispatch starts work on connections until there is nothing left to start. Only
// one goroutine at a time runs it.
func (s *Session) dispatch() {
	for {
		s.mu.Lock()
		var begin []func()
		if s.ctx.Err() == nil {
			s.assign()
			// Chromium resolves names before it sends anything: the responses to what it
			// sends would delay the addresses.
			origins := slices.Clone(s.origins)
			slices.SortStableFunc(origins, func(a, b *origin) int { return cmp.Compare(a.lookedUp(), b.lookedUp()) })
			for _, o := range origins {
				begin = append(begin, o.begin()...)
			}
		}
		s.dispatching = len(begin) > 0
		s.mu.Unlock()
		if len(begin) == 0 {
			return
		}
		for _, f := range begin {
			s.start(f)
		}
	}
}

// lookedUp returns 1 if the host's address is known, else 0. The caller holds the
// session's lock.
func (o *origin) lookedUp() int {
	if o.address.IsValid() {
		return 1
	}
	return 0
}

// advance calls dispatch after a change.
func (s *Session) advance() {
	s.mu.Lock()
	other := s.dispatching
	s.dispatching = true
	s.mu.Unlock()
	if !other {
		s.dispatch()
	}
}

// assign gives requests to their origins, as many as may be in flight. The
// caller holds the session's lock.
func (s *Session) assign() {
	for len(s.incoming) > 0 && s.active < s.options.Strategy.together() {
		x := s.incoming.take()
		x.origin = s.originOf(x.HTTP.URL, x.Anonymous)
		x.origin.queue.add(x)
		s.active++
	}
}

func (s *Session) originOf(u *url.URL, anonymous bool) *origin {
	i := slices.IndexFunc(s.origins, func(o *origin) bool { return o.authority == u.Host && o.anonymous == anonymous })
	if i >= 0 {
		return s.origins[i]
	}
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(s.options.Protocol.Port)
	}
	o := &origin{session: s, row: s.options.Protocol, authority: u.Host, anonymous: anonymous, host: u.Hostname(), port: port, dns: -1}
	s.origins = append(s.origins, o)
	return o
}

// Multiplexes reports whether a host, with its port unless it is the protocol's default,
// is known to carry many requests over one connection: it has, or had, such a connection.
func (s *Session) Multiplexes(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.origins, func(o *origin) bool { return o.authority == host && (o.multiplexes || o.conn != nil) })
}

// Reprioritize changes the priority of a request that waits for a connection. A
// request that has been sent keeps its priority.
func (s *Session) Reprioritize(r *Request, p Priority) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.live, func(x *exchange) bool { return x.Request == r })
	if i < 0 {
		return
	}
	waiting := &s.incoming
	if o := s.live[i].origin; o != nil {
		waiting = &o.queue
	}
	if waiting.remove(s.live[i]) {
		r.Priority = p
		waiting.add(s.live[i])
	}
}

// withdraw takes back a request that is not yet on a connection. The caller holds
// the session's lock.
func (s *Session) withdraw(x *exchange) bool {
	if x.origin == nil {
		return s.incoming.remove(x)
	}
	return x.origin.queue.remove(x) || slices.ContainsFunc(x.origin.pipes, func(p *pipe) bool { return p.waiting.remove(x) })
}

// finish ends a request unless it has already ended.
func (s *Session) finish(x *exchange, err error) {
	s.mu.Lock()
	i := slices.Index(s.live, x)
	if i >= 0 {
		s.live = slices.Delete(s.live, i, i+1)
		if x.origin != nil {
			s.active--
		}
		s.unwatch(x)
	}
	s.mu.Unlock()
	if i >= 0 {
		x.end(err)
	}
}

// settle ends a request when its connection has finished with it, or sends it
// again.
func (s *Session) settle(x *exchange, c *conn, err error) {
	s.mu.Lock()
	c.under--
	err, again := c.outcome(x, err)
	var dropped bool
	switch o := c.origin; {
	case !c.usable(), s.options.Strategy.Separate():
		dropped = s.drop(c)
	case c.shared:
		c.idle = c.under == 0
	default:
		c.idle = true
		o.idle = append(o.idle, c)
	}
	if again {
		x.reset()
		x.origin.queue.add(x)
	}
	s.mu.Unlock()
	if dropped {
		_ = c.close() // its request has already reported the error
	}
	if !again {
		s.finish(x, err)
	}
	s.advance()
}

// outcome returns what became of a request on a connection: the error, for people, and
// whether to send it again. It is sent again if a connection that existed before the
// request was lost before any part of the response. If the connection was opened for
// the request, both end together, so there is no endless retry. The caller holds the
// session's lock.
func (c *conn) outcome(x *exchange, err error) (cause error, again bool) {
	x.abort = nil
	if err == nil {
		return nil, false
	}
	if cause := context.Cause(c.ctx); cause != nil {
		return cause, false
	}
	return err, !c.usable() && (!x.First || c.spare) && x.Answered.IsZero() && x.ctx.Err() == nil && x.repeatable()
}

// drop forgets a connection, which the caller then closes. It returns false if
// that was done before. The caller holds the session's lock.
func (s *Session) drop(c *conn) bool {
	i := slices.Index(s.open, c)
	if i < 0 {
		return false
	}
	s.open = slices.Delete(s.open, i, i+1)
	s.sockets--
	if !c.shared {
		c.origin.lanes--
		if j := slices.Index(c.origin.idle, c); j >= 0 {
			c.origin.idle = slices.Delete(c.origin.idle, j, j+1)
		}
		return true
	}
	for _, o := range s.origins {
		if o.conn == c {
			o.conn = nil
		}
	}
	return true
}

// room reports whether one more connection may be opened, and counts it. At the
// limit it removes the connection that has been idle longest, which evict closes.
// The caller holds the session's lock.
func (s *Session) room() (ok bool, evict func()) {
	if s.sockets >= s.options.Strategy.sockets() {
		var oldest *conn
		for _, c := range s.open {
			if c.idle && (oldest == nil || c.used < oldest.used) {
				oldest = c
			}
		}
		if oldest == nil {
			return false, nil
		}
		s.drop(oldest)
		evict = func() { _ = oldest.close() }
	}
	s.sockets++
	return true, evict
}
