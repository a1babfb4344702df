package spdy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Session is one end of a connection that carries streams. Its methods are safe
// for concurrent use.
//
// It runs two goroutines, one that reads and one that writes, and one for each
// stream given to Config.Accept. Wait waits for all of them.
type Session struct {
	conn    net.Conn
	version Version
	client  bool
	config  Config
	number  int // in the log
	began   time.Time

	loops    atomic.Int32 // that have not ended
	handlers sync.WaitGroup
	done     chan struct{} // closed once both loops have ended

	// Used only by the reading loop.
	r   *bufio.Reader
	dec *decoder

	inFrame  atomic.Bool   // the reading loop waits for the rest of a frame
	progress atomic.Uint64 // how often the connection delivered data

	mu   sync.Mutex
	wake sync.Cond // the writing loop has something to do
	room sync.Cond // the reading loop of version 2 may continue

	err       error // why the session ended
	lastWords bool  // a GOAWAY is to be sent before the connection is closed
	broken    bool  // the connection accepts nothing more
	goAway    GoAway
	leaving   bool // a GOAWAY was sent, or received: no new streams
	refusing  bool // a GOAWAY was sent: new streams of the peer are ignored
	greeted   bool // the first SETTINGS have been queued

	streams    map[uint32]*Stream
	first      *Stream // the open streams, oldest first
	last       *Stream
	nextID     uint32
	lastPeerID uint32
	lastGood   uint32 // the last accepted stream of the peer
	local      int    // open streams of this side
	remote     int    // open streams of the peer
	running    int    // streams with Config.Accept
	peerMax    int    // how many streams this side may have open
	granted    int    // how many of them are promised to waiting Opens
	waiting    []chan struct{}
	gone       []goneStream // streams that this side reset lately, mostGone at most
	goneAt     int          // the oldest of them, once there are as many

	// Writing.
	enc         *encoder
	control     []outgoing
	controlAt   int // everything before it was sent
	answers     []uint32
	ready       [Lowest + 1]queue
	stalled     []*Stream // have something to send, and the session's window is spent
	sendWindow  sendWindow
	peerInitial int64 // initial send window
	writing     bool
	wrote       time.Duration // when the writing loop began its write

	// Reading.
	window   receiveWindow
	initial  int64 // initial receive window
	most     int64 // the largest initial receive window so far
	buffered int   // version 2: octets that wait to be read
	parked   int   // octets of pushed streams that nobody has begun to read
	budget   budget

	nextPing  uint32
	pings     map[uint32]chan struct{}
	persisted []Setting // settings that the peer asked to keep, or returned
	idleSince time.Duration
	watch     watchdog
}

// outgoing is a queued control frame. WINDOW_UPDATE is stored as its values,
// since it is by far the most frequent.
type outgoing struct {
	frame     Frame
	id, delta uint32
}

// batch is how much the writing loop writes to the connection at a time, if
// that much is queued.
const batch = 64 << 10

var batches = sync.Pool{New: func() any { b := make([]byte, 0, batch+16<<10); return &b }}

// NewClient starts a session on a connection that this side opened. The session
// owns the connection. A nil Config is the zero Config.
func NewClient(conn net.Conn, v Version, c *Config) *Session { return newSession(conn, v, c, true) }

// NewServer starts a session on a connection that this side accepted. The session
// owns the connection. A nil Config is the zero Config.
func NewServer(conn net.Conn, v Version, c *Config) *Session { return newSession(conn, v, c, false) }

func newSession(conn net.Conn, v Version, c *Config, client bool) *Session {
	config := c.withDefaults()
	buffered := 4096
	if _, ok := conn.(*tls.Conn); ok {
		buffered = 1024 // it has a buffer of its own
	}
	s := &Session{
		conn: conn, version: v, client: client, config: config, number: config.Log.session(), began: time.Now(),
		done: make(chan struct{}), r: bufio.NewReaderSize(conn, buffered),
		dec:     newDecoder(v, frameLimits{config.MaxHeaderBytes, config.MaxHeaderFields}),
		enc:     newEncoder(v, config.Compression),
		streams: make(map[uint32]*Stream), nextID: 2, nextPing: 2, peerMax: maxStreamID,
		sendWindow: defaultWindow, peerInitial: defaultWindow,
		initial: int64(config.Window.Stream), most: max(int64(config.Window.Stream), defaultWindow),
		window: receiveWindow{size: int64(config.Window.Session), left: defaultWindow},
		budget: newBudget(),
	}
	if config.AnswerSettings {
		s.initial, s.most, s.window.size = defaultWindow, defaultWindow, defaultWindow
	}
	if client {
		s.nextID, s.nextPing = 1, 1
	}
	s.wake.L, s.room.L = &s.mu, &s.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	if !config.AnswerSettings {
		s.greet()
	}
	s.watch.start(s)
	s.loops.Store(2)
	go s.loop(s.read)
	go s.loop(s.write)
	return s
}

