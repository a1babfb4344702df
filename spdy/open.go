package spdy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

func sortSettings(entries []Setting) {
	slices.SortStableFunc(entries, func(a, b Setting) int { return cmp.Compare(a.ID, b.ID) })
}

// OpenOptions say how a stream is opened.
type OpenOptions struct {
	Priority Priority
	// Fin opens a stream on which this side sends only its fields.
	Fin bool
	// Unidirectional opens a stream on which the peer sends nothing.
	Unidirectional bool
	// Associated is the open stream of the peer that a pushed stream belongs to.
	Associated *Stream
	// NoWait returns ErrTooManyStreams instead of waiting for others to end.
	NoWait bool
}

// ErrTooManyStreams is the error of exceeding the peer's stream limit.
var ErrTooManyStreams = errors.New("spdy: the peer's stream limit is reached")

// Open opens a stream with these fields, in this order. It waits while the
// peer's stream limit is reached.
func (s *Session) Open(ctx context.Context, fields []Field, o OpenOptions) (*Stream, error) {
	if err := s.check(fields); err != nil {
		return nil, fmt.Errorf("spdy: open a stream: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.slot(ctx, o.NoWait); err != nil {
		return nil, err
	}
	f := &SynStream{
		StreamID: s.nextID, Priority: min(o.Priority, Lowest), Fin: o.Fin, Unidirectional: o.Unidirectional, Fields: fields,
	}
	if o.Associated != nil {
		if o.Associated.err != nil || o.Associated.localDone {
			return nil, fmt.Errorf("spdy: open a stream: the associated stream %d has ended (%s)", o.Associated.id, s.version.cite("3.3.1"))
		}
		f.AssociatedID = o.Associated.id
	}
	s.nextID += 2
	st := s.newStream(f)
	st.local = true
	st.localDone, st.remoteDone = f.Fin, f.Unidirectional
	s.local++
	s.send(f)
	if st.localDone && st.remoteDone {
		s.remove(st)
	}
	return st, nil
}

// check returns an error if fields cannot be sent.
func (s *Session) check(fields []Field) error {
	size := 0
	for i, f := range fields {
		if err := s.version.checkField(f); err != nil {
			return err
		}
		if _, twice := valueOf(fields[:i], f.Name); twice {
			return fmt.Errorf("duplicate name %q (%s)", f.Name, s.version.cite("2.6.10"))
		}
		size += 8 + len(f.Name) + len(f.Value)
	}
	if size > maxLength/2-8 {
		return fmt.Errorf("a header block of %d octets (%s)", size, s.version.cite("2.2.1"))
	}
	return nil
}

// slot waits until one more stream may be opened. It returns with the lock
// held.
func (s *Session) slot(ctx context.Context, noWait bool) error {
	if err := s.mayOpen(); err != nil {
		return err
	}
	if len(s.waiting) == 0 && s.local+s.granted < s.peerMax {
		return nil
	}
	if noWait {
		return ErrTooManyStreams
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
	}
	s.mu.Lock()
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return fmt.Errorf("spdy: wait for the peer's stream limit: %w", context.Cause(ctx))
	}
	s.granted--
	if ctx.Err() != nil {
		s.grant()
		return fmt.Errorf("spdy: wait for the peer's stream limit: %w", context.Cause(ctx))
	}
	return s.mayOpen()
}

func (s *Session) mayOpen() error {
	switch {
	case s.err != nil:
		if errors.Is(s.err, ErrClosed) {
			return ErrGoingAway
		}
		return s.err
	case s.leaving, s.nextID > maxStreamID:
		return ErrGoingAway
	}
	return nil
}

// grant wakes the waiters for a stream, first come, first served.
func (s *Session) grant() {
	for len(s.waiting) > 0 && s.local+s.granted < s.peerMax {
		s.granted++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// newStream creates a stream as the newest of the session.
func (s *Session) newStream(f *SynStream) *Stream {
	st := &Stream{
		s: s, id: f.StreamID, associated: f.AssociatedID, priority: f.Priority, fields: f.Fields,
		sendWindow: sendWindow(s.peerInitial),
		window:     receiveWindow{size: s.initial, left: s.most},
	}
	if s.own(st.id) || f.Unidirectional {
		st.replied = make(chan struct{})
	}
	st.readable.L, st.writable.L = &s.mu, &s.mu
	s.streams[st.id] = st
	st.prev = s.last
	if s.last == nil {
		s.first = st
	} else {
		s.last.next = st
	}
	s.last = st
	return st
}

// remove removes a stream that has ended.
func (s *Session) remove(st *Stream) {
	if s.streams[st.id] != st {
		return
	}
	delete(s.streams, st.id)
	if st.prev == nil {
		s.first = st.next
	} else {
		st.prev.next = st.next
	}
	if st.next == nil {
		s.last = st.prev
	} else {
		st.next.prev = st.prev
	}
	if st.local {
		s.local--
		s.grant()
	} else {
		s.remote--
	}
	if len(s.streams) == 0 {
		s.idleSince = s.now()
		s.enc.z.rest()
	}
	s.endIfDone()
}

// reset ends a stream because of an error on this side, and tells the peer.
func (s *Session) reset(st *Stream, status Status, reason error) {
	if s.streams[st.id] != st {
		return
	}
	s.refuse(st.id, status)
	st.fail(reason)
}

// goneStream is a stream that this side has reset, with how many octets of it may still be on their way.
type goneStream struct {
	id       uint32
	inFlight int64
}

// mostGone is how many of them a session remembers.
const mostGone = 256

// inFlightV2 is that number for SPDY/2, which has no windows.
const inFlightV2 = 1 << 20

// leastFrame is what a DATA frame of a stream that has been reset counts at least, in octets.
const leastFrame = 256

// wasInFlight reports whether a DATA frame may have been on its way when this side reset its stream: then it is no flood.
func (s *Session) wasInFlight(id uint32, length int) bool {
	i := slices.IndexFunc(s.gone, func(g goneStream) bool { return g.id == id })
	if i < 0 || length == 0 {
		return false
	}
	s.gone[i].inFlight -= int64(max(length, leastFrame))
	return s.gone[i].inFlight >= 0
}

// refuse sends RST_STREAM for a stream.
func (s *Session) refuse(id uint32, status Status) {
	if s.version == V2 && status > FlowControlError {
		status = ProtocolError
	}
	inFlight := int64(inFlightV2)
	if s.version != V2 {
		inFlight = s.initial
	}
	if len(s.gone) < mostGone {
		s.gone = append(s.gone, goneStream{id, inFlight})
	} else {
		s.gone[s.goneAt] = goneStream{id, inFlight}
		s.goneAt = (s.goneAt + 1) % mostGone
	}
	s.send(&RstStream{StreamID: id, Status: status})
}
