package session

import (
	"context"
	"errors"
	"slices"
)

// pipe is an HTTP/1.1 connection on which requests do not wait for responses, which
// come in the same order (RFC 9112 section 9.3.2).
type pipe struct {
	origin *origin

	// Guarded by the session's lock.
	conn    *conn // nil: not opened yet
	waiting queue
	flight  []*exchange // written and not answered
	writing bool
	reading bool
	lost    bool // the connection is lost
}

// beginPipes distributes the queue, each request to the pipe with the fewest, new
// pipes first. The caller holds the session's lock.
func (o *origin) beginPipes() []func() {
	s := o.session
	var begin []func()
	for len(o.queue) > 0 {
		var least *pipe
		for _, p := range o.pipes {
			if least == nil || p.load() < least.load() {
				least = p
			}
		}
		if (least == nil || least.load() > 0) && o.lanes < s.options.Strategy.lanes() {
			if ok, evict := s.room(); ok {
				if evict != nil {
					begin = append(begin, evict)
				}
				o.lanes++
				least = &pipe{origin: o}
				o.pipes = append(o.pipes, least)
			}
		}
		if least == nil {
			break
		}
		least.waiting.add(o.queue.take())
		if !least.writing {
			least.writing = true
			begin = append(begin, least.write)
		}
	}
	return begin
}

func (p *pipe) load() int { return len(p.waiting) + len(p.flight) }

// write sends the waiting requests one after the other.
func (p *pipe) write() {
	o, s := p.origin, p.origin.session
	s.mu.Lock()
	c := p.conn
	s.mu.Unlock()
	if c == nil {
		var err error
		if c, err = o.open(s.context(), false); err != nil {
			s.mu.Lock()
			o.lanes--
			p.dissolve()
			s.mu.Unlock()
			o.giveUp(c.ctx, err)
			return
		}
		s.mu.Lock()
		p.conn = c
		s.mu.Unlock()
	}
	for p.writeNext() {
	}
}

// dissolve returns the waiting requests to the origin. The caller holds the
// session's lock.
func (p *pipe) dissolve() {
	p.lost = true
	p.origin.pipes = slices.DeleteFunc(p.origin.pipes, func(q *pipe) bool { return q == p })
	for _, x := range p.waiting {
		p.origin.queue.add(x)
	}
	p.waiting = nil
}

// writeNext sends one request, or returns false if there is none.
func (p *pipe) writeNext() bool {
	o, s := p.origin, p.origin.session
	o.sending.Lock()
	defer o.sending.Unlock()
	s.mu.Lock()
	x := p.waiting.take()
	if x == nil {
		p.writing = false
		s.mu.Unlock()
		return false
	}
	p.conn.take(o, x)
	s.mu.Unlock()
	p.conn.carrier.(*http1).write(x)
	s.mu.Lock()
	p.flight = append(p.flight, x)
	if !p.reading {
		p.reading = true
		s.running.Go(p.read)
	}
	s.mu.Unlock()
	p.conn.aborts(x, func() { p.abort(x) })
	return true
}

// abort ends a request whose context has ended. If its response is the next one,
// the connection is closed; otherwise the response is read and discarded.
func (p *pipe) abort(x *exchange) {
	s := p.origin.session
	s.mu.Lock()
	next := len(p.flight) > 0 && p.flight[0] == x
	x.forgotten = !next
	s.mu.Unlock()
	if next {
		_ = p.conn.carrier.(*http1).cut()
		return
	}
	s.finish(x, context.Cause(x.ctx))
}

// read reads the responses to the written requests.
func (p *pipe) read() {
	s, h := p.origin.session, p.conn.carrier.(*http1)
	for {
		s.mu.Lock()
		if len(p.flight) == 0 {
			p.reading = false
			p.conn.idle = p.conn.under == 0
			s.mu.Unlock()
			s.advance()
			return
		}
		x := p.flight[0]
		if x.forgotten {
			x = &exchange{Request: x.Request, ctx: context.Background(), over: true, forgotten: true}
		}
		s.mu.Unlock()
		err := errPipeLost
		if h.usable() {
			err = h.receive(x)
		}
		s.mu.Lock()
		p.flight = p.flight[1:]
		p.conn.under--
		if p.conn.under == 0 && h.in.Buffered() > 0 {
			h.broken.Store(true) // unrequested data
		}
		err, again := p.conn.outcome(x, err)
		dropped := false
		if !h.usable() && !p.lost {
			dropped = s.drop(p.conn)
			p.dissolve()
		}
		if again = again && !x.forgotten; again {
			x.reset()
			p.origin.queue.add(x)
		}
		s.mu.Unlock()
		if dropped {
			_ = p.conn.close()
		}
		if !again {
			s.finish(x, err)
		}
	}
}

// errPipeLost is the error of a request that cannot be sent again, on a connection
// that ended with an earlier response.
var errPipeLost = errors.New("wait for the response: the connection was closed after an earlier response")
