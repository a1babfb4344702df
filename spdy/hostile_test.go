package spdy

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestFloodsEndTheirSession checks that frames which cost the peer nothing and
// have no effect end their session, while another session of the same server
// continues.
func TestFloodsEndTheirSession(t *testing.T) {
	header := []Field{{"a", "b"}}
	const many = budgetMost + 100
	floods := map[string]func(v Version, i int) []Frame{
		"SETTINGS":                 func(Version, int) []Frame { return []Frame{&Settings{}} },
		"SETTINGS of many entries": func(Version, int) []Frame { return []Frame{&Settings{Entries: make([]Setting, 1000)}} },
		"PING":                     func(_ Version, i int) []Frame { return []Frame{&Ping{ID: uint32(2*i + 1)}} },
		"empty DATA":               func(Version, int) []Frame { return []Frame{&Data{StreamID: 1}} },
		"empty HEADERS":            func(Version, int) []Frame { return []Frame{&Headers{StreamID: 1}} },
		"DATA of no stream":        func(Version, int) []Frame { return []Frame{&Data{StreamID: 99}} },
		"RST_STREAM of no stream":  func(Version, int) []Frame { return []Frame{&RstStream{99, Cancel}} },
		"GOAWAY":                   func(Version, int) []Frame { return []Frame{&GoAway{}} },
		"unknown frames":           func(v Version, _ int) []Frame { return []Frame{&Unknown{Version: v.wire(), Kind: 99}} },
		"streams of the wrong version": func(Version, int) []Frame {
			return []Frame{&Unknown{Version: 9, Kind: TypeSynStream, Payload: make([]byte, 4)}}
		},
		"refused streams": func(_ Version, i int) []Frame {
			return []Frame{&SynStream{StreamID: uint32(2*i + 3), Fields: header}}
		},
		"SYN_STREAM and RST_STREAM": func(_ Version, i int) []Frame {
			return []Frame{&SynStream{StreamID: uint32(2*i + 3), Fields: header}, &RstStream{uint32(2*i + 3), Cancel}}
		},
		"WINDOW_UPDATE": func(v Version, _ int) []Frame {
			if v == V2 {
				return nil
			}
			return []Frame{&WindowUpdate{1, 1}}
		},
		"NOOP": func(v Version, _ int) []Frame {
			if v != V2 {
				return nil
			}
			return []Frame{&Noop{}}
		},
	}
	eachVersion(t, func(t *testing.T, v Version) {
		for name, flood := range floods {
			leave := make(chan struct{})
			var running, most atomic.Int32
			p := against(t, v, false, Config{MaxStreams: 10, Accept: func(*Stream) {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				<-leave
				running.Add(-1)
			}})
			var reading sync.WaitGroup
			var last GoAway
			reading.Go(func() {
				for {
					f, err := p.ReadFrame()
					if err != nil {
						return
					}
					if g, ok := f.(*GoAway); ok {
						last = *g
					}
				}
			})
			p.send(&SynStream{StreamID: 1, Fields: header})
			some := false
			for i := range many {
				for _, f := range flood(v, i) {
					some = true
					if p.WriteFrame(f) != nil {
						break // the session has ended
					}
				}
			}
			if some {
				var session *SessionError
				if <-p.s.Done(); !errors.As(p.s.Err(), &session) || !strings.Contains(session.Error(), "floods") {
					t.Errorf("%s: the session ended with %v", name, p.s.Err())
				}
			}
			close(leave)
			_ = p.Conn.Close()
			reading.Wait()
			_ = p.s.Close()
			if some && v != V2 && last.Status != GoAwayProtocolError && last.Status != GoAwayOK {
				t.Errorf("%s: GOAWAY with %s", name, last.Status)
			}
			// Twice MaxStreams: handlers of reset streams may still be returning.
			if n := most.Load(); n > 20 {
				t.Errorf("%s: %d handlers at a time", name, n)
			}
		}
	})
}

// TestBudgetComesBack checks that a slow but working peer is not a flood: a
// minute of PINGs, SETTINGS and updates stays within the budget.
func TestBudgetComesBack(t *testing.T) {
	b := newBudget()
	for range budgetMost {
		if !b.spend(1) {
			t.Fatal("spent too early")
		}
	}
	if b.spend(100) {
		t.Fatal("more was spent than available")
	}
	b.filled = time.Now().Add(-10 * time.Second)
	if !b.spend(1) || b.left < budgetMost/2 {
		t.Errorf("%d are left after ten seconds", b.left)
	}
	b.left = 0
	b.earn()
	if !b.spend(2) {
		t.Error("a DATA frame did not pay for two updates")
	}
}

