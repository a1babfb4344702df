package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"wiretime/capture"
	"wiretime/loader/loadertest"
	"wiretime/loader/session"
	"wiretime/protocol"
)

func TestEveryResourceArrives(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		page := b.url(pageHost, "/")
		want := append([]int{15}, sizes(300)...)
		resources := b.urls(pageHost, sizes(280)...)
		resources = append(resources, b.urls(imageHost, sizes(300)[280:]...)...)
		// The page is among its own resources and is fetched once.
		har, timing, err := b.open(t, append(resources, page)).Load(b.context(t), page)
		must(t, err)
		entries := har.Log.Entries
		if len(entries) != 301 {
			t.Fatalf("%d entries, want the document and 300 resources", len(entries))
		}
		connections, used := map[string]map[string]bool{}, map[string]bool{}
		for i, e := range entries {
			url := page
			if i > 0 {
				url = resources[i-1]
			}
			if e.Request.URL != url || e.Response.Status != 200 || e.Response.Error != "" || e.Response.Content.Size != int64(want[i]) || e.Protocol != p.Spoken {
				t.Fatalf("entry %d is %+v, want %d octets of %s over %s", i, e, want[i], url, p.Spoken)
			}
			if connections[e.ServerIPAddress] == nil {
				connections[e.ServerIPAddress] = map[string]bool{}
			}
			connections[e.ServerIPAddress][e.Connection] = true
			used[e.Connection] = true
		}
		each := 1
		if p.Spoken == "http/1.1" {
			each = 6
		}
		if len(connections["127.0.0.1"]) != each || len(connections["127.0.0.2"]) > each || len(connections) != 2 {
			t.Errorf("connections are %v, want %d to each address", connections, each)
		}
		if got := fmt.Sprint(b.Lookups()); got != "[www.page.test img.page.test]" {
			t.Errorf("looked up %s, want each host once, in order", got)
		}
		must(t, b.server.Close())
		log := b.server.Log()
		seen := map[int64]bool{}
		for _, e := range log {
			seen[e.Connection] = true
			if e.Protocol != p.Spoken || e.Resumed || e.Miss {
				t.Errorf("the server saw %+v", e)
			}
		}
		if len(log) != 301 || len(seen) != len(used) {
			t.Errorf("the server answered %d requests over %d connections, the loader reports 301 over %d", len(log), len(seen), len(used))
		}
		last := 0.0
		for i := range entries {
			last = max(last, float64(entries[i].End().UnixNano()-timing.NavigationStart)/1e6)
		}
		if timing.FCP != -1 || timing.LCP != -1 || timing.OnLoad != timing.LastResource || math.Abs(timing.OnLoad-last) > 1e-3 ||
			timing.TTFB <= 0 || timing.DCL < timing.TTFB || timing.OnLoad < timing.DCL {
			t.Errorf("timing is %+v; the last resource ended at %v ms", timing, last)
		}
	})
}

