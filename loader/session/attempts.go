package session

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Browsers do not wait for one connection where two would help. No standard
// covers this, so the following is Chromium's way. Strategies other than
// "browser" open one connection where they need one.

// backupAfter is how long Chromium waits for a TCP handshake before it opens a second
// connection beside it (kMaxConnectRetryIntervalMs in net/socket/client_socket_pool.h).
const backupAfter = 250 * time.Millisecond

// eager reports whether connections are opened as a browser does. The caller holds
// the session's lock.
func (o *origin) eager() bool {
	return o.session.options.Strategy.word == "" && o.row.Transport == "tcp"
}

// guard opens a second connection if the first dial attempt to the origin takes too
// long. Without TLS the time includes the DNS look-up; with TLS Chromium knows the
// address before it opens a connection. The caller holds the session's lock.
func (o *origin) guard() []func() {
	if !o.eager() || o.connected != nil {
		return nil
	}
	connected := make(chan struct{})
	o.connected = connected
	ctx := o.session.ctx
	return []func(){func() {
		overdue := time.NewTimer(backupAfter)
		defer overdue.Stop()
		for {
			select {
			case <-overdue.C:
			case <-connected:
				return
			case <-ctx.Done():
				return
			}
			begin, through := o.backUp(connected)
			for _, f := range begin {
				o.session.start(f)
			}
			if through {
				return
			}
			overdue.Reset(backupAfter)
		}
	}}
}

// relax ends the guard. The caller holds the session's lock.
func (o *origin) relax() {
	if o.connected != nil {
		close(o.connected)
		o.connected = nil
	}
}

// backUp returns what opens a connection beside the first, and whether the guard that
// waits for connected has finished. It opens none unless that very connection is slow
// and a request still waits for it.
func (o *origin) backUp(connected chan struct{}) (begin []func(), through bool) {
	s := o.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.connected != connected {
		return nil, true
	}
	if len(o.queue) == 0 && o.hands == 0 || o.conn != nil {
		o.relax()
		return nil, true
	}
	if !o.address.IsValid() || o.lanes >= connectionsPerHost || len(o.racing) >= connectionsPerHost {
		return nil, false
	}
	ok, evict := s.room()
	if !ok {
		return nil, false
	}
	if evict != nil {
		begin = append(begin, evict)
	}
	if s.options.Strategy.shared(o.row) {
		return append(begin, o.attempt()), true
	}
	o.lanes++
	return append(begin, o.spare), true
}

// spare opens a connection that no request needs yet.
func (o *origin) spare() {
	s := o.session
	c, err := o.open(s.context(), false)
	s.mu.Lock()
	if err != nil {
		o.lanes--
		s.mu.Unlock()
		s.advance()
		return
	}
	o.hands++
	s.mu.Unlock()
	o.work(c)
}

// attempts returns the dial attempts to start for an origin whose requests share a
// connection: one, or, until the origin is known to multiplex, one for each request.
// The caller holds the session's lock.
func (o *origin) attempts() (begin []func()) {
	want := 1
	if o.eager() && !o.multiplexes {
		want = min(len(o.queue), connectionsPerHost)
	}
	if len(o.racing) == 0 {
		o.failed = 0
		begin = o.guard()
	}
	for len(o.racing)+o.failed < want {
		ok, evict := o.session.room()
		if !ok {
			break
		}
		if evict != nil {
			begin = append(begin, evict)
		}
		begin = append(begin, o.attempt())
	}
	return begin
}

// racer is a dial attempt for a connection that is to carry all requests of its
// origin.
type racer struct {
	ctx  context.Context
	give context.CancelCauseFunc // cancels it
}

// attempt adds a dial attempt: the first connection to be ready carries the requests,
// and the other attempts are cancelled. The caller holds the session's lock.
func (o *origin) attempt() func() {
	s := o.session
	r := &racer{}
	r.ctx, r.give = context.WithCancelCause(s.ctx)
	o.racing = append(o.racing, r)
	return func() {
		defer r.give(nil)
		c, err := o.open(r.ctx, true)
		if err == nil {
			o.multiplex(c)
			return
		}
		lost := errors.Is(err, errRaceLost)
		s.mu.Lock()
		o.racing = slices.DeleteFunc(o.racing, func(other *racer) bool { return other == r })
		if !lost {
			o.failed++
		}
		last := !lost && len(o.racing) == 0 && o.conn == nil
		s.mu.Unlock()
		if last {
			o.giveUp(r.ctx, err)
			return
		}
		s.advance()
	}
}

// share makes a new connection carry the origin's requests, and cancels the other dial
// attempts. The caller holds the session's lock.
func (o *origin) share(c *conn) {
	o.conn, o.multiplexes, o.busy = c, true, true
	for _, r := range o.racing {
		if r.ctx != c.ctx {
			r.give(errRaceLost)
		}
	}
	o.racing = nil
}