// loop runs one of the two loops. The session is done once both have ended.
func (s *Session) loop(f func()) {
	f()
	if s.loops.Add(-1) > 0 {
		return
	}
	s.watch.stop()
	if s.config.ended != nil {
		s.config.ended()
	}
	close(s.done)
}

// greet queues the first frames of a session.
func (s *Session) greet() {
	s.greeted = true
	s.setInitial(int64(s.config.Window.Stream))
	entries := []Setting{{ID: SettingMaxConcurrentStreams, Value: uint32(s.config.MaxStreams)}}
	switch {
	case s.version == V2:
		// Draft 2 has the setting but no flow control. Some peers obey a window
		// nevertheless; they cannot fill this one.
		entries = append(entries, Setting{ID: SettingInitialWindowSize, Value: maxWindow})
	case s.initial != defaultWindow:
		entries = append(entries, Setting{ID: SettingInitialWindowSize, Value: uint32(s.initial)})
	}
	for _, e := range s.config.Settings {
		if e.ID != SettingMaxConcurrentStreams && e.ID != SettingInitialWindowSize {
			entries = append(entries, e)
		}
	}
	sortSettings(entries)
	s.send(&Settings{Entries: entries})
	if s.client && len(s.config.Persisted) > 0 {
		var back []Setting
		for _, e := range s.config.Persisted {
			back = append(back, Setting{ID: e.ID, Flags: Persisted, Value: e.Value})
		}
		sortSettings(back)
		s.send(&Settings{Entries: back})
	}
	s.window.size = int64(s.config.Window.Session)
	// A window larger than the draft's is announced at once; a smaller one is
	// reached by withholding updates.
	if more := s.window.size - defaultWindow; s.version == V31 && more > 0 {
		s.window.left += more
		s.sendUpdate(0, uint32(more))
	} else if more < 0 {
		s.window.pending += more
	}
}

// Version returns the session's version.
func (s *Session) Version() Version { return s.version }

// Conn returns the session's connection, for its addresses and TLS state. It
// must not be read from or written to.
func (s *Session) Conn() net.Conn { return s.conn }

// now returns the session's time.
func (s *Session) now() time.Duration { return time.Since(s.began) }

// Done is closed once the session has ended and its connection is closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session ended, or nil while it has not: a *SessionError,
// or ErrClosed if this side closed it or had nothing left to do.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Wait waits until the session and all its goroutines have ended, those of
// Config.Accept too, and returns Err. Accept must not call it.
func (s *Session) Wait() error {
	<-s.done
	s.handlers.Wait()
	return s.Err()
}

// spawn runs f in a goroutine that Wait waits for. It returns false if the
// session has ended.
func (s *Session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.handlers.Go(f)
	}
	return s.err == nil
}

// Close ends the session: it sends a GOAWAY if the connection accepts it within
// a second, and closes the connection. Everything that waits for the session or
// one of its streams returns ErrClosed.
func (s *Session) Close() error {
	s.mu.Lock()
	s.end(ErrClosed, GoAwayOK, true)
	s.mu.Unlock()
	<-s.done
	return nil
}

// Shutdown ends the session once its streams have ended: it sends a GOAWAY, and
// ignores streams that the peer opens after it (draft 3 section 2.6.6). If ctx
// ends first, it closes the session and returns the cause.
func (s *Session) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.leave()
	s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("spdy: shut the session down: %w", context.Cause(ctx)), s.Close())
	}
}

// leave announces the end of the session.
func (s *Session) leave() {
	if !s.refusing {
		s.refusing = true
		s.noNewStreams()
		s.send(&GoAway{LastStreamID: s.lastGood})
	}
	s.endIfDone()
}

