package spdy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// sessions are the two ends of one connection.
func sessions(t testing.TB, v Version, server, c Config) (*Session, *Session) {
	t.Helper()
	a, b := connection(t)
	cs, ss := NewClient(a, v, &c), NewServer(b, v, &server)
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Close()
		_ = cs.Wait()
		_ = ss.Wait()
	})
	return cs, ss
}

// connection is a TCP connection on this machine.
func connection(t testing.TB) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// peer is a session's other end, that sends what a test tells it to.
type peer struct {
	*Framer
	net.Conn
	t testing.TB
	s *Session
}

// against gives a session a peer. Frames that come unasked, the greeting's, are
// left to the test.
func against(t testing.TB, v Version, client bool, c Config) *peer {
	t.Helper()
	a, b := connection(t)
	p := &peer{Framer: NewFramer(v, a, a, CompressSafe), Conn: a, t: t, s: newSession(b, v, &c, client)}
	_ = a.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() {
		_ = a.Close()
		_ = p.s.Close()
		_ = p.s.Wait()
	})
	return p
}

func (p *peer) send(frames ...Frame) {
	p.t.Helper()
	for _, f := range frames {
		if err := p.WriteFrame(f); err != nil {
			p.t.Fatalf("send %s: %v", f.Type(), err)
		}
	}
}

// expect reads until a frame of a type comes.
func (p *peer) expect(kind FrameType) Frame {
	p.t.Helper()
	for {
		f, err := p.ReadFrame()
		if err != nil {
			p.t.Fatalf("wait for %s: %v", kind, err)
		}
		if f.Type() == kind {
			return f
		}
	}
}

// settle waits until the session has handled all that was sent, and returns what
// it has answered. Answers to PINGs overtake everything else, so it takes two.
func (p *peer) settle() []Frame {
	p.t.Helper()
	var before []Frame
	for id := range uint32(2) {
		id = 1e6 + 2*id + 1
		if p.s.client {
			id++
		}
		p.send(&Ping{ID: id})
		for {
			f, err := p.ReadFrame()
			if err != nil {
				p.t.Fatalf("wait for the PING: %v", err)
			}
			if ping, ok := f.(*Ping); ok && ping.ID == id {
				break
			}
			switch x := f.(type) {
			case *WindowUpdate:
				f = &WindowUpdate{x.StreamID, x.Delta}
			case *RstStream:
				f = &RstStream{x.StreamID, x.Status}
			}
			before = append(before, f)
		}
	}
	return before
}

// until waits for what another goroutine is about to do.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%s: it did not come", what)
		}
	}
}

func TestGreeting(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		p := against(t, v, true, Config{MaxStreams: 1000, Window: Window{Stream: 10 << 20, Session: 15 << 20},
			Persisted: []Setting{{SettingCurrentCwnd, 0, 10}}, Settings: []Setting{{SettingRoundTripTime, 0, 30}}})
		want := map[Version]string{
			V2:  "[&{Clear:false Entries:[{ID:3 Flags:0 Value:30} {ID:4 Flags:0 Value:1000} {ID:7 Flags:0 Value:2147483647}]} &{Clear:false Entries:[{ID:5 Flags:2 Value:10}]}]",
			V3:  "[&{Clear:false Entries:[{ID:3 Flags:0 Value:30} {ID:4 Flags:0 Value:1000} {ID:7 Flags:0 Value:10485760}]} &{Clear:false Entries:[{ID:5 Flags:2 Value:10}]}]",
			V31: "[&{Clear:false Entries:[{ID:3 Flags:0 Value:30} {ID:4 Flags:0 Value:1000} {ID:7 Flags:0 Value:10485760}]} &{Clear:false Entries:[{ID:5 Flags:2 Value:10}]} &{StreamID:0 Delta:15663104}]",
		}[v]
		got := "["
		for i, f := range p.settle() {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%+v", f)
		}
		if got += "]"; got != want {
			t.Errorf("the session begins with\n%s\nwant\n%s", got, want)
		}
	})
}

