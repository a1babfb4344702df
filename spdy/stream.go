package spdy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Stream is one stream of a session. Its methods are safe for concurrent use.
type Stream struct {
	s          *Session
	id         uint32
	associated uint32
	local      bool // this side opened it
	priority   Priority
	next, prev *Stream // in order of age

	// The following is guarded by the session's lock.
	err        error // why it ended early
	localDone  bool  // FIN was sent
	remoteDone bool  // FIN was received

	fields    []Field // of SYN_STREAM
	reply     []Field // of SYN_REPLY, and of HEADERS until the reply is complete
	trailer   []Field // of later HEADERS
	complete  bool
	replied   chan struct{} // closed when reply is complete, or the stream has ended; nil if none can come
	interim   chan struct{} // closed at a reply of 100; nil if nobody waits
	gotData   bool
	received  int64
	extra     int // octets of fields that came by HEADERS
	answered  bool
	discarded bool // incoming data is discarded
	closed    bool // by Close
	onFail    func(error)

	// After an HTTP server has answered, it reads the rest of the request and discards it.
	draining   bool
	drainSince time.Duration
	drained    int64 // octets

	// Sending.
	writable    sync.Cond
	busy        bool // a Write is in progress
	out         []byte
	outFin      bool
	outTrailer  []Field
	sendWindow  sendWindow
	queued      bool    // is in a queue of the session
	nextReady   *Stream // the next one in that queue
	outBuffer   *[]byte // where out is, if it goes back to bodies
	writeSince  time.Duration
	writeMoved  int // octets since then
	writeUntil  deadline
	writeWaited bool

	// Receiving.
	readable   sync.Cond
	buffer     buffer
	window     receiveWindow
	unclaimed  bool          // nobody reads yet: incoming data counts as read for the session
	prepaid    int           // octets counted that way that wait to be read
	parked     bool          // was pushed, and nobody has begun to read
	claimed    chan struct{} // closed when the request that took a pushed stream has finished
	readSince  time.Duration
	readUntil  deadline
	readWaited bool
}

// ID returns the stream's ID: odd if the client opened it.
func (st *Stream) ID() uint32 { return st.id }

// AssociatedID returns the ID of the stream that a pushed one belongs to, or 0.
func (st *Stream) AssociatedID() uint32 { return st.associated }

// Priority returns the priority that the opener of the stream asked for.
func (st *Stream) Priority() Priority { return st.priority }

// Session returns the stream's session.
func (st *Stream) Session() *Session { return st.s }

// Fields returns the fields that the stream was opened with.
func (st *Stream) Fields() []Field { return st.fields }

// Reply waits for the peer's reply and returns its fields. On a pushed stream
// they are those it was opened with, and those that arrived before its data.
func (st *Stream) Reply(ctx context.Context) ([]Field, error) {
	if st.replied == nil {
		return nil, fmt.Errorf("spdy: stream %d: wait for the reply: this side has to send it", st.id)
	}
	select {
	case <-st.replied:
	case <-ctx.Done():
		return nil, fmt.Errorf("spdy: stream %d: wait for the reply: %w", st.id, context.Cause(ctx))
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if !st.complete {
		return nil, st.reason()
	}
	return st.reply, nil
}

// Err returns why the stream ended early, or nil.
func (st *Stream) Err() error {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.err
}

// reason returns why the stream has ended.
func (st *Stream) reason() error {
	if st.err != nil {
		return st.err
	}
	return io.ErrUnexpectedEOF
}

// Trailer returns what the peer has sent in HEADERS after its data began. It is
// complete once Read has returned io.EOF.
func (st *Stream) Trailer() []Field {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return slices.Clip(st.trailer)
}

// SendReply accepts a stream that the peer opened, with these fields. If fin is
// set, nothing follows.
func (st *Stream) SendReply(fields []Field, fin bool) error {
	if err := st.s.check(fields); err != nil {
		return fmt.Errorf("spdy: stream %d: reply: %w", st.id, err)
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if err := st.mayReply(); err != nil {
		return err
	}
	st.sendReply(fields, fin)
	return nil
}

func (st *Stream) mayReply() error {
	switch {
	case st.err != nil:
		return st.err
	case st.local || st.localDone:
		return fmt.Errorf("spdy: stream %d: reply: this side must not reply (%s)", st.id, st.s.version.cite("2.6.2"))
	case st.answered && !interim(st.reply):
		return fmt.Errorf("spdy: stream %d: reply: duplicate reply (%s)", st.id, st.s.version.cite("2.6.2"))
	}
	return nil
}

// sendReply sends a reply. The one after an interim reply is sent as HEADERS: a
// second SYN_REPLY would be an error.
func (st *Stream) sendReply(fields []Field, fin bool) {
	if st.answered {
		st.s.send(&Headers{StreamID: st.id, Fin: false, Fields: fields})
		if fin {
			st.outFin = true
			st.s.schedule(st)
		}
		st.reply = fields
		return
	}
	st.answered, st.reply = true, fields
	st.s.send(&SynReply{StreamID: st.id, Fin: fin, Fields: fields})
	if fin {
		st.s.sentFin(st)
	}
}

// interim reports whether a reply has a status of 100 to 199, so that another
// one follows.
func interim(fields []Field) bool {
	for _, name := range [...]string{":status", "status"} {
		if status, ok := valueOf(fields, name); ok {
			return len(status) >= 3 && status[0] == '1'
		}
	}
	return false
}

// Read reads what the peer has sent, and reopens its window. It returns io.EOF
// at the end of the stream.
func (st *Stream) Read(p []byte) (int, error) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	st.unpark()
	for st.buffer.length == 0 {
		switch {
		case st.remoteDone:
			st.buffer.release()
			return 0, io.EOF
		case st.err != nil:
			return 0, st.err
		case st.readUntil.passed:
			return 0, fmt.Errorf("spdy: stream %d: read: %w", st.id, os.ErrDeadlineExceeded)
		case len(p) == 0:
			return 0, nil
		}
		st.readSince, st.readWaited = s.now(), true
		st.readable.Wait()
		st.readWaited = false
	}
	n := st.buffer.take(p)
	s.consumed(st, n)
	return n, nil
}

// Write sends p as priorities and the peer's windows allow, and returns once
// all of it has been queued for the connection.
func (st *Stream) Write(p []byte) (int, error) { return st.write(p, false) }

// write sends p and, if fin is set, ends this side.
func (st *Stream) write(p []byte, fin bool) (int, error) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if err := st.begin(); err != nil {
		return 0, err
	}
	if len(p) == 0 && !fin {
		return 0, nil
	}
	return st.queueAndWait(p, fin)
}

