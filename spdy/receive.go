package spdy

import "fmt"

// data handles a DATA frame. It reads the payload into the stream's buffer as
// it arrives.
func (s *Session) data(h frameHeader) error {
	if h.streamID == 0 {
		return s.dec.broken(TypeData, "2.3.2", "invalid stream ID 0")
	}
	s.mu.Lock()
	st := s.admit(h)
	err := s.err
	for st != nil && err == nil && s.version == V2 && s.buffered >= maxUnread && !st.discarded {
		s.inFrame.Store(false) // the delay is not the peer's
		s.room.Wait()
		err = s.err
	}
	s.inFrame.Store(true)
	var space []byte
	if st != nil && !st.discarded && h.length > 0 {
		space = st.buffer.space()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if st == nil {
		return s.skip(h.length)
	}
	moved := 0
	for left := h.length; left > 0; {
		if space == nil {
			s.mu.Lock()
			s.consumed(st, left)
			s.mu.Unlock()
			return s.skip(left)
		}
		n, err := s.r.Read(space[:min(left, len(space))])
		if moved += n; moved >= leastProgress {
			moved = 0
			s.progress.Add(1)
		}
		s.mu.Lock()
		left -= n
		switch {
		case n == 0:
		case st.discarded:
			s.consumed(st, n)
		default:
			st.buffer.put(n)
			if st.unclaimed {
				st.prepaid += n
				s.consumedSession(n)
			}
			if st.parked {
				s.park(st, n)
			}
			st.readable.Broadcast()
		}
		space = nil
		if !st.discarded && left > 0 {
			space = st.buffer.space()
		}
		s.mu.Unlock()
		if err != nil {
			return truncated(err)
		}
	}
	if h.flags&flagFin != 0 {
		s.mu.Lock()
		if s.streams[st.id] == st {
			s.gotFin(st)
		}
		s.mu.Unlock()
	}
	return nil
}

// skip discards octets of the connection.
func (s *Session) skip(n int) error {
	for n > 0 {
		k, err := s.r.Discard(min(n, s.r.Size()))
		s.progress.Add(1)
		if n -= k; err != nil {
			return truncated(err)
		}
	}
	return nil
}

// admit charges a DATA frame to the windows, and returns its stream, or nil if
// its payload is to be discarded.
func (s *Session) admit(h frameHeader) *Stream {
	if s.err != nil {
		return nil
	}
	st := s.streams[h.streamID]
	if s.version == V31 && !s.window.received(h.length) {
		s.violated(GoAwayFlowControlError, "2.6.8", "DATA: exceeds the session's window by %d octets", -s.window.left)
		return nil
	}
	fin := h.flags&flagFin != 0
	within := st == nil || st.window.received(h.length) || s.version == V2
	if s.config.Log != nil {
		left := int64(0)
		if st != nil {
			left = s.windowLeft(st)
		}
		s.logData(false, h.streamID, h.length, fin, left, s.window.left)
	}
	if h.length == 0 && !fin {
		s.spend(1)
	}
	switch {
	case st == nil && s.wasInFlight(h.streamID, h.length):
	case st == nil:
		s.noStream(h.streamID)
	case st.remoteDone:
		s.wrong(st, StreamAlreadyClosed, "2.3.6", "DATA: the peer has ended the stream")
	case !within:
		s.wrong(st, FlowControlError, "2.6.8", "DATA: exceeds the stream's window by %d octets", -st.window.left)
	case st.local && !st.answered && s.version == V2:
		s.violated(GoAwayProtocolError, "2.2.2", "DATA: stream %d has had no SYN_REPLY", st.id)
	case st.local && !st.answered:
		s.wrong(st, ProtocolError, "2.2.2", "DATA: the stream has had no SYN_REPLY")
	default:
		if st.draining {
			if st.drained += int64(h.length); st.drained > maxDrained {
				s.reset(st, Cancel, fmt.Errorf("spdy: stream %d: the peer went on sending %d octets after the response", st.id, st.drained))
				break
			}
		}
		st.gotData = true
		st.received += int64(h.length)
		if s.version == V2 {
			s.buffered += h.length
		}
		return st
	}
	// It has arrived and been discarded.
	s.consumedSession(h.length)
	return nil
}