// Urgent streams first; those that are equally urgent take turns.
func TestPrioritiesAreObeyed(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		a, b := net.Pipe()
		s := NewClient(b, v, &Config{DataBytes: 1000})
		f := NewFramer(v, a, a, CompressSafe)
		var writing sync.WaitGroup
		defer func() {
			_ = a.Close()
			_ = s.Wait()
			writing.Wait()
		}()
		// Nobody reads yet: all of it waits.
		until(t, "the first write", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.writing
		})
		for _, p := range []Priority{6, 2, 6, 0, 2} {
			st, err := s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{Priority: p})
			if err != nil {
				t.Fatal(err)
			}
			writing.Go(func() { _, _ = st.Write(make([]byte, 3000)) })
			until(t, "a write", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return st.queued
			})
		}
		var order []uint32
		for len(order) < 15 {
			frame, err := f.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := frame.(*Data); ok {
				order = append(order, d.StreamID)
			}
		}
		if want := []uint32{7, 7, 7, 3, 9, 3, 9, 3, 9, 1, 5, 1, 5, 1, 5}; !reflect.DeepEqual(order, want) {
			t.Errorf("streams were sent in the order %v, want %v", order, want)
		}
	})
}

// What the window rules are, in WINDOW_UPDATEs for 64 KiB that come in frames of
// 4 KiB to a reader that reads at once.
func TestWindowRules(t *testing.T) {
	for _, c := range []struct {
		rule    UpdateRule
		stream  string
		session string
	}{
		{UpdateHalf, "[32768 32768]", "[32768 32768]"},
		{UpdateEighth, "[8192 8192 8192 8192 8192 8192 8192 8192]", "[8192 8192 8192 8192 8192 8192 8192 8192]"},
		{UpdateFrame, "[4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096]", "same"},
		{UpdateNever, "[]", "[]"},
	} {
		if c.session == "same" {
			c.session = c.stream
		}
		for _, v := range []Version{V3, V31} {
			read := make(chan int)
			p := against(t, v, false, Config{
				Window: Window{Update: c.rule, SessionUpdate: c.rule},
				Accept: func(st *Stream) {
					for {
						n, err := st.Read(make([]byte, 4096))
						if err != nil {
							return
						}
						read <- n
					}
				},
			})
			p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
			for range 16 {
				p.send(&Data{StreamID: 1, Payload: make([]byte, 4096)})
				for n := 0; n < 4096; n += <-read {
				}
			}
			got := map[uint32][]uint32{}
			for _, f := range p.settle() {
				if w, ok := f.(*WindowUpdate); ok {
					got[w.StreamID] = append(got[w.StreamID], w.Delta)
				}
			}
			if fmt.Sprint(got[1]) != c.stream {
				t.Errorf("%s, rule %d: the stream's updates are %v, want %s", v, c.rule, got[1], c.stream)
			}
			if want := map[Version]string{V3: "[]", V31: c.session}[v]; fmt.Sprint(got[0]) != want {
				t.Errorf("%s, rule %d: the session's updates are %v, want %s", v, c.rule, got[0], want)
			}
			_ = p.Conn.Close()
		}
	}
}

// A sender keeps to both windows, to the octet, and goes on when told.
func TestSenderKeepsToTheWindows(t *testing.T) {
	p := against(t, V31, true, Config{})
	st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		if _, err := st.write(make([]byte, 200_000), true); err != nil {
			t.Error(err)
		}
	})
	count := func() (n int) {
		for {
			f := p.settle()
			k := 0
			for _, f := range f {
				if d, ok := f.(*Data); ok {
					k += len(d.Payload)
				}
			}
			if n += k; k == 0 && n > 0 {
				return n
			}
		}
	}
	if n := count(); n != 65536 {
		t.Fatalf("%d octets at first, want 65536", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 100_000}, &WindowUpdate{StreamID: 0, Delta: 10})
	if n := count(); n != 10 {
		t.Fatalf("%d octets for a session's window of 10", n)
	}
	// A smaller initial window makes the stream's negative.
	p.send(&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 0}}}, &WindowUpdate{StreamID: 0, Delta: 1 << 20})
	if n := count(); n != 100_000-10-65536 {
		t.Fatalf("%d octets, want what the stream's window still allows", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 5}, &Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 7}}})
	if n := count(); n != 12 {
		t.Fatalf("%d octets for a window 12 larger", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 1 << 20})
	if n := count(); n != 200_000-100_000-12 {
		t.Fatalf("%d octets, want the rest", n)
	}
}