// end does what write does with fin set, of what is in a buffer of bodies, but does
// not wait until it is sent, unless a deadline limits that. It returns the buffer to
// bodies itself; nil is an empty one.
func (st *Stream) end(buf *[]byte) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	switch {
	case st.begin() != nil:
		recycle(buf)
	case buf == nil:
		st.queue(nil, true)
	case st.writeUntil.timer != nil:
		_, _ = st.queueAndWait(*buf, true) // its error is the client's
		recycle(buf)
	default:
		st.outBuffer, st.writeWaited = buf, true
		st.queue(*buf, true)
	}
}

// begin waits until the stream can take something to send.
func (st *Stream) begin() error {
	for st.busy && st.err == nil {
		st.writable.Wait()
	}
	return st.mayWrite()
}

// queue gives the stream something to send.
func (st *Stream) queue(p []byte, fin bool) {
	st.out, st.outFin = p, fin
	st.writeSince, st.writeMoved = st.s.now(), 0
	st.s.schedule(st)
}

func (st *Stream) queueAndWait(p []byte, fin bool) (int, error) {
	st.busy, st.writeWaited = true, true
	st.queue(p, fin)
	for len(st.out) > 0 && st.err == nil && st.s.err == nil && !st.writeUntil.passed {
		st.writable.Wait()
	}
	n := len(p) - len(st.out)
	st.busy, st.out, st.writeWaited = false, nil, false
	st.writable.Broadcast()
	if n == len(p) {
		return n, nil
	}
	st.outFin = false
	switch {
	case st.err != nil:
		return n, st.err
	case st.s.err != nil:
		return n, st.s.err
	}
	return n, fmt.Errorf("spdy: stream %d: write: %w", st.id, os.ErrDeadlineExceeded)
}

// sentAll is called once nothing is left of what was queued.
func (st *Stream) sentAll() {
	if st.outBuffer != nil {
		recycle(st.outBuffer)
		st.out, st.outBuffer, st.writeWaited = nil, nil, false
	}
	st.writable.Broadcast()
}

func (st *Stream) mayWrite() error {
	switch {
	case st.err != nil:
		return st.err
	case st.localDone || st.outFin:
		return fmt.Errorf("spdy: stream %d: write: %w", st.id, ErrClosed)
	case !st.local && !st.answered:
		return fmt.Errorf("spdy: stream %d: write: no reply has been sent yet (%s)", st.id, st.s.version.cite("2.6.2"))
	case st.writeUntil.passed:
		return fmt.Errorf("spdy: stream %d: write: %w", st.id, os.ErrDeadlineExceeded)
	}
	return nil
}