// noNewStreams makes every waiting Open fail.
func (s *Session) noNewStreams() {
	s.leaving = true
	for _, w := range s.waiting {
		close(w)
	}
	s.granted += len(s.waiting)
	s.waiting = nil
}

// endIfDone ends a session that accepts no new streams once its streams have
// ended.
func (s *Session) endIfDone() {
	if s.leaving && len(s.streams) == 0 {
		s.end(ErrClosed, GoAwayOK, !s.refusing)
	}
}

// end ends the session with a reason. It closes the connection, after a GOAWAY
// if speak is set.
func (s *Session) end(reason error, status Status, speak bool) {
	if s.err != nil {
		return
	}
	s.err, s.lastWords = reason, speak
	s.goAway = GoAway{LastStreamID: s.lastGood, Status: status}
	s.noNewStreams()
	for st := s.first; st != nil; {
		next := st.next
		st.fail(reason)
		st = next
	}
	for _, p := range s.pings {
		close(p)
	}
	s.pings = nil
	// What the peer does not accept soon is lost.
	_ = s.conn.SetWriteDeadline(time.Now().Add(time.Second))
	s.wake.Signal()
	s.room.Signal()
}

// violated ends the session because of the peer's error.
func (s *Session) violated(status Status, section, format string, a ...any) {
	s.end(&SessionError{Status: status, Cause: fmt.Sprintf(format, a...) + " (" + s.version.cite(section) + ")"}, status, true)
}

// send queues a control frame.
func (s *Session) send(f Frame) {
	if s.err != nil {
		return
	}
	s.control = append(s.control, outgoing{frame: f})
	s.wake.Signal()
}

// sendUpdate queues a WINDOW_UPDATE.
func (s *Session) sendUpdate(id, delta uint32) {
	if s.err != nil {
		return
	}
	s.control = append(s.control, outgoing{id: id, delta: delta})
	s.wake.Signal()
}

// Ping measures the time until the peer answers a PING.
func (s *Session) Ping(ctx context.Context) (time.Duration, error) {
	answer := make(chan struct{})
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return 0, s.err
	}
	id := s.nextPing
	s.nextPing += 2
	if s.pings == nil {
		s.pings = make(map[uint32]chan struct{})
	}
	s.pings[id] = answer
	s.send(&Ping{ID: id})
	s.mu.Unlock()
	began := time.Now()
	select {
	case <-answer:
		return time.Since(began), s.Err()
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.pings, id)
		s.mu.Unlock()
		return 0, fmt.Errorf("spdy: ping: %w", context.Cause(ctx))
	}
}

// SendSettings sends new settings to the peer. The stream limit and the initial
// window apply at this end too (draft 3 section 2.6.8): the windows of all
// streams change, and data that the peer sent before it learned of a smaller one
// is accepted.
func (s *Session) SendSettings(entries ...Setting) error {
	entries = append([]Setting(nil), entries...)
	sortSettings(entries)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for i, e := range entries {
		switch {
		case i > 0 && entries[i-1].ID == e.ID:
			return fmt.Errorf("spdy: send settings: duplicate setting %d (%s)", e.ID, s.version.cite("2.6.4"))
		case e.ID == SettingInitialWindowSize && (e.Value == 0 || e.Value > maxWindow):
			return fmt.Errorf("spdy: send settings: invalid initial window of %d (%s)", e.Value, s.version.cite("2.6.8"))
		}
	}
	for _, e := range entries {
		switch e.ID {
		case SettingMaxConcurrentStreams:
			s.config.MaxStreams = int(min(e.Value, maxStreamID))
		case SettingInitialWindowSize:
			s.setInitial(int64(e.Value))
		}
	}
	s.send(&Settings{Entries: entries})
	return nil
}

// setInitial changes the receive window of all open and future streams.
func (s *Session) setInitial(size int64) {
	delta := size - s.initial
	s.initial, s.most = size, max(s.most, size)
	for st := s.first; st != nil; st = st.next {
		st.window.size += delta
		st.window.left += max(delta, 0)
	}
}

// Persisted returns the settings that the server has asked the client to keep
// or, on a server, those that the client has returned (draft 3 section 2.6.4).
func (s *Session) Persisted() []Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Setting(nil), s.persisted...)
}

// Streams returns how many streams are open.
func (s *Session) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}