// The drafts' example: 64 KB are under way when a window of 16 KB is announced.
func TestReceiverTakesWhatWasSentBeforeItsSettings(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		got := make(chan int)
		p := against(t, v, false, Config{Window: Window{Stream: 16 << 10}, Accept: func(st *Stream) {
			b, err := io.ReadAll(st)
			if err != nil {
				t.Error(err)
			}
			got <- len(b)
		}})
		p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}}, &Data{StreamID: 1, Fin: true, Payload: make([]byte, 64<<10)})
		if n := <-got; n != 64<<10 {
			t.Errorf("%s: %d octets", v, n)
		}
	}
}

func TestSettingsOfTheReceiverInMidSession(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		got := make(chan int, 1)
		p := against(t, v, false, Config{Window: Window{Session: 1 << 20}, Accept: func(st *Stream) {
			b, _ := io.ReadAll(st)
			got <- len(b)
		}})
		p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
		p.settle()
		if err := p.s.SendSettings(Setting{ID: SettingInitialWindowSize, Value: 100_000}, Setting{ID: SettingMaxConcurrentStreams, Value: 1}); err != nil {
			t.Fatal(err)
		}
		p.expect(TypeSettings)
		p.send(&Data{StreamID: 1, Payload: make([]byte, 100_000)}, &SynStream{StreamID: 3, Fields: []Field{{"a", "b"}}})
		if f := p.expect(TypeRstStream).(*RstStream); f.StreamID != 3 || f.Status != RefusedStream {
			t.Errorf("%s: a second stream brought %+v", v, f)
		}
		p.send(&Data{StreamID: 1, Fin: true})
		if n := <-got; n != 100_000 {
			t.Errorf("%s: %d octets", v, n)
		}
	}
}

func TestOpenWaitsItsTurn(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		p := against(t, v, true, Config{})
		p.send(&Settings{Entries: []Setting{{SettingMaxConcurrentStreams, 0, 1}}})
		p.settle()
		open := func(ctx context.Context) (*Stream, error) {
			return p.s.Open(ctx, []Field{{"a", "b"}}, OpenOptions{Fin: true})
		}
		if _, err := open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.s.Open(t.Context(), nil, OpenOptions{NoWait: true}); !errors.Is(err, ErrTooManyStreams) {
			t.Errorf("a second stream without waiting: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		opened := make(chan uint32, 2)
		var waiting sync.WaitGroup
		for i := range 3 {
			waiting.Go(func() {
				with := t.Context()
				if i == 1 {
					with = ctx
				}
				st, err := open(with)
				if i == 1 != errors.Is(err, context.Canceled) {
					t.Errorf("stream %d: %v", i, err)
				}
				if err == nil {
					opened <- st.ID()
				}
			})
			until(t, "an Open that waits", func() bool {
				p.s.mu.Lock()
				defer p.s.mu.Unlock()
				return len(p.s.waiting) == i+1
			})
		}
		cancel()
		p.send(&SynReply{StreamID: 1, Fin: true})
		if id := <-opened; id != 3 {
			t.Errorf("stream %d, want 3", id)
		}
		p.send(&Settings{Entries: []Setting{{SettingMaxConcurrentStreams, 0, 2}}})
		if id := <-opened; id != 5 {
			t.Errorf("stream %d, want 5", id)
		}
		waiting.Wait()
	})
}

func TestPing(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		c, s := sessions(t, v, Config{}, Config{})
		for _, x := range []*Session{c, s} {
			if rtt, err := x.Ping(t.Context()); err != nil || rtt <= 0 {
				t.Errorf("%v, %v", rtt, err)
			}
		}
		// A PING with a number of the receiver's own that it did not send is ignored.
		p := against(t, v, false, Config{})
		p.send(&Ping{ID: 2})
		for _, f := range p.settle() {
			if f.Type() == TypePing {
				t.Errorf("it was answered")
			}
		}
	})
}

