package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
	"wiretime/spdy"
)

// TestDataAsItArrives uses a server that sends the second half of a body when
// the client has seen the first.
func TestDataAsItArrives(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p)
		seen := make(chan struct{})
		b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 100_000)) // more than the server buffers
			select {
			case <-seen:
			case <-r.Context().Done():
			}
			_, _ = w.Write(make([]byte, 100_000))
		}))
		a := &answer{onData: sync.OnceFunc(func() { close(seen) })}
		fetch(t, t.Context(), b.session(t), http.MethodGet, b.url(pageHost, "/"), Highest, a).wait(t)
		if must(t, a.err); len(a.body) != 200_000 || a.head.Body != nil {
			t.Errorf("the body has %d octets", len(a.body))
		}
	})
}

func TestInterim(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		if _, ok := spdy.ParseVersion(p.ALPN); ok {
			return // SPDY has only 100
		}
		b := newBench(t, p)
		seen := make(chan struct{})
		b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>; rel=preload; as=style")
			w.WriteHeader(http.StatusEarlyHints)
			select {
			case <-seen:
			case <-r.Context().Done():
			}
			w.Header().Del("Link")
			path(w, r)
		}))
		a := &hinted{seen: seen}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url(pageHost, "/x"), nil)
		must(t, err)
		a.ended = make(chan struct{})
		b.session(t).Fetch(&Request{HTTP: r, Handler: a})
		a.wait(t)
		must(t, a.err)
		if len(a.interim) != 1 || a.interim[0].StatusCode != 103 || a.interim[0].Header.Get("Link") != "</style.css>; rel=preload; as=style" || string(a.body) != "/x" {
			t.Errorf("interim responses are %+v, the body is %q", a.interim, a.body)
		}
		// In Navigation Timing this is when the response starts.
		if answered := a.record.Answered; answered.IsZero() || answered.After(a.at) {
			t.Errorf("the response began at %v, the interim one arrived at %v", answered, a.at)
		}
	})
}

// hinted is an answer that reports its hint.
type hinted struct {
	answer
	seen chan struct{}
	at   time.Time
}

func (h *hinted) Interim(r *http.Response) {
	h.at = time.Now()
	h.answer.Interim(r)
	close(h.seen)
}

// TestFetchByAHandler calls Fetch from a handler while it holds a lock that the next
// request's handler needs.
func TestFetchByAHandler(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p)
		b.serve(t, http.HandlerFunc(path))
		s := b.session(t)
		var lock sync.Mutex
		next := &answer{onEnd: func() {
			lock.Lock()
			defer lock.Unlock()
		}}
		first := &answer{onEnd: func() {
			lock.Lock()
			defer lock.Unlock()
			fetch(t, t.Context(), s, http.MethodGet, "https://nobody.test/", Highest, next)
		}}
		fetch(t, t.Context(), s, http.MethodGet, b.url(pageHost, "/"), Highest, first).wait(t)
		must(t, first.err)
		if next.wait(t); next.err == nil || !strings.Contains(next.err.Error(), "look up nobody.test") || next.head != nil {
			t.Errorf("error is %v", next.err)
		}
	})
}