// TestHeaderLimitsOfASession checks that a header block that is too large
// resets its stream, and that a bomb ends its session.
func TestHeaderLimitsOfASession(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		p := against(t, v, false, Config{MaxHeaderBytes: 4000, MaxHeaderFields: 20, Accept: func(*Stream) {}})
		var many []Field
		for i := range 21 {
			many = append(many, Field{fmt.Sprint("n", i), "x"})
		}
		p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", strings.Repeat("x", 5000)}}}, &SynStream{StreamID: 3, Fields: many})
		resets := 0
		for _, f := range p.settle() {
			if f, ok := f.(*RstStream); ok && f.Status == ProtocolError {
				resets++
			}
		}
		if resets != 2 {
			t.Errorf("%d streams were reset, want 2", resets)
		}
		// Sending it field by field in HEADERS does not help either.
		p.send(&SynStream{StreamID: 5, Fields: []Field{{"a", "b"}}})
		for i := range 10 {
			_ = p.WriteFrame(&Headers{StreamID: 5, Fields: []Field{{fmt.Sprint("n", i), strings.Repeat("y", 900)}}})
		}
		bomb := new(bytes.Buffer)
		dictionary := dictionary3
		if v == V2 {
			dictionary = dictionary2
		}
		w, _ := zlib.NewWriterLevelDict(bomb, 9, []byte(dictionary))
		_, _ = w.Write(make([]byte, 1<<24))
		_ = w.Flush()
		q := against(t, v, false, Config{Accept: func(*Stream) { t.Error("the bomb opened a stream") }})
		q.send(&Unknown{Version: v.wire(), Kind: TypeSynStream, Payload: append([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, bomb.Bytes()...)})
		q.expect(TypeGoAway)
		if err := q.s.Wait(); err == nil || !strings.Contains(err.Error(), "inflates to more") {
			t.Errorf("the session ended with %v", err)
		}
	})
}

// TestSlowPeers checks that a peer that makes this side wait loses its stream,
// or its session, within the time limit.
func TestSlowPeers(t *testing.T) {
	const limit = 80 * time.Millisecond
	config := Config{ReadTimeout: limit, WriteTimeout: limit, IdleTimeout: -1}
	timedOut := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, ErrTimeout) {
			t.Errorf("the session ended with %v, want a timeout", err)
		}
	}
	eachVersion(t, func(t *testing.T, v Version) {
		t.Run("sender", func(t *testing.T) {
			ended := make(chan error, 1)
			c := config
			c.Accept = func(st *Stream) { _, err := io.ReadAll(st); ended <- err }
			p := against(t, v, false, c)
			p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}}, &Data{StreamID: 1, Payload: []byte("x")})
			if f := p.expect(TypeRstStream).(*RstStream); f.StreamID != 1 || f.Status != Cancel {
				t.Errorf("%+v", f)
			}
			timedOut(t, <-ended)
			p.settle()
		})
		t.Run("middle of a frame", func(t *testing.T) {
			for _, part := range []string{"\x80", "\x00\x00\x00\x01\x00\x00\xff\xffabc", "\x80\x03\x00\x01\x00\x00\x40\x00abc"} {
				p := against(t, v, false, config)
				if _, err := io.WriteString(p.Conn, part); err != nil {
					t.Fatal(err)
				}
				timedOut(t, p.s.Wait())
			}
		})
		t.Run("reader of the connection", func(t *testing.T) {
			ended := make(chan error, 1)
			c := config
			c.Accept = func(st *Stream) {
				_ = st.SendReply(nil, false)
				_, err := st.Write(make([]byte, 64<<20))
				ended <- err
			}
			p := against(t, v, false, c)
			if v != V2 {
				p.send(&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, maxWindow}}})
			}
			if v == V31 {
				p.send(&WindowUpdate{0, 1 << 30})
			}
			p.send(&SynStream{StreamID: 1, Fin: true, Fields: []Field{{"a", "b"}}})
			timedOut(t, <-ended)
			timedOut(t, p.s.Wait())
		})
		if v != V2 {
			t.Run("reader of a stream", func(t *testing.T) {
				ended := make(chan error, 1)
				c := config
				c.Accept = func(st *Stream) {
					_ = st.SendReply(nil, false)
					_, err := st.Write(make([]byte, 1<<20))
					ended <- err
				}
				p := against(t, v, false, c)
				p.send(&SynStream{StreamID: 1, Fin: true, Fields: []Field{{"a", "b"}}})
				p.expect(TypeRstStream)
				timedOut(t, <-ended)
				p.settle()
			})
		}
		// Peers that do move, but a single octet at a time.
		t.Run("trickling sender", func(t *testing.T) {
			for _, head := range []string{"\x00\x00\x00\x01\x00\x00\xff\xff", "\x80\x03\x00\x01\x00\x00\x40\x00"} {
				c := config
				c.Accept = func(st *Stream) { _, _ = io.Copy(io.Discard, st) }
				p := against(t, v, false, c)
				p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
				_, err := io.WriteString(p.Conn, head)
				for n := 0; err == nil; time.Sleep(limit / 40) {
					if _, err = io.WriteString(p.Conn, "x"); n > leastProgress {
						t.Fatalf("%q: the session goes on after %d octets", head, n)
					}
					n++
				}
				timedOut(t, p.s.Wait())
			}
		})
		if v != V2 {
			t.Run("trickling reader", func(t *testing.T) {
				ended := make(chan error, 1)
				c := config
				c.Accept = func(st *Stream) {
					_ = st.SendReply(nil, false)
					_, err := st.Write(make([]byte, 1<<20))
					ended <- err
				}
				p := against(t, v, false, c)
				p.send(&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 1}}}, &SynStream{StreamID: 1, Fin: true, Fields: []Field{{"a", "b"}}})
				n := 0
				for open := true; open; time.Sleep(limit / 40) {
					if n++; n > leastProgress {
						t.Fatalf("the stream goes on after %d octets", n)
					}
					p.send(&WindowUpdate{1, 1})
					select {
					case err := <-ended:
						timedOut(t, err)
						open = false
					default:
					}
				}
			})
		}
		t.Run("idle", func(t *testing.T) {
			p := against(t, v, false, Config{IdleTimeout: limit})
			if f := p.expect(TypeGoAway).(*GoAway); f.Status != GoAwayOK {
				t.Errorf("%+v", f)
			}
			if err := p.s.Wait(); !errors.Is(err, ErrClosed) {
				t.Errorf("%v", err)
			}
		})
	})
}

