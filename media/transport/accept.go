package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// passing are the errors of accepting a connection that pass: those of a system that has run out of
// something, and those of one connection or of the network, which accept(2) passes on.
var passing = []error{
	unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EPERM, unix.ECONNABORTED, unix.EPROTO,
	unix.ENETDOWN, unix.ENETUNREACH, unix.EHOSTDOWN, unix.EHOSTUNREACH,
}

func passes(err error) bool {
	for _, p := range passing {
		if errors.Is(err, p) {
			return true
		}
	}
	return false
}

// acceptAll accepts connections until the server is closed, no more of them at a time than
// MaxConnections. It serves each on a goroutine of its own, by the function that accept returns.
// After an error that passes it tries again, after a pause of 5 ms to 1 s, as net/http does.
func (s *Server) acceptAll(accept func() (serve func(), err error)) {
	s.serving.Go(func() {
		for pause := time.Duration(0); s.takeSlot(); {
			serve, err := accept()
			if err == nil {
				pause = 0
				s.serving.Go(func() {
					defer s.freeSlot()
					serve()
				})
				continue
			}
			s.freeSlot()
			if s.ctx.Err() != nil {
				return
			}
			if !passes(err) {
				s.stops(err)
				return
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.report(fmt.Errorf("accept a connection: %w; trying again in %v", err, pause))
			select {
			case <-s.ctx.Done():
			case <-time.After(pause):
			}
		}
	})
}

// takeSlot waits until there may be one more connection. It returns false if the server has been
// closed.
func (s *Server) takeSlot() bool {
	if s.slots == nil {
		return true
	}
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	s.report(fmt.Errorf("%d connections are open, the limit: further ones wait until others end", cap(s.slots)))
	select {
	case s.slots <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *Server) freeSlot() {
	if s.slots != nil {
		<-s.slots
	}
}

// stops records why the server accepts no connections any more.
func (s *Server) stops(why error) {
	why = fmt.Errorf("accept connections over %s: %w; no more are accepted", s.config.Transport.Name, why)
	s.mu.Lock()
	s.stopped = why
	s.mu.Unlock()
	s.report(why)
}

func (s *Server) report(err error) {
	if s.config.Report != nil {
		s.config.Report(fmt.Errorf("serve media over %s: %w", s.config.Transport.Name, err))
	}
}

// rest closes a connection whose client rests for too long: without a request that is being
// answered. Its methods do nothing if there is no limit.
type rest struct {
	limit time.Duration
	timer *time.Timer // nil: no limit

	mu   sync.Mutex
	busy int // requests that are being answered
}

// newRest limits how long the client of a connection may rest. The first request must come within
// Patience.
func (s *Server) newRest(connection io.Closer) *rest {
	r := &rest{limit: s.config.Idle}
	if r.limit > 0 {
		r.timer = time.AfterFunc(min(s.config.Patience, r.limit), func() { _ = connection.Close() })
	}
	return r
}

// begins is called when a request has arrived, ends when it has been answered.
func (r *rest) begins() { r.changes(1) }
func (r *rest) ends()   { r.changes(-1) }

func (r *rest) changes(by int) {
	if r.timer == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy += by; r.busy == 0 {
		r.timer.Reset(r.limit)
	} else {
		r.timer.Stop()
	}
}

func (r *rest) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// limitQUIC makes a QUIC transport refuse connections beyond MaxConnections, those whose handshakes
// are under way included, and from a quarter of that on ask clients to prove their addresses first
// (RFC 9000 section 8.1.2).
func (s *Server) limitQUIC() (verify func() bool, join func(context.Context) (context.Context, error)) {
	var mu sync.Mutex
	open := 0
	most := s.config.MaxConnections
	verify = func() bool {
		mu.Lock()
		defer mu.Unlock()
		return open >= (most+3)/4
	}
	join = func(ctx context.Context) (context.Context, error) {
		mu.Lock()
		defer mu.Unlock()
		if open >= most {
			return nil, fmt.Errorf("%d connections are open, the limit", most)
		}
		open++
		context.AfterFunc(ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			open--
		})
		return ctx, nil
	}
	return verify, join
}
