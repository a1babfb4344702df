package session

import (
	"context"
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
		for made := false; !made; {
			overdue := time.NewTimer(backupAfter)
			select {
			case <-overdue.C:
				made = o.backUp()
			case <-connected:
				made = true
			case <-ctx.Done():
				made = true
			}
			overdue.Stop()
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

// backUp begins a connection beside the first, unless it is not that which takes so
// long, or nobody waits for it. It tells whether the guard is through.
func (o *origin) backUp() bool {
	s := o.session
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.options.Strategy.shared(o.row)
	if o.connected == nil || len(o.queue) == 0 && o.hands == 0 {
		return true
	}
	if !o.address.IsValid() || o.lanes >= connectionsPerHost || len(o.racing) >= connectionsPerHost {
		return false
	}
	if ok, _ := s.room(); !ok {
		return false
	}
	if shared {
		s.running.Go(o.attempt())
		return true
	}
	o.lanes++
	s.running.Go(o.spare)
	return true
}

// spare opens a connection that no request has asked for.
func (o *origin) spare() {
	s := o.session
	c, err := o.open(s.context(), false)
	s.mu.Lock()
	if err != nil {
		o.lanes--
		s.mu.Unlock()
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
		begin = o.guard()
	}
	for len(o.racing) < want {
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

// attempt is one more connection: the first to be ready carries the requests, and the
// others are given up. The session's lock is held.
func (o *origin) attempt() func() {
	s := o.session
	ctx, cancel := context.WithCancelCause(s.ctx)
	o.racing = append(o.racing, &cancel)
	return func() {
		defer cancel(nil)
		c, err := o.open(ctx, true)
		s.mu.Lock()
		o.racing = slices.DeleteFunc(o.racing, func(other *context.CancelCauseFunc) bool { return other == &cancel })
		switch {
		case err == nil && o.conn == nil:
			o.conn, o.multiplexes, o.busy = c, true, true
			for _, give := range o.racing {
				(*give)(errRaceLost)
			}
			s.mu.Unlock()
			o.multiplex(c)
			return
		case err == nil:
			s.drop(c)
			s.mu.Unlock()
			_ = c.close()
		default:
			last := len(o.racing) == 0 && o.conn == nil
			s.mu.Unlock()
			if last {
				o.giveUp(ctx, err)
				return
			}
		}
		s.advance()
	}
}