func TestPhasesAddUp(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		resources := slices.Concat(b.urls(pageHost, sizes(20)...), b.urls(imageHost, sizes(20)...))
		har, timing, err := b.open(t, resources).Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		lookups, connects := 0, map[string]int{}
		var before capture.Entry
		for i, e := range har.Log.Entries {
			s := e.Timings
			sum := s.Blocked + max(0, s.DNS) + max(0, s.Connect) + s.Send + s.Wait + s.Receive
			if math.Abs(sum-e.Time) > 1e-6 || s.Blocked < 0 || s.Send < 0 || s.Wait < 0 || s.Receive < 0 {
				t.Errorf("entry %d: phases %+v add up to %v ms of %v", i, s, sum, e.Time)
			}
			if e.Started.Before(before.Started) {
				t.Errorf("entry %d started before the previous one", i)
			}
			if s.DNS >= 0 {
				lookups++
			}
			if s.Connect >= 0 {
				connects[e.Connection]++
			}
			if (s.SSL >= 0) != (s.Connect >= 0 && p.Scheme == "https") || s.SSL > s.Connect {
				t.Errorf("entry %d: ssl %v of connect %v ms", i, s.SSL, s.Connect)
			}
			if i > 0 && e.Started.Sub(har.Log.Pages[0].Started).Seconds()*1e3-timing.DCL > 1e-3 {
				t.Errorf("entry %d was not requested when the document had arrived", i)
			}
			before = e
		}
		if lookups != 2 {
			t.Errorf("%d look-ups are recorded, want 2", lookups)
		}
		for connection, n := range connects {
			if n != 1 {
				t.Errorf("connection %s was opened %d times", connection, n)
			}
		}
		first, other := har.Log.Entries[0], har.Log.Entries[1]
		if first.ResourceType != "document" || first.Initiator.URL != "" || first.Response.Content.MimeType != "text/html" ||
			other.ResourceType != "image" || other.Initiator.URL != first.Request.URL {
			t.Errorf("the first entries are %+v and %+v", first, other)
		}
		if p.Spoken == "http/1.1" && other.Response.TransferSize <= other.Response.BodySize || p.Spoken != "http/1.1" && other.Response.TransferSize != -1 {
			t.Errorf("%d octets arrived for a body of %d", other.Response.TransferSize, other.Response.BodySize)
		}
		must(t, capture.WriteHAR(filepath.Join(t.TempDir(), "load.har"), har))
	})
}

// TestOrderOnTheWire reads what a protocol without TLS writes, over all its
// connections.
func TestOrderOnTheWire(t *testing.T) {
	p, err := protocol.Lookup("http/1.1")
	must(t, err)
	b := newBench(t, p, protocol.Archive(objects))
	want := []string{"GET / HTTP/1.1"}
	for _, size := range sizes(100) {
		want = append(want, fmt.Sprintf("GET /%d HTTP/1.1", size))
	}
	_, _, err = b.open(t, b.urls(pageHost, sizes(100)...)).Load(b.context(t), b.url(pageHost, "/"))
	must(t, err)
	if !slices.Equal(b.wire, want) {
		t.Errorf("requests went out as\n%q\nwant\n%q", b.wire, want)
	}
}

// TestOrderOfSending checks the protocols whose wire cannot be read.
func TestOrderOfSending(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		v := b.open(t, b.urls(pageHost, sizes(300)...))
		_, _, err := v.Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		for i, r := range v.asked[1:] {
			if before := v.asked[i]; r.exchange.Sending.Before(before.exchange.Sent) {
				t.Fatalf("%s was sent before %s", r.http.URL, before.http.URL)
			}
		}
	})
}

func TestConnectionsFollowRequests(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		for n, h1 := range map[int]int{0: 1, 1: 1, 3: 3, 6: 6, 7: 6} {
			// Requests are held back until all expected connections carry one.
			var waiting atomic.Int64
			all := make(chan struct{})
			archive := protocol.Archive(objects)
			b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					if int(waiting.Add(1)) == min(n, 6) {
						close(all)
					}
					<-all
				}
				archive.ServeHTTP(w, r)
			}))
			har, _, err := b.open(t, b.urls(pageHost, sizes(n)...)).Load(b.context(t), b.url(pageHost, "/"))
			must(t, err)
			used := map[string]bool{}
			for _, e := range har.Log.Entries {
				used[e.Connection] = true
			}
			want := 1
			if p.Spoken == "http/1.1" {
				want = h1
			}
			if len(used) != want {
				t.Errorf("%d resources: %d connections, want %d", n, len(used), want)
			}
		}
	})
}

func TestMissIsAnAnswer(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		har, _, err := b.open(t, []string{b.url(pageHost, "/gone"), b.url(pageHost, "/7")}).Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		if gone := har.Log.Entries[1].Response; gone.Status != 404 || gone.Error != "" || gone.Content.MimeType != "text/plain" {
			t.Errorf("the answer is %+v, want a 404", gone)
		}
	})
}