// TestCancel cancels one request that is never answered, while others are in
// flight or waiting.
func TestCancel(t *testing.T) {
	for _, word := range []string{"browser", "sequential", "keep-alive", "parallel-2", "pipelined-2"} {
		t.Run(word, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				b.options.Strategy = strategy(t, word)
				if b.options.Strategy.Supports(p) != nil {
					return
				}
				began := make(chan struct{}, 10)
				over := make(chan struct{})
				defer close(over)
				b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/never" {
						began <- struct{}{}
						<-over // net/http does not see a connection closed behind a pipelined request
						return
					}
					path(w, r)
				}))
				s := b.session(t)
				enough := errors.New("cancelled by the test")
				ctx, cancel := context.WithCancelCause(t.Context())
				never := fetch(t, ctx, s, http.MethodGet, b.url(pageHost, "/never"), Highest, nil)
				also := fetch(t, ctx, s, http.MethodGet, b.url(pageHost, "/also-never"), Idle, nil)
				others := []*answer{get(t, s, b.url(pageHost, "/1000"), Medium), get(t, s, b.url(imageHost, "/2000"), Medium)}
				<-began
				cancel(enough)
				if never.wait(t); !errors.Is(never.err, enough) {
					t.Errorf("error is %v, want the cause", never.err)
				}
				if also.wait(t); also.err != nil && !errors.Is(also.err, enough) {
					t.Errorf("error is %v, want the cause", also.err)
				}
				for i, a := range others {
					if must(t, a.wait(t).err); len(a.body) != 1000*(i+1) {
						t.Errorf("answer %d has %d octets", i, len(a.body))
					}
				}
				if must(t, get(t, s, b.url(pageHost, "/x"), Highest).wait(t).err); len(s.live) != 0 || len(s.watches) > 1 {
					t.Errorf("%d requests and %d contexts are left", len(s.live), len(s.watches))
				}
			})
		})
	}
}

// TestClose ends a session, or its connections, with requests in flight.
func TestClose(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*Session) error
		want error
		goes bool // the next request succeeds
	}{{"Close", (*Session).Close, ErrClosed, false}, {"Disconnect", (*Session).Disconnect, ErrDisconnected, true}} {
		t.Run(c.name, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				began := make(chan struct{}, 20)
				var answering atomic.Bool
				b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !answering.Load() {
						began <- struct{}{}
						<-r.Context().Done()
					}
					path(w, r)
				}))
				s := b.session(t)
				var answers []*answer
				for range 10 {
					answers = append(answers, get(t, s, b.url(pageHost, "/x"), Medium))
				}
				together := len(answers)
				if p.Spoken == "http/1.1" {
					together = connectionsPerHost
				}
				for range together {
					<-began
				}
				must(t, c.end(s))
				for _, a := range answers {
					if a.wait(t); !errors.Is(a.err, c.want) {
						t.Errorf("error is %v, want %v", a.err, c.want)
					}
				}
				answering.Store(true)
				opened := s.Connections()
				a := get(t, s, b.url(pageHost, "/x"), Medium).wait(t)
				if c.goes && (a.err != nil || s.Connections() != opened+1) || !c.goes && !errors.Is(a.err, ErrClosed) {
					t.Errorf("the next request's error is %v, over %d connections after %d", a.err, s.Connections(), opened)
				}
				must(t, c.end(s))
			})
		})
	}
}

// TestConnectionsAreKept makes a second visit over the connections of the first,
// which the server may have closed.
func TestConnectionsAreKept(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed by the server ", closed), func(t *testing.T) {
			eachTLS(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				stop := b.serveTLS(t, &tls.Config{}, http.HandlerFunc(path))
				s := b.session(t)
				must(t, get(t, s, b.url(pageHost, "/1"), Highest).wait(t).err)
				if closed {
					stop()
				}
				a := get(t, s, b.url(pageHost, "/2"), Highest).wait(t)
				want := 1
				if closed {
					want = 2
				}
				if must(t, a.err); a.record.First != closed || s.Connections() != want || a.record.Connection != want {
					t.Errorf("%d connections, want %d; the record is %+v", s.Connections(), want, a.record)
				}
			})
		})
	}
}

