package spdy

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"wiretime/panics"
)

// read runs the receive loop.
func (s *Session) read() {
	err := panics.Do(s.readFrames)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	var session *SessionError
	switch {
	case errors.As(err, &session):
		s.end(session, session.Status, true)
	case errors.Is(err, io.EOF) && s.leaving && len(s.streams) == 0:
		s.broken = true
		s.end(ErrClosed, GoAwayOK, false)
	default:
		s.broken = true
		s.end(&SessionError{Status: GoAwayInternalError, Cause: "read from the connection", Err: err}, GoAwayInternalError, false)
	}
}

// readFrames handles frames until an error ends the session.
func (s *Session) readFrames() error {
	for {
		s.inFrame.Store(false)
		if _, err := s.r.Peek(1); err != nil {
			return err
		}
		s.inFrame.Store(true)
		head, err := s.r.Peek(frameHeaderLength)
		if err != nil {
			return truncated(err)
		}
		h := parseHeader(head)
		s.progress.Add(1)
		_, _ = s.r.Discard(frameHeaderLength)
		if !h.control {
			err = s.data(h)
		} else {
			err = s.readControl(h)
		}
		if err != nil {
			return err
		}
	}
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readControl reads and handles a control frame.
func (s *Session) readControl(h frameHeader) error {
	if h.length > s.config.MaxFrameBytes {
		return &SessionError{Status: GoAwayProtocolError, Cause: fmt.Sprintf(
			"%s of %d octets exceeds the limit of %d (%s)", h.kind, h.length, s.config.MaxFrameBytes, s.version.cite("2.2.1"))}
	}
	var payload []byte
	var err error
	peeked := h.length <= s.r.Size()
	if peeked {
		payload, err = s.r.Peek(h.length)
	} else {
		payload = make([]byte, h.length)
		_, err = io.ReadFull(s.r, payload)
	}
	if err != nil {
		return truncated(err)
	}
	f, err := s.dec.control(h, payload)
	stream, _ := err.(*StreamError) //nolint:errorlint // it is never wrapped, and errors.As would allocate
	if err != nil && stream == nil {
		return err
	}
	s.mu.Lock()
	s.handle(f, stream, h)
	err = s.err
	s.mu.Unlock()
	if peeked {
		_, _ = s.r.Discard(h.length)
	}
	return err
}

// handle acts on a control frame. A frame with a stream error resets its
// stream.
func (s *Session) handle(f Frame, wrong *StreamError, h frameHeader) {
	if s.err != nil {
		return
	}
	if s.config.Log != nil && f.Type() != TypeWindowUpdate {
		s.logControl(false, f, h.length)
	}
	switch f := f.(type) {
	case *SynStream:
		s.synStream(f, wrong)
		return
	case *Settings:
		s.spend(1 + len(f.Entries)/8)
		s.settings(f)
		return
	case *Ping:
		s.ping(f)
		return
	case *GoAway:
		s.goneAway(f)
		return
	case *WindowUpdate:
		if wrong == nil {
			s.windowUpdate(f)
			return
		}
	case *RstStream:
		s.rstStream(f)
		return
	case *SynReply:
		if wrong == nil {
			s.synReply(f)
			return
		}
	case *Headers:
		if wrong == nil {
			s.headers(f)
			return
		}
	case *Unknown:
		s.spend(1)
		if f.Kind == TypeSynStream && f.Version != s.version.wire() && len(f.Payload) >= 4 {
			// Draft 2, "Protocol versioning": everything else is ignored.
			if id := parseHeader(append(append([]byte(nil), f.Payload[:4]...), 0, 0, 0, 0)).streamID & maxStreamID; id != 0 {
				s.refuse(id, UnsupportedVersion)
			}
		}
		return
	default: // NOOP, CREDENTIAL
		s.spend(1)
		return
	}
	s.spend(1)
	if st := s.streams[wrong.StreamID]; st != nil {
		s.reset(st, wrong.Status, wrong)
	} else {
		s.noStream(wrong.StreamID)
	}
}

// spend charges the budget for frames without effect.
func (s *Session) spend(n int) {
	if !s.budget.spend(n) || len(s.control)-s.controlAt > 2*budgetMost {
		s.end(&SessionError{Status: GoAwayProtocolError, Cause: "the peer floods the session with frames without effect"}, GoAwayProtocolError, true)
	}
}

// noStream answers a frame of a stream that is not open.
func (s *Session) noStream(id uint32) {
	s.spend(1)
	switch {
	case slices.ContainsFunc(s.gone, func(g goneStream) bool { return g.id == id }):
		// One RST_STREAM is enough (section 2.4.2).
	case s.known(id) && s.version == V2:
		// Frames after the end are ignored (draft 2, "Stream close").
	case s.known(id):
		s.refuse(id, ProtocolError) // section 2.3.7
	case !s.refusing:
		s.refuse(id, InvalidStream) // section 2.2.2
	}
}

// known reports whether there has been a stream with this ID.
func (s *Session) known(id uint32) bool {
	if s.own(id) {
		return id < s.nextID
	}
	return id <= s.lastPeerID
}

// own reports whether an ID is one that this side assigns.
func (s *Session) own(id uint32) bool { return id%2 == 1 == s.client }

// wrong resets a stream because of the peer's error on it.
func (s *Session) wrong(st *Stream, status Status, section, format string, a ...any) {
	s.spend(1)
	s.reset(st, status, &StreamError{StreamID: st.id, Status: status, Cause: fmt.Sprintf(format, a...) + " (" + s.version.cite(section) + ")"})
}
