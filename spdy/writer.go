package spdy

import (
	"fmt"
)

// queue is a queue of streams that have data to send.
type queue struct{ head, tail *Stream }

func (q *queue) push(st *Stream) {
	st.nextReady = nil
	if q.tail == nil {
		q.head = st
	} else {
		q.tail.nextReady = st
	}
	q.tail = st
}

func (q *queue) pop() *Stream {
	st := q.head
	if q.head = st.nextReady; q.head == nil {
		q.tail = nil
	}
	st.nextReady = nil
	return st
}

// schedule queues a stream if it has data that it may send.
func (s *Session) schedule(st *Stream) {
	if st.queued || st.localDone || st.err != nil || s.err != nil {
		return
	}
	if len(st.out) == 0 && !st.outFin {
		return
	}
	if len(st.out) > 0 && s.version != V2 && st.sendWindow <= 0 {
		return
	}
	st.queued = true
	s.enqueue(st)
	s.wake.Signal()
}

// enqueue queues a stream among those of its priority.
func (s *Session) enqueue(st *Stream) {
	priority := st.priority
	if s.config.EqualTurns {
		priority = Middle
	}
	s.ready[priority].push(st)
}

// next returns the stream whose turn it is: the most urgent and, among equals,
// the one that has waited longest.
func (s *Session) next() *Stream {
	for i := range s.ready {
		for s.ready[i].head != nil {
			st := s.ready[i].pop()
			if s.version == V31 && s.sendWindow <= 0 && len(st.out) > 0 {
				// It stays queued, in another queue.
				s.stalled = append(s.stalled, st)
				continue
			}
			st.queued = false
			if st.err == nil {
				return st
			}
		}
	}
	return nil
}

// unstall requeues the streams that waited for the session's window.
func (s *Session) unstall() {
	for _, st := range s.stalled {
		s.enqueue(st)
	}
	clear(s.stalled)
	s.stalled = s.stalled[:0]
	s.wake.Signal()
}

// idle reports whether there is nothing to send.
func (s *Session) idle() bool {
	if len(s.control) > 0 || len(s.answers) > 0 {
		return false
	}
	for i := range s.ready {
		if s.ready[i].head != nil {
			return false
		}
	}
	return true
}

// write runs the send loop. It compresses header blocks in the order in which
// they are sent.
func (s *Session) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		if s.idle() {
			s.wake.Wait()
			continue
		}
		if !s.flush() {
			break
		}
	}
	// What was queued before the end is still sent: the last reply, or the
	// RST_STREAM with the reason.
	for i := range s.ready {
		s.ready[i] = queue{}
	}
	if s.lastWords {
		s.control = append(s.control, outgoing{frame: &s.goAway})
	}
	for !s.broken && !s.idle() && s.flush() {
	}
	s.mu.Unlock()
	// Its error could only mean that the connection is already closed.
	_ = s.conn.Close()
	s.mu.Lock()
}

// flush sends one batch. It returns false when the connection accepts no more.
func (s *Session) flush() bool {
	space := batches.Get().(*[]byte)
	b := s.fill((*space)[:0])
	s.writing, s.wrote = true, s.now()
	s.mu.Unlock()
	_, err := s.conn.Write(b)
	if cap(b) <= 2*batch {
		*space = b[:0]
		batches.Put(space)
	}
	s.mu.Lock()
	s.writing = false
	if err != nil {
		s.broken = true
		s.end(&SessionError{Status: GoAwayInternalError, Cause: "write to the connection", Err: err}, GoAwayInternalError, false)
		return false
	}
	return true
}

// fill encodes pending frames, a batch or somewhat more.
func (s *Session) fill(b []byte) []byte {
	// A PING is answered before anything else (draft 3 section 2.6.5).
	for _, id := range s.answers {
		b = s.encode(b, &Ping{ID: id})
	}
	s.answers = s.answers[:0]
	for ; s.controlAt < len(s.control) && len(b) < batch; s.controlAt++ {
		o := &s.control[s.controlAt]
		if o.frame != nil {
			b = s.encode(b, o.frame)
		} else {
			b = appendWindowUpdate(b, o.id, o.delta)
			s.logUpdate(true, o.id, o.delta)
		}
		*o = outgoing{}
	}
	if s.controlAt < len(s.control) {
		return b
	}
	s.control, s.controlAt = s.control[:0], 0
	for len(b) < batch {
		st := s.next()
		if st == nil {
			break
		}
		b = s.appendData(b, st)
	}
	return b
}

// encode appends a control frame.
func (s *Session) encode(b []byte, f Frame) []byte {
	start := len(b)
	b, err := s.enc.append(b, f)
	if err != nil {
		// Fields are checked before they get here.
		s.end(&SessionError{Status: GoAwayInternalError, Cause: err.Error()}, GoAwayInternalError, true)
		return b
	}
	if s.config.Log != nil {
		s.logControl(true, f, len(b)-start-frameHeaderLength)
	}
	return b
}

