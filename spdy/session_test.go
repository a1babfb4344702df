package spdy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"
)

// sessions returns the two ends of one connection.
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

// connection returns a TCP connection on this machine.
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

// peer is the other end of a session, and sends what a test tells it to.
type peer struct {
	*Framer
	net.Conn
	t testing.TB
	s *Session
}

// against connects a session to a peer. The test reads the frames of the
// greeting.
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

// expect reads until a frame of a type arrives.
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

// settle waits until the session has handled everything sent to it, and returns
// its answers. Answers to PINGs overtake everything else, so it takes two.
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
			t.Fatalf("%s: it did not happen", what)
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

// TestPrioritiesAreObeyed sends urgent streams first; equally urgent ones take
// turns.
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
		// Nobody reads yet: everything is queued.
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
			until(t, "a waiting Open", func() bool {
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

// TestWhichSettingCounts checks that the first of two values in one frame
// counts, and the second of two frames; and that settings which the peer
// returns as persisted are not its own.
func TestWhichSettingCounts(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		p := against(t, v, true, Config{})
		for _, c := range []struct {
			entries []Setting
			want    int
		}{
			{[]Setting{{SettingMaxConcurrentStreams, 0, 7}, {SettingMaxConcurrentStreams, 0, 8}}, 7},
			{[]Setting{{SettingMaxConcurrentStreams, 0, 9}}, 9},
			{[]Setting{{SettingMaxConcurrentStreams, Persisted, 10}}, 9},
		} {
			p.send(&Settings{Entries: c.entries})
			p.settle()
			p.s.mu.Lock()
			if p.s.peerMax != c.want {
				t.Errorf("%v: %d streams, want %d", c.entries, p.s.peerMax, c.want)
			}
			p.s.mu.Unlock()
		}
	})
}

func TestControlFramesOf8192OctetsAreRead(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		got := make(chan int, 1)
		p := against(t, v, false, Config{MaxFrameBytes: 1, MaxHeaderBytes: 20_000, Accept: func(st *Stream) { got <- len(st.Fields()[0].Value) }})
		p.Framer = NewFramer(v, p.Conn, p.Conn, CompressNone)
		p.send(&SynStream{StreamID: 1, Fin: true, Fields: []Field{{"a", string(bytes.Repeat([]byte("x"), 8100))}}})
		if n := <-got; n != 8100 {
			t.Errorf("%d octets of a value of 8100", n)
		}
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
		// A PING with an ID of the receiver's own that it did not send is ignored.
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

// TestCloseEndsAllThatWaits checks that every waiting call returns when the
// session is closed, with the reason.
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
