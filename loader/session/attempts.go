package session

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Browsers do not wait for one connection where two would do. What follows is
// Chromium's way, since no standard has a say in it; other strategies than the
// browser's open one connection where they need one.

// backupAfter is how long Chromium gives a TCP handshake before it begins another
// connection beside it (kMaxConnectRetryIntervalMs in net/socket/client_socket_pool.h).
const backupAfter = 250 * time.Millisecond

// eager tells whether connections are opened as a browser does. The session's lock is
// held.
func (o *origin) eager() bool {
	return o.session.options.Strategy.word == "" && o.row.Transport == "tcp"
}

// guard has a second connection begun if the first one to the origin takes too long to
// be made. In the clear that time begins with the look-up, as Chromium knows the address
// before it opens a connection for TLS. The session's lock is held.
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

// relax ends the guard. The session's lock is held.
func (o *origin) relax() {
	if o.connected != nil {
		close(o.connected)
		o.connected = nil
	}
}

// backUp says what begins a connection beside the first, and whether the guard that
// waits for connected is through. There is none while it is not that connection which
// takes so long, and none any more when nobody waits for it.
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

// spare opens a connection that no request has asked for.
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

// attempts are the connections to begin for an origin whose requests one of them is to
// carry: one, or, where it is not known yet that the origin multiplexes, one for each
// request. The session's lock is held.
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

// racer is a connection that is being opened to carry all requests of its origin.
type racer struct {
	ctx  context.Context
	give context.CancelCauseFunc // gives it up
}

// attempt is one more connection: the first to be ready carries the requests, and the
// others are given up. The session's lock is held.
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

// share has a new connection carry the origin's requests, and gives up the others that
// are being opened for that. The session's lock is held.
func (o *origin) share(c *conn) {
	o.conn, o.multiplexes, o.busy = c, true, true
	for _, r := range o.racing {
		if r.ctx != c.ctx {
			r.give(errRaceLost)
		}
	}
	o.racing = nil
}