func TestBodyCutShort(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		archive := protocol.Archive(objects)
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/cut" {
				archive.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Length", "200000")
			_, _ = w.Write(make([]byte, 100_000)) // more than the server buffers
			panic(http.ErrAbortHandler)
		}))
		cut := b.url(pageHost, "/cut")
		resources := slices.Concat([]string{cut}, b.urls(pageHost, sizes(30)...))
		har, timing, err := b.open(t, resources).Load(b.context(t), b.url(pageHost, "/"))
		if err == nil || !strings.Contains(err.Error(), cut) || !strings.Contains(err.Error(), "read the body after ") {
			t.Errorf("error is %v, want one that names %s", err, cut)
		}
		if timing.DCL < 0 || timing.OnLoad != -1 {
			t.Errorf("timing is %+v, want no load event", timing)
		}
		for i, e := range har.Log.Entries {
			if (e.Response.Error != "") != (i == 1) || e.Response.Status != 200 {
				t.Errorf("%s: status %d, error %q", e.Request.URL, e.Response.Status, e.Response.Error)
			}
		}
	})
}

// TestConnectionThatDoesNotLast makes the server close after each response.
func TestConnectionThatDoesNotLast(t *testing.T) {
	for _, name := range []string{"http/1.1", "https/1.1"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			p, err := protocol.Lookup(name)
			must(t, err)
			archive := protocol.Archive(objects)
			b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				archive.ServeHTTP(w, r)
			}))
			har, _, err := b.open(t, b.urls(pageHost, sizes(30)...)).Load(b.context(t), b.url(pageHost, "/"))
			must(t, err)
			used := map[string]bool{}
			for _, e := range har.Log.Entries {
				used[e.Connection] = true
			}
			if len(used) != 31 {
				t.Errorf("31 requests went over %d connections", len(used))
			}
		})
	}
}

func TestLoadFails(t *testing.T) {
	refused := errors.New("refused for the test")
	for _, c := range []struct {
		name      string
		resources func(b *bench) []string
		change    func(o *session.Options, p *protocol.Protocol)
		want      string
		entries   int
	}{
		{"a host that does not exist", func(*bench) []string { return []string{"https://nobody.test/a", "https://nobody.test/b"} }, nil, "look up nobody.test: nobody.test does not exist", 3},
		{"a resource with an invalid URL", func(*bench) []string { return []string{"/a"} }, nil, "not an absolute URL", 0},
		{"a page whose host does not exist", nil, func(o *session.Options, _ *protocol.Protocol) {
			o.Resolve = func(context.Context, string) (netip.Addr, error) { return netip.Addr{}, refused }
		}, "look up www.page.test: refused", 1},
		{"no connection", nil, func(o *session.Options, _ *protocol.Protocol) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
			o.ListenPacket = func(context.Context, string, string) (net.PacketConn, error) { return nil, refused }
		}, "refused", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p, protocol.Archive(objects))
				var resources []string
				if c.resources != nil {
					resources = c.resources(b)
				}
				if c.change != nil {
					c.change(&b.options, &b.protocol)
				}
				page := b.url(pageHost, "/")
				har, timing, err := b.open(t, resources).Load(b.context(t), page)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), page) || timing.OnLoad != -1 {
					t.Errorf("error is %v, want one with %q and the page; timing %+v", err, c.want, timing)
				}
				if len(har.Log.Entries) != c.entries {
					t.Fatalf("%d entries, want %d", len(har.Log.Entries), c.entries)
				}
				if c.entries == 0 {
					return
				}
				if last := har.Log.Entries[c.entries-1]; c.entries > 1 && (last.Response.Error == "" || last.Timings.Blocked != last.Time) {
					t.Errorf("the last entry is %+v, want why it failed", last)
				}
			})
		})
	}
}