func TestGoAway(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		t.Run("received", func(t *testing.T) {
			p := against(t, v, true, Config{})
			var streams []*Stream
			for range 3 {
				st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				streams = append(streams, st)
			}
			p.send(&GoAway{LastStreamID: 3})
			for i, st := range streams {
				if i == 2 {
					if _, err := st.Reply(t.Context()); !Unprocessed(err) {
						t.Errorf("stream %d: %v", st.ID(), err)
					}
				}
			}
			if _, err := p.s.Open(t.Context(), nil, OpenOptions{}); !errors.Is(err, ErrGoingAway) || !Unprocessed(err) {
				t.Errorf("a new stream: %v", err)
			}
			for _, st := range streams[:2] {
				if err := st.CloseWrite(); err != nil {
					t.Error(err)
				}
				p.send(&SynReply{StreamID: st.ID(), Fin: true, Fields: []Field{{"x", "y"}}})
				if reply, err := st.Reply(t.Context()); err != nil || len(reply) != 1 {
					t.Errorf("stream %d: %v, %v", st.ID(), reply, err)
				}
			}
			p.expect(TypeGoAway)
			if err := p.s.Wait(); !errors.Is(err, ErrClosed) {
				t.Errorf("the session ended with %v", err)
			}
		})
		t.Run("sent", func(t *testing.T) {
			leave := make(chan struct{})
			p := against(t, v, false, Config{Accept: func(st *Stream) {
				<-leave
				_ = st.SendReply([]Field{{"x", "y"}}, true)
			}})
			p.send(&SynStream{StreamID: 1, Fin: true, Fields: []Field{{"a", "b"}}})
			p.settle()
			down := make(chan error)
			go func() { down <- p.s.Shutdown(t.Context()) }()
			if f := p.expect(TypeGoAway).(*GoAway); f.LastStreamID != 1 || f.Status != GoAwayOK {
				t.Errorf("%+v", f)
			}
			p.send(&SynStream{StreamID: 3, Fin: true, Fields: []Field{{"a", "b"}}})
			for _, f := range p.settle() {
				t.Errorf("a stream after GOAWAY brought %s", f.Type())
			}
			close(leave)
			if f := p.expect(TypeSynReply).(*SynReply); f.StreamID != 1 || !f.Fin {
				t.Errorf("%+v", f)
			}
			if err := <-down; err != nil {
				t.Error(err)
			}
			if _, err := p.ReadFrame(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last stream: %v", err)
			}
		})
	})
}