// CloseWrite ends this side of the stream once what was written is sent. The
// peer may continue.
func (st *Stream) CloseWrite() error { return st.SendTrailer(nil) }

// SendTrailer ends this side of the stream with fields, which are sent as
// HEADERS after what was written.
func (st *Stream) SendTrailer(fields []Field) error {
	if err := st.s.check(fields); err != nil {
		return fmt.Errorf("spdy: stream %d: trailer: %w", st.id, err)
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if err := st.mayWrite(); err != nil {
		return err
	}
	st.outTrailer, st.outFin = fields, true
	st.s.schedule(st)
	return nil
}

// Reset ends the stream in both directions. Everything that waits for it returns
// an error that wraps reason; nil means ErrClosed.
func (st *Stream) Reset(status Status, reason error) {
	if reason == nil {
		reason = ErrClosed
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.s.reset(st, status, fmt.Errorf("spdy: stream %d: reset with %s: %w", st.id, status, reason))
}

// Close ends the stream: without a frame if both sides have finished, else with
// a RST_STREAM. What CloseWrite or SendTrailer has ended is sent first.
func (st *Stream) Close() error {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	st.discard()
	if s.streams[st.id] != st {
		return nil
	}
	if st.draining {
		return nil // admit and look do the rest
	}
	st.closed = true
	if st.outFin && (st.remoteDone || !st.localDone) {
		return nil // sentFin does the rest
	}
	s.reset(st, Cancel, fmt.Errorf("spdy: stream %d: %w", st.id, ErrClosed))
	return nil
}

// maxDrained is how many octets of a request's body the server reads on after its response, and
// discards. SPDY has no way to tell a client to stop that does not look like a failure: clients
// that are still sending take RST_STREAM for one, even after the complete response.
const maxDrained = 16 << 20

// drain makes Close leave the stream open until the peer has ended its side, for as long as
// ReadTimeout and as much as maxDrained, instead of resetting it. It is called once this side has
// ended.
func (st *Stream) drain() {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	st.onFail = nil
	if st.err == nil && !st.remoteDone && st.outFin {
		st.draining, st.drainSince = true, s.now()
	}
}

// discard discards received and future data.
func (st *Stream) discard() {
	st.discarded = true
	st.unpark()
	if n := st.buffer.drop(); n > 0 {
		st.s.consumed(st, n)
	}
}

// fail ends the stream with an error. What the peer has sent completely can
// still be read.
func (st *Stream) fail(err error) {
	if st.err == nil {
		st.err = err
	}
	if !st.remoteDone {
		st.discard()
	}
	if !st.complete {
		st.finishReply(false)
	}
	if st.onFail != nil {
		st.onFail(err)
	}
	st.readable.Broadcast()
	st.writable.Broadcast()
	st.s.remove(st)
}

// finishReply wakes the waiters for the reply.
func (st *Stream) finishReply(complete bool) {
	if st.replied == nil {
		return
	}
	select {
	case <-st.replied:
	default:
		st.complete = complete
		close(st.replied)
	}
}

// deadline is the time at which a Read or Write gives up.
type deadline struct {
	timer  *time.Timer
	passed bool
	set    int
}

// at sets the deadline, and wakes the waiters when it expires.
func (d *deadline) at(t time.Time, mu *sync.Mutex, wait *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.set++
	d.passed, d.timer = false, nil
	if t.IsZero() {
		return
	}
	pass := func() {
		d.passed = true
		wait.Broadcast()
	}
	left := time.Until(t)
	if left <= 0 {
		pass()
		return
	}
	set := d.set
	d.timer = time.AfterFunc(left, func() {
		mu.Lock()
		defer mu.Unlock()
		if d.set == set {
			pass()
		}
	})
}

// SetReadDeadline sets the time after which Read fails with
// os.ErrDeadlineExceeded; the zero time means none.
func (st *Stream) SetReadDeadline(t time.Time) error {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.readUntil.at(t, &st.s.mu, &st.readable)
	return nil
}

// SetWriteDeadline sets the time after which Write fails with
// os.ErrDeadlineExceeded; the zero time means none.
func (st *Stream) SetWriteDeadline(t time.Time) error {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.writeUntil.at(t, &st.s.mu, &st.writable)
	return nil
}

// timedOut returns the error of a stream whose peer is too slow.
func (st *Stream) timedOut(what string, after time.Duration) error {
	return fmt.Errorf("spdy: stream %d: the peer %s for %s: %w", st.id, what, after, errors.Join(ErrTimeout, os.ErrDeadlineExceeded))
}

// ErrTimeout is the error of waiting for the peer longer than Config allows.
var ErrTimeout = errors.New("timeout")