// TestSockets uses more hosts than there may be connections.
func TestSockets(t *testing.T) {
	const hosts = mostSockets + 20
	for _, c := range []struct {
		word string
		most int64
	}{{"browser", mostSockets}, {"unlimited", hosts}} {
		t.Run(c.word, func(t *testing.T) {
			b := newBench(t, row(t, "http/1.1"))
			b.options.Strategy = strategy(t, c.word)
			b.Hosts = map[string]netip.Addr{}
			for i := range hosts {
				b.Hosts[fmt.Sprintf("h%d.test", i)] = netip.MustParseAddr("127.0.0.1")
			}
			var open, most atomic.Int64
			dial := b.options.Dial
			b.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dial(ctx, network, address)
				if err == nil {
					most.Store(max(most.Load(), open.Add(1)))
					c = &counted{Conn: c, open: &open}
				}
				return c, err
			}
			var waiting atomic.Int64
			full := make(chan struct{})
			b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if waiting.Add(1) == c.most {
					close(full)
				}
				<-full
				path(w, r)
			}))
			s := b.session(t)
			var answers []*answer
			for i := range hosts {
				answers = append(answers, get(t, s, b.url(fmt.Sprintf("h%d.test", i), "/x"), Medium))
			}
			for _, a := range answers {
				must(t, a.wait(t).err)
			}
			// A connection is counted before the one that makes room for it has closed.
			if got := most.Load(); got < c.most || c.word == "browser" && got > c.most+20 || s.sockets > int(c.most) || s.Connections() != hosts {
				t.Errorf("%d connections at a time, %d at the end, %d in all; want %d at a time", got, s.sockets, s.Connections(), c.most)
			}
		})
	}
}

// counted is a connection that is counted while it is open.
type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// TestCoalescing has two hosts at one address, with certificates that cover both
// or only one.
func TestCoalescing(t *testing.T) {
	for _, c := range []struct {
		name    string
		names   []string
		address string
		shared  bool
	}{
		{"one certificate, one address", []string{pageHost, imageHost}, "127.0.0.1", true},
		{"a wildcard", []string{"*.page.test"}, "127.0.0.1", true},
		{"one certificate, two addresses", []string{pageHost, imageHost}, "127.0.0.2", false},
		{"a certificate for one", []string{pageHost}, "127.0.0.1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTLS(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				var pair tls.Certificate
				pair, verify := certificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), c.names...)
				b.options.Verify = func(s tls.ConnectionState) error {
					s.ServerName = pageHost // as if the other host had a certificate, too
					return verify(s)
				}
				b.Hosts[imageHost] = netip.MustParseAddr(c.address)
				b.serveTLS(t, &tls.Config{Certificates: []tls.Certificate{pair}}, http.HandlerFunc(path))
				if c.address != "127.0.0.1" {
					b.options.Dial = elsewhere(b.options.Dial)
					b.options.ListenPacket = elsewhereUDP(b.options.ListenPacket)
					b.Ports[b.Hosts[imageHost]] = b.Ports[b.Hosts[pageHost]]
				}
				s := b.session(t)
				must(t, get(t, s, b.url(pageHost, "/1"), Highest).wait(t).err)
				a := get(t, s, b.url(imageHost, "/2"), Highest).wait(t)
				must(t, a.err)
				want := 2
				if c.shared && p.Spoken != "http/1.1" {
					want = 1
				}
				if s.Connections() != want || a.record.First != (want == 2) || a.record.DNS < 0 {
					t.Errorf("%d connections, want %d; the record is %+v", s.Connections(), want, a.record)
				}
			})
		})
	}
}

// elsewhere redirects all addresses to the same server.
func elsewhere(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, strings.Replace(address, "127.0.0.2", "127.0.0.1", 1))
	}
}

func elsewhereUDP(listen func(context.Context, string, string) (net.PacketConn, error)) func(context.Context, string, string) (net.PacketConn, error) {
	return func(ctx context.Context, network, address string) (net.PacketConn, error) {
		c, err := listen(ctx, network, address)
		return &redirected{c}, err
	}
}

// redirected is a UDP socket whose peer has two addresses.
type redirected struct{ net.PacketConn }

func (r *redirected) WriteTo(b []byte, to net.Addr) (int, error) {
	return r.PacketConn.WriteTo(b, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: to.(*net.UDPAddr).Port})
}

func (r *redirected) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := r.PacketConn.ReadFrom(b)
	if u, ok := from.(*net.UDPAddr); ok {
		from = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2), Port: u.Port}
	}
	return n, from, err
}