// What a peer may do wrong on a stream, and the RST_STREAM it gets for it.
func TestStreamErrors(t *testing.T) {
	open := &SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}}
	fin := &Data{StreamID: 1, Fin: true}
	for _, c := range []struct {
		name     string
		client   bool // the session under test
		versions []Version
		frames   []Frame
		id       uint32
		v2, v3   Status // 0 for none
	}{
		{"DATA of no stream", false, Versions(), []Frame{&Data{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"SYN_REPLY of no stream", true, Versions(), []Frame{&SynReply{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"HEADERS of no stream", false, Versions(), []Frame{&Headers{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"WINDOW_UPDATE of no stream", false, []Version{V3, V31}, []Frame{&WindowUpdate{5, 1}}, 5, 0, InvalidStream},
		{"RST_STREAM of no stream", false, Versions(), []Frame{&RstStream{5, Cancel}}, 5, 0, 0},
		{"DATA after FIN", false, Versions(), []Frame{open, fin, &Data{StreamID: 1, Payload: []byte("x")}}, 1, ProtocolError, StreamAlreadyClosed},
		{"HEADERS after FIN", false, Versions(), []Frame{open, fin, &Headers{StreamID: 1}}, 1, ProtocolError, StreamAlreadyClosed},
		{"WINDOW_UPDATE after FIN", false, []Version{V3, V31}, []Frame{open, fin, &WindowUpdate{1, 1}}, 1, 0, 0},
		{"SYN_STREAM twice", false, Versions(), []Frame{open, open}, 1, ProtocolError, ProtocolError},
		{"SYN_REPLY from who opened it", false, Versions(), []Frame{open, &SynReply{StreamID: 1}}, 1, ProtocolError, StreamAlreadyClosed},
		{"DATA before SYN_REPLY", true, []Version{V3, V31}, []Frame{&Data{StreamID: 1}}, 1, 0, ProtocolError},
		{"SYN_REPLY twice", true, Versions(), []Frame{&SynReply{StreamID: 1}, &SynReply{StreamID: 1}}, 1, ProtocolError, StreamInUse},
		{"a window of more than 2^31-1", false, []Version{V3, V31}, []Frame{open, &WindowUpdate{1, maxWindow}}, 1, 0, FlowControlError},
		{"more than the window", false, []Version{V3}, []Frame{open, &Data{StreamID: 1, Payload: make([]byte, 65537)}}, 1, 0, FlowControlError},
		{"a pushed stream that belongs to none", true, Versions(), []Frame{&SynStream{StreamID: 2, Unidirectional: true}}, 2, InvalidStream, InvalidStream},
		{"a name twice in two HEADERS", false, Versions(), []Frame{open, &Headers{StreamID: 1, Fields: []Field{{"x", "1"}}}, &Headers{StreamID: 1, Fields: []Field{{"x", "2"}}}}, 1, ProtocolError, ProtocolError},
		{"another version", false, []Version{V3, V31}, []Frame{&Unknown{Version: 2, Kind: TypeSynStream, Payload: []byte{0, 0, 0, 1}}}, 1, 0, UnsupportedVersion},
		{"another type", false, Versions(), []Frame{&Unknown{Version: 3, Kind: 99}}, 1, 0, 0},
	} {
		for _, v := range c.versions {
			name := fmt.Sprintf("%s, %s", v, c.name)
			done := make(chan struct{})
			p := against(t, v, c.client, Config{Accept: func(st *Stream) { <-done }})
			if c.client {
				if _, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{}); err != nil {
					t.Fatal(err)
				}
				p.expect(TypeSynStream)
			}
			p.send(c.frames...)
			got := Status(0)
			for _, f := range p.settle() {
				if r, ok := f.(*RstStream); ok {
					got = r.Status
					if r.StreamID != c.id {
						t.Errorf("%s: RST_STREAM of stream %d, want %d", name, r.StreamID, c.id)
					}
				}
			}
			want := c.v3
			if v == V2 {
				want = c.v2
			}
			if got != want {
				t.Errorf("%s: RST_STREAM with %s, want %s", name, got, want)
			}
			close(done)
			_ = p.Conn.Close()
		}
	}
}

// What ends the session, and what its GOAWAY says.
func TestSessionErrors(t *testing.T) {
	for _, c := range []struct {
		name     string
		client   bool
		versions []Version
		frames   []Frame
		status   Status
		says     string
	}{
		{"streams that count down", false, Versions(), []Frame{&SynStream{StreamID: 5}, &SynStream{StreamID: 3}}, GoAwayProtocolError, "comes after"},
		{"an even stream of a client", false, Versions(), []Frame{&SynStream{StreamID: 2}}, GoAwayProtocolError, "not one for the peer"},
		{"an odd stream of a server", true, Versions(), []Frame{&SynStream{StreamID: 9}}, GoAwayProtocolError, "not one for the peer"},
		{"DATA before SYN_REPLY", true, []Version{V2}, []Frame{&Data{StreamID: 1}}, GoAwayProtocolError, "no SYN_REPLY"},
		{"a session's window of more than 2^31-1", false, []Version{V31}, []Frame{&WindowUpdate{0, maxWindow}}, GoAwayFlowControlError, "beyond"},
		{"an initial window of more than 2^31-1", false, []Version{V3, V31}, []Frame{&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 1 << 31}}}}, GoAwayFlowControlError, "initial window"},
		{"more than the session's window", false, []Version{V31}, []Frame{&Data{StreamID: 1, Payload: make([]byte, 65537)}}, GoAwayFlowControlError, "session's window"},
		{"a control frame of 65537 octets", false, Versions(), []Frame{&Unknown{Version: 3, Kind: 99, Payload: make([]byte, 65537)}}, GoAwayProtocolError, "that are allowed"},
		{"a header block that is none", false, Versions(), []Frame{&Unknown{Kind: TypeSynStream, Payload: []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00garbage")}}, GoAwayProtocolError, "zlib"},
	} {
		for _, v := range c.versions {
			name := fmt.Sprintf("%s, %s", v, c.name)
			p := against(t, v, c.client, Config{Accept: func(*Stream) {}})
			if c.client {
				if _, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{}); err != nil {
					t.Fatal(err)
				}
				p.expect(TypeSynStream)
			}
			for _, f := range c.frames {
				if u, ok := f.(*Unknown); ok {
					u.Version = v.wire()
				}
			}
			p.send(c.frames...)
			f := p.expect(TypeGoAway).(*GoAway)
			if f.Status != c.status && v != V2 {
				t.Errorf("%s: GOAWAY with %s, want %s", name, f.Status, c.status)
			}
			if err := p.s.Wait(); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "draft") {
				t.Errorf("%s: the session ended with %v", name, err)
			}
			if _, err := p.ReadFrame(); err == nil {
				t.Errorf("%s: the connection was left open", name)
			}
		}
	}
}

func TestHalfClose(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		c, _ := sessions(t, v, Config{Accept: func(st *Stream) {
			b, err := io.ReadAll(st)
			if err != nil {
				t.Error(err)
			}
			if err := st.SendReply([]Field{{"n", fmt.Sprint(len(b))}}, false); err != nil {
				t.Error(err)
			}
			_, _ = st.Write(bytes.ToUpper(b))
			if err := st.SendTrailer([]Field{{"t", "end"}}); err != nil {
				t.Error(err)
			}
			if _, err := st.Write([]byte("x")); !errors.Is(err, ErrClosed) {
				t.Errorf("a write after the end: %v", err)
			}
		}}, Config{})
		st, err := c.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{Priority: Highest})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = st.Write([]byte("hello"))
		if err := st.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(st)
		if err != nil || string(b) != "HELLO" || !reflect.DeepEqual(st.Trailer(), []Field{{"t", "end"}}) {
			t.Errorf("%q, %v, trailer %v", b, err, st.Trailer())
		}
		until(t, "the stream's end", func() bool { return c.Streams() == 0 })
	})
}

