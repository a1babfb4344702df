package spdy

import (
	"fmt"
	"slices"

	"wiretime/panics"
)

func (s *Session) synStream(f *SynStream, wrong *StreamError) {
	id := f.StreamID
	if s.own(id) {
		s.violated(GoAwayProtocolError, "2.3.2", "SYN_STREAM: the peer must not open stream %d", id)
		return
	}
	if s.refusing {
		// Section 2.6.6. The block has been read, for the compression state.
		return
	}
	if id <= s.lastPeerID {
		if st := s.streams[id]; st != nil {
			s.wrong(st, ProtocolError, "2.3.2", "SYN_STREAM: the stream is already open")
		} else if id == s.lastPeerID {
			s.noStream(id)
		} else {
			s.violated(GoAwayProtocolError, "2.3.2", "SYN_STREAM: stream %d comes after %d", id, s.lastPeerID)
		}
		return
	}
	s.lastPeerID = id
	switch {
	case wrong != nil:
		s.spend(1)
		s.refuse(id, wrong.Status)
		return
	case s.config.Accept == nil || s.remote >= s.config.MaxStreams || s.running >= 2*s.config.MaxStreams:
		s.spend(1)
		s.refuse(id, RefusedStream)
		return
	case s.client && s.streams[f.AssociatedID] == nil:
		s.spend(1)
		s.refuse(id, InvalidStream) // section 3.3.1
		return
	}
	// A pushed stream is unidirectional even if its flag is missing (section
	// 3.3.1), as in node-spdy.
	f.Unidirectional = f.Unidirectional || s.client
	st := s.newStream(f)
	st.parked = s.client
	st.remoteDone, st.localDone = f.Fin, f.Unidirectional
	s.remote++
	s.running++
	s.lastGood = id
	if f.Unidirectional {
		st.answered = true
		st.reply = slices.Clone(f.Fields)
		st.checkReply()
	}
	if st.remoteDone && st.localDone {
		s.remove(st)
	}
	if s.config.Arrived != nil {
		s.config.Arrived(st)
	}
	s.handlers.Go(func() {
		defer func() {
			_ = st.Close()
			s.mu.Lock()
			s.running--
			s.mu.Unlock()
		}()
		if err := panics.Do(func() error { s.config.Accept(st); return nil }); err != nil {
			st.Reset(InternalError, err)
		}
	})
}

// checkReply wakes the waiters for a pushed stream's fields once they include a
// status.
func (st *Stream) checkReply() {
	name := ":status"
	if st.s.version == V2 {
		name = "status"
	}
	if _, ok := valueOf(st.reply, name); ok {
		st.finishReply(true)
	}
}

func (s *Session) synReply(f *SynReply) {
	st := s.streams[f.StreamID]
	switch {
	case st == nil:
		s.noStream(f.StreamID)
		return
	case !st.local || st.remoteDone:
		s.wrong(st, StreamAlreadyClosed, "2.3.6", "SYN_REPLY: the peer must not reply on the stream")
		return
	case st.complete || st.answered && !interim(st.reply):
		s.wrong(st, StreamInUse, "2.6.2", "SYN_REPLY: duplicate reply")
		return
	}
	if st.answered && !s.charge(st, TypeSynReply, f.Fields) {
		return
	}
	st.answered, st.reply = true, f.Fields
	s.replied(st, f.Fin)
}

// replied handles the reply on a stream that this side opened.
func (s *Session) replied(st *Stream, fin bool) {
	if !interim(st.reply) || fin {
		st.finishReply(true)
	} else if st.interim != nil {
		close(st.interim)
		st.interim = nil
	}
	if fin {
		s.gotFin(st)
	}
}

func (s *Session) headers(f *Headers) {
	st := s.streams[f.StreamID]
	if st == nil {
		s.noStream(f.StreamID)
		return
	}
	if st.remoteDone {
		s.wrong(st, StreamAlreadyClosed, "2.3.6", "HEADERS: the peer has ended the stream")
		return
	}
	if len(f.Fields) == 0 {
		s.spend(1)
	}
	if !s.charge(st, TypeHeaders, f.Fields) {
		return
	}
	switch {
	case st.local && st.answered && !st.complete:
		// These fields follow an interim reply.
		st.reply = f.Fields
		s.replied(st, false)
	case !st.local && st.localDone && !st.complete && !st.gotData:
		if !s.merge(st, &st.reply, f.Fields) {
			return
		}
		st.checkReply()
	default:
		if !s.merge(st, &st.trailer, f.Fields) {
			return
		}
	}
	if f.Fin {
		s.gotFin(st)
	}
}

// charge counts fields that follow the first ones of a stream. It returns false if it had to reset the stream, which has
// too many.
func (s *Session) charge(st *Stream, kind FrameType, fields []Field) bool {
	for _, f := range fields {
		st.extra += 32 + len(f.Name) + len(f.Value)
	}
	if st.extra > s.config.MaxHeaderBytes {
		s.wrong(st, ProtocolError, "2.6.7", "%s: the stream's fields exceed %d octets", kind, s.config.MaxHeaderBytes)
		return false
	}
	return true
}