func TestHandshakeOfAnotherProtocol(t *testing.T) {
	for _, c := range []struct{ server, client string }{
		{"https/1.1", "h2"}, {"h2", "https/1.1"}, {"spdy/3", "spdy/3.1"}, {"h2", "spdy/3.1"}, {"spdy/3.1", "h2"},
	} {
		t.Run(strings.ReplaceAll(c.client+" of "+c.server, "/", "-"), func(t *testing.T) {
			p, err := protocol.Lookup(c.server)
			must(t, err)
			b := newBench(t, p, protocol.Archive(objects))
			b.protocol, err = protocol.Lookup(c.client)
			must(t, err)
			_, _, err = b.open(t, nil).Load(b.context(t), b.url(pageHost, "/"))
			if err == nil || !strings.Contains(err.Error(), "TLS handshake with www.page.test") {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("a server that negotiates nothing", func(t *testing.T) {
		p, err := protocol.Lookup("h2")
		must(t, err)
		b := newBench(t, p, protocol.Archive(objects))
		certificate, err := b.Authority.Certificate(pageHost)
		must(t, err)
		b.Handle(t, func(c net.Conn) {
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*certificate}}).Handshake()
		})
		_, _, err = b.open(t, nil).Load(b.context(t), b.url(pageHost, "/"))
		if err == nil || !strings.Contains(err.Error(), `negotiated "", want "h2"`) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestAnswersOverHTTP1(t *testing.T) {
	for _, c := range []struct{ name, answer, failure string }{
		{"counted", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", ""},
		{"in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n3\r\nody\r\n0\r\n\r\n", ""},
		{"up to the end", "HTTP/1.1 200 OK\r\n\r\nbody", ""},
		{"after an interim one", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", ""},
		{"of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", "the response is HTTP/1.0 instead of HTTP/1.1"},
		{"that is not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "read the response's head"},
		{"that never comes", "", "wait for the response: EOF"},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", "read the body after 2 octets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := protocol.Lookup("http/1.1")
			must(t, err)
			b := newBench(t, p, protocol.Archive(objects))
			b.Handle(t, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte(c.answer))
				}
			})
			har, _, err := b.open(t, nil).Load(b.context(t), b.url(pageHost, "/"))
			if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
				t.Fatalf("error is %v, want %q", err, c.failure)
			}
			if r := har.Log.Entries[0].Response; c.failure == "" && (r.BodySize != 4 || r.TransferSize != int64(len(c.answer)) || r.StatusText != "OK") {
				t.Errorf("the response is %+v", r)
			}
		})
	}
}

func TestStranger(t *testing.T) {
	for _, name := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			p, err := protocol.Lookup(name)
			must(t, err)
			b := newBench(t, p, protocol.Archive(objects))
			stranger, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
			must(t, err)
			b.options.Verify = stranger.Verify
			_, _, err = b.open(t, nil).Load(b.context(t), b.url(pageHost, "/"))
			if err == nil || !strings.Contains(err.Error(), "not issued by this authority") {
				t.Errorf("error is %v, want the authority's", err)
			}
		})
	}
}

func TestCancelledLoad(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		began := make(chan struct{}, 100)
		archive := protocol.Archive(objects)
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				began <- struct{}{}
				<-r.Context().Done()
			}
			archive.ServeHTTP(w, r)
		}))
		enough := errors.New("cancelled by the test")
		ctx, cancel := context.WithCancelCause(b.context(t))
		go func() {
			<-began
			cancel(enough)
		}()
		har, _, err := b.open(t, b.urls(pageHost, sizes(20)...)).Load(ctx, b.url(pageHost, "/"))
		if !errors.Is(err, enough) {
			t.Errorf("error is %v, want the cause", err)
		}
		if len(har.Log.Entries) != 21 {
			t.Errorf("%d entries, want 21", len(har.Log.Entries))
		}
		for _, e := range har.Log.Entries[1:] {
			if e.Response.Error != enough.Error() {
				t.Errorf("%s: error %q", e.Request.URL, e.Response.Error)
			}
		}
	})
}

func TestVisitIsClosedOnce(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		v := b.open(t, nil)
		must(t, v.Close())
		if _, _, err := v.Load(b.context(t), b.url(pageHost, "/")); !errors.Is(err, session.ErrClosed) {
			t.Errorf("loading with a closed visit: %v", err)
		}
		v = b.open(t, nil)
		_, _, err := v.Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		must(t, v.Close())
		must(t, v.Close())
	})
}