// Everything that waits returns when the session is closed, and says why.
func TestCloseEndsAllThatWaits(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		p := against(t, v, true, Config{})
		p.send(&Settings{Entries: []Setting{{SettingMaxConcurrentStreams, 0, 2}}})
		p.settle()
		st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{}); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 5)
		go func() { _, err := st.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := st.Write(make([]byte, 100_000)); errs <- err }()
		go func() { _, err := st.Reply(t.Context()); errs <- err }()
		go func() { _, err := p.s.Open(t.Context(), nil, OpenOptions{}); errs <- err }()
		go func() { _, err := p.s.Ping(t.Context()); errs <- err }()
		until(t, "all of them", func() bool {
			p.s.mu.Lock()
			defer p.s.mu.Unlock()
			return st.readWaited && st.writeWaited && len(st.out) > 0 && len(p.s.waiting) == 1 && len(p.s.pings) == 1
		})
		_ = p.s.Close()
		for range 5 {
			if err := <-errs; !errors.Is(err, ErrClosed) && !errors.Is(err, ErrGoingAway) {
				t.Errorf("%s: %v", v, err)
			}
		}
	}
}

func TestDeadlines(t *testing.T) {
	p := against(t, V3, true, Config{})
	st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = st.SetReadDeadline(time.Now().Add(time.Millisecond))
	_ = st.SetWriteDeadline(time.Now().Add(time.Millisecond))
	var timeout net.Error
	if _, err := st.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read: %v", err)
	}
	if n, err := st.Write(make([]byte, 100_000)); n != 65536 && n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("write: %d, %v", n, err)
	}
}