// TestUnreadDataIsBounded checks that a session of version 2, which has no
// windows, stops reading instead of growing.
func TestUnreadDataIsBounded(t *testing.T) {
	leave := make(chan struct{})
	p := against(t, V2, false, Config{Accept: func(st *Stream) {
		<-leave
		n, err := io.Copy(io.Discard, st)
		if n != 64<<20 || err != nil {
			t.Errorf("%d octets, %v", n, err)
		}
		_ = st.SendReply(nil, true)
	}})
	p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
	var sending sync.WaitGroup
	sending.Go(func() {
		for range 64 {
			_ = p.WriteFrame(&Data{StreamID: 1, Payload: make([]byte, 1<<20)})
		}
		_ = p.WriteFrame(&Data{StreamID: 1, Fin: true})
	})
	until(t, "the limit", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.buffered >= maxUnread
	})
	p.s.mu.Lock()
	held := p.s.streams[1].buffer.length
	p.s.mu.Unlock()
	if held > maxUnread+1<<20 {
		t.Errorf("%d octets are buffered", held)
	}
	close(leave)
	p.expect(TypeSynReply)
	sending.Wait()
}

// TestOneSessionsTroubleIsItsOwn checks that a panicking handler, an endless
// body and a vanished client do not affect other sessions of the server.
func TestOneSessionsTroubleIsItsOwn(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		url := serveClear(t, &Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic("no")
			}
			fmt.Fprint(w, "ok")
		})}, v)
		good, bad := client(t, &Transport{Cleartext: v}), client(t, &Transport{Cleartext: v})
		fetch(t, good, request(t, "GET", url, nil))
		if response, err := bad.Do(request(t, "GET", url+"/panic", nil)); err == nil {
			_ = response.Body.Close()
			t.Errorf("a panic was answered with %s", response.Status)
		}
		_, _ = bad.Do(request(t, "POST", url, readerFunc(func([]byte) (int, error) { return 0, errors.New("no body") })))
		_ = bad.Transport.(*Transport).Close()
		if _, got := fetch(t, good, request(t, "GET", url, nil)); string(got) != "ok" || len(good.Transport.(*Transport).Sessions()) != 1 {
			t.Errorf("%q over %d sessions", got, len(good.Transport.(*Transport).Sessions()))
		}
	})
}

// TestSessionsAreSmallAndLeaveNothing checks that sessions end with all their
// goroutines, and that an idle one needs little memory.
func TestSessionsAreSmallAndLeaveNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	s := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })}
	const n = 200
	var clients, servers []*Session
	for range n {
		a, b := connection(t)
		cn := &serverConn{server: s, ctx: t.Context(), handler: s.Handler, version: V31}
		servers = append(servers, NewServer(b, V31, &Config{Accept: cn.serve}))
		clients = append(clients, NewClient(a, V31, nil))
	}
	var idle runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&idle)
	start := idle.HeapAlloc + idle.StackInuse
	for _, c := range clients {
		st, err := c.Open(t.Context(), requests(1)[0], OpenOptions{Fin: true})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(st); err != nil || string(b) != "ok" {
			t.Fatalf("%q, %v", b, err)
		}
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&idle)
	t.Logf("a request left %d octets with each end", int64(idle.HeapAlloc+idle.StackInuse-start)/(2*n))
	for i := range clients {
		_ = clients[i].Close()
		_ = servers[i].Close()
		_ = clients[i].Wait()
		_ = servers[i].Wait()
	}
	clear(clients)
	clear(servers)
	runtime.GC()
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	each := int64(idle.HeapAlloc+idle.StackInuse-after.HeapAlloc-after.StackInuse) / (2 * n)
	t.Logf("an idle session that has served a request holds %d octets", each)
	if each > 60<<10 {
		t.Errorf("an idle session holds %d octets", each)
	}
	until(t, "the goroutines' end", func() bool { return runtime.NumGoroutine() <= before })
}