// appendData appends the next DATA frame of a stream, as large as the windows
// allow, and requeues the stream if there is more.
func (s *Session) appendData(b []byte, st *Stream) []byte {
	if len(st.out) == 0 && !st.outFin {
		return b
	}
	n := min(len(st.out), s.config.DataBytes)
	if s.version != V2 {
		n = min(n, int(max(st.sendWindow, 0)))
	}
	if s.version == V31 {
		n = min(n, int(max(s.sendWindow, 0)))
	}
	if n == 0 && len(st.out) > 0 {
		// It continues with the peer's next WINDOW_UPDATE.
		return b
	}
	last := n == len(st.out) && st.outFin
	if last && len(st.outTrailer) > 0 {
		if n > 0 {
			last = false
		} else {
			// FIN is sent in a DATA frame: some peers ignore it in HEADERS.
			b = s.encode(b, &Headers{StreamID: st.id, Fields: st.outTrailer})
			st.outTrailer = nil
		}
	}
	b = append(appendDataHeader(b, st.id, last, n), st.out[:n]...)
	st.out = st.out[n:]
	st.sendWindow -= sendWindow(n)
	s.sendWindow -= sendWindow(n)
	if s.config.Log != nil {
		s.logData(true, st.id, n, last, int64(st.sendWindow), int64(s.sendWindow))
	}
	if n > 0 {
		s.budget.earn()
		if st.writeMoved += n; st.writeMoved >= leastProgress {
			st.writeSince, st.writeMoved = s.now(), 0
		}
	}
	if len(st.out) == 0 {
		st.sentAll()
	}
	if last {
		s.sentFin(st)
	} else {
		s.schedule(st)
	}
	return b
}

// sentFin ends this side of a stream.
func (s *Session) sentFin(st *Stream) {
	st.localDone, st.outFin = true, true
	switch {
	case st.remoteDone:
		s.remove(st)
	case st.closed:
		s.reset(st, Cancel, fmt.Errorf("spdy: stream %d: %w", st.id, ErrClosed))
	}
}

func (s *Session) logControl(sent bool, f Frame, length int) {
	e := event{sent: sent, kind: f.Type(), length: length, frame: f}
	switch f := f.(type) {
	case *SynStream:
		e.streamID, e.fin = f.StreamID, f.Fin
	case *SynReply:
		e.streamID, e.fin = f.StreamID, f.Fin
	case *Headers:
		e.streamID, e.fin = f.StreamID, f.Fin
	case *RstStream:
		e.streamID = f.StreamID
	}
	s.config.Log.add(s.number, s.version, e)
}

// windows returns how many kinds of windows the version has.
func (v Version) windows() int {
	switch v {
	case V3:
		return 1
	case V31:
		return 2
	}
	return 0
}

func (s *Session) logData(sent bool, id uint32, n int, fin bool, stream, session int64) {
	s.config.Log.add(s.number, s.version, event{
		sent: sent, kind: TypeData, streamID: id, length: n, fin: fin,
		windows: s.version.windows(), stream: stream, session: session,
	})
}

func (s *Session) logUpdate(sent bool, id, delta uint32) {
	if s.config.Log == nil {
		return
	}
	e := event{sent: sent, kind: TypeWindowUpdate, streamID: id, length: 8, delta: delta, windows: s.version.windows(), session: s.window.left}
	if !sent {
		e.session = int64(s.sendWindow)
	}
	if st := s.streams[id]; st == nil && id != 0 {
		e.windows = 0
	} else if st != nil && sent {
		e.stream = s.windowLeft(st)
	} else if st != nil {
		e.stream = int64(st.sendWindow)
	}
	s.config.Log.add(s.number, s.version, e)
}

// windowLeft returns what the peer may still send on a stream, once it knows this
// side's settings.
func (s *Session) windowLeft(st *Stream) int64 { return st.window.left - (s.most - s.initial) }

// consumed records octets as read, and sends WINDOW_UPDATEs as the rules say.
func (s *Session) consumed(st *Stream, n int) {
	if s.version == V2 {
		s.buffered -= n
		s.room.Signal()
		return
	}
	if !st.remoteDone && st.err == nil {
		if delta := st.window.read(n, s.config.Window.Update); delta > 0 {
			s.sendUpdate(st.id, delta)
		}
	}
	paid := min(n, st.prepaid)
	st.prepaid -= paid
	s.consumedSession(n - paid)
}

// consumedSession records octets as read for the session's window only.
func (s *Session) consumedSession(n int) {
	if s.version != V31 || n == 0 {
		return
	}
	if delta := s.window.read(n, s.config.Window.SessionUpdate); delta > 0 {
		s.sendUpdate(0, delta)
	}
}

// String identifies a session in messages.
func (s *Session) String() string {
	return fmt.Sprintf("%s session %s-%s", s.version, s.conn.LocalAddr(), s.conn.RemoteAddr())
}
