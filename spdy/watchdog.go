package spdy

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// leastProgress is how many octets a peer must send of a DATA frame, or let this side send on a
// stream, to count as progress: one that moves a single octet at a time must not hold a session or
// a handler for ever.
const leastProgress = 1 << 10

// watchdog periodically checks a session for anything that has waited too long.
// It is a single timer: a timer for each read and write would cost more than the
// reads and writes. Limits are accurate to a quarter of the shortest one.
type watchdog struct {
	timer    *time.Timer
	every    time.Duration
	progress uint64        // of the connection at the last look
	since    time.Duration // when that was first seen
}

func (w *watchdog) start(s *Session) {
	for _, limit := range []time.Duration{s.config.ReadTimeout, s.config.WriteTimeout, s.config.IdleTimeout} {
		if limit > 0 && (w.every == 0 || limit/4 < w.every) {
			w.every = limit / 4
		}
	}
	if w.every == 0 {
		return
	}
	w.every = max(w.every, time.Millisecond)
	w.timer = time.AfterFunc(w.every, s.look)
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look ends whatever has waited too long.
func (s *Session) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	now := s.now()
	over := func(since, limit time.Duration) bool { return limit > 0 && now-since >= limit }
	if p := s.progress.Load(); p != s.watch.progress || !s.inFrame.Load() {
		s.watch.progress, s.watch.since = p, now
	}
	switch {
	case over(s.watch.since, s.config.ReadTimeout):
		s.stuck("the peer did not complete a frame", s.config.ReadTimeout)
	case s.writing && over(s.wrote, s.config.WriteTimeout):
		s.stuck("the peer read nothing from the connection", s.config.WriteTimeout)
	case len(s.streams) == 0 && over(s.idleSince, s.config.IdleTimeout):
		s.leave()
	}
	for st := s.first; st != nil; {
		next := st.next
		switch {
		case st.writeWaited && over(st.writeSince, s.config.WriteTimeout):
			s.reset(st, Cancel, st.timedOut("did not reopen the window", s.config.WriteTimeout))
		case st.readWaited && !s.client && over(st.readSince, s.config.ReadTimeout):
			s.reset(st, Cancel, st.timedOut("sent nothing", s.config.ReadTimeout))
		case st.draining && over(st.drainSince, s.config.ReadTimeout):
			s.reset(st, Cancel, st.timedOut("did not end its request", s.config.ReadTimeout))
		}
		st = next
	}
	s.watch.timer.Reset(s.watch.every)
}

// stuck ends a session whose peer is inactive.
func (s *Session) stuck(what string, limit time.Duration) {
	s.end(&SessionError{
		Status: GoAwayInternalError, Cause: fmt.Sprintf("%s for %s", what, limit), Err: errors.Join(ErrTimeout, os.ErrDeadlineExceeded),
	}, GoAwayInternalError, true)
}