// merge adds fields to the earlier ones. It returns false if it had to reset
// the stream.
func (s *Session) merge(st *Stream, to *[]Field, fields []Field) bool {
	for _, f := range fields {
		if _, twice := valueOf(*to, f.Name); twice {
			s.wrong(st, ProtocolError, "3.3.2", "HEADERS: duplicate name %q", f.Name)
			return false
		}
	}
	if len(*to)+len(fields) > s.config.MaxHeaderFields {
		s.wrong(st, ProtocolError, "2.6.7", "HEADERS: the stream has more than %d fields", s.config.MaxHeaderFields)
		return false
	}
	*to = append(*to, fields...)
	return true
}

// gotFin ends the peer's side of a stream.
func (s *Session) gotFin(st *Stream) {
	st.remoteDone = true
	if !st.complete {
		st.finishReply(st.answered)
	}
	st.readable.Broadcast()
	if st.localDone {
		s.remove(st)
	}
}

func (s *Session) rstStream(f *RstStream) {
	st := s.streams[f.StreamID]
	if st == nil {
		// A RST_STREAM is never answered with another one (section 2.4.2).
		s.spend(1)
		return
	}
	if !st.local {
		// Opening and resetting streams costs the peer nothing: it may do so a
		// few hundred times at once.
		s.spend(4)
	}
	st.fail(&StreamError{StreamID: st.id, Status: f.Status, Remote: true})
	// Cancelling a stream also cancels its pushes (section 3.3.2).
	if !st.local && f.Status == Cancel {
		for p := s.first; p != nil; {
			next := p.next
			if p.local && p.associated == st.id {
				p.fail(&StreamError{StreamID: p.id, Status: f.Status, Remote: true})
			}
			p = next
		}
	}
}

func (s *Session) settings(f *Settings) {
	if s.err != nil {
		return
	}
	if f.Clear && s.client {
		s.persisted = nil
	}
	if !s.greeted {
		s.greet()
	}
	seen := make(map[SettingID]bool, len(f.Entries))
	for _, e := range f.Entries {
		if seen[e.ID] {
			continue // the first one counts
		}
		seen[e.ID] = true
		if s.client && e.Flags&PersistValue != 0 || !s.client && e.Flags&Persisted != 0 {
			s.persist(e)
		}
		if e.Flags&Persisted != 0 {
			continue // it is a setting that the server itself once sent
		}
		switch e.ID {
		case SettingMaxConcurrentStreams:
			s.peerMax = int(min(e.Value, maxStreamID))
			s.grant()
		case SettingInitialWindowSize:
			if s.version != V2 {
				s.initialWindow(e.Value)
			}
		}
	}
}

func (s *Session) persist(e Setting) {
	const most = 64
	i := slices.IndexFunc(s.persisted, func(p Setting) bool { return p.ID == e.ID })
	switch {
	case i >= 0:
		s.persisted[i].Value = e.Value
	case len(s.persisted) < most:
		s.persisted = append(s.persisted, Setting{ID: e.ID, Value: e.Value})
		sortSettings(s.persisted)
	}
}

// initialWindow changes all streams' windows by the same amount as the initial
// one.
func (s *Session) initialWindow(value uint32) {
	if value > maxWindow {
		s.violated(GoAwayFlowControlError, "2.6.8", "SETTINGS: invalid initial window of %d", value)
		return
	}
	delta := int64(value) - s.peerInitial
	s.peerInitial = int64(value)
	for st := s.first; st != nil; {
		next := st.next
		s.widen(st, delta)
		st = next
	}
}

// widen changes the send window of a stream.
func (s *Session) widen(st *Stream, delta int64) {
	if !st.sendWindow.update(delta) {
		s.wrong(st, FlowControlError, "2.6.8", "the window grows beyond 2^31-1")
		return
	}
	s.schedule(st)
}

func (s *Session) windowUpdate(f *WindowUpdate) {
	s.spend(1)
	if f.StreamID == 0 {
		if !s.sendWindow.update(int64(f.Delta)) {
			s.violated(GoAwayFlowControlError, "2.6.8", "WINDOW_UPDATE: the session's window grows beyond 2^31-1")
			return
		}
		s.unstall()
	} else if st := s.streams[f.StreamID]; st != nil {
		// Updates after the stream's last frame are ignored.
		if !st.localDone {
			s.widen(st, int64(f.Delta))
		}
	} else if !s.known(f.StreamID) {
		s.noStream(f.StreamID)
	}
	s.logUpdate(false, f.StreamID, f.Delta)
}

func (s *Session) ping(f *Ping) {
	s.spend(1)
	if s.own(f.ID) {
		// A PING that this side did not send is ignored (section 2.6.5).
		if answer, ok := s.pings[f.ID]; ok {
			delete(s.pings, f.ID)
			close(answer)
		}
		return
	}
	if s.err == nil {
		s.answers = append(s.answers, f.ID)
		s.wake.Signal()
	}
}

// goneAway handles a GOAWAY: unaccepted streams may be retried elsewhere.
func (s *Session) goneAway(f *GoAway) {
	s.spend(1)
	s.noNewStreams()
	for st := s.first; st != nil; {
		next := st.next
		if st.local && st.id > f.LastStreamID {
			st.fail(&StreamError{StreamID: st.id, Status: RefusedStream, Cause: fmt.Sprintf(
				"the peer's GOAWAY (%s) says that it was not processed (%s)", f.Status, s.version.cite("2.6.6"))})
		}
		st = next
	}
	if f.Status != GoAwayOK {
		s.end(&SessionError{Status: f.Status, Remote: true, Cause: "GOAWAY"}, GoAwayOK, true)
		return
	}
	s.endIfDone()
}
