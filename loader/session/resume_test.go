package session

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// eachTLS runs a test for every protocol over TLS.
func eachTLS(t *testing.T, test func(t *testing.T, p protocol.Protocol)) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		if p.ALPN != "" {
			test(t, p)
		}
	})
}

// TestResumption uses servers that issue tickets: each connection after
// Disconnect resumes, whatever the dates of the certificate. A TLS 1.2 session is resumed
// again and again, since servers issue no other when they resume. A new session starts cold.
func TestResumption(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, c := range []struct {
		name        string
		from, until time.Duration
		tickets     bool
		version     uint16
	}{
		{"a valid certificate", -year, year, true, tls.VersionTLS13},
		{"one of the future", year, 2 * year, true, tls.VersionTLS13},
		{"one of the past", -2 * year, -year, true, tls.VersionTLS13},
		{"no tickets", -year, year, false, tls.VersionTLS13},
		{"TLS 1.2", -year, year, true, tls.VersionTLS12},
		{"TLS 1.2, one of the past", -2 * year, -year, true, tls.VersionTLS12},
		{"TLS 1.2, no tickets", -year, year, false, tls.VersionTLS12},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTLS(t, func(t *testing.T, p protocol.Protocol) {
				if c.version == tls.VersionTLS12 && p.Transport == "udp" {
					return
				}
				b := newBench(t, p)
				b.options.TLS12 = c.version == tls.VersionTLS12
				var pair tls.Certificate
				now := time.Now()
				pair, b.options.Verify = certificate(t, now.Add(c.from), now.Add(c.until), pageHost)
				seen := make(chan bool, 10)
				b.serveTLS(t, &tls.Config{Certificates: []tls.Certificate{pair}, MaxVersion: c.version, SessionTicketsDisabled: !c.tickets}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					seen <- r.TLS.DidResume
					path(w, r)
				}))
				s := b.session(t)
				for visit := range 3 {
					a := get(t, s, b.url(pageHost, "/x"), Highest).wait(t)
					must(t, a.err)
					want := c.tickets && visit > 0
					if got := <-seen; got != want || a.record.Resumed != want || a.record.EarlyData || !a.record.First || a.record.SSL < 0 {
						t.Errorf("visit %d: resumed at the server: %v, want %v; the record is %+v", visit, got, want, a.record)
					}
					must(t, s.Disconnect())
				}
				if len(b.Lookups()) != 1 {
					t.Errorf("looked up %v, want the name once", b.Lookups())
				}
				a := get(t, b.session(t), b.url(pageHost, "/x"), Highest).wait(t)
				if must(t, a.err); <-seen || a.record.Resumed {
					t.Error("another session resumed")
				}
			})
		})
	}
}

// TestEarlyData uses HTTP/3 servers that accept or reject 0-RTT; a server with
// changed limits must reject it (RFC 9000 section 7.4.1). Every request arrives
// exactly once.
func TestEarlyData(t *testing.T) {
	for _, c := range []struct {
		name            string
		early           bool // Options.EarlyData
		refuse          bool
		method          string
		resumed, asked0 bool // in the second visit
	}{
		{"taken", true, false, http.MethodGet, true, true},
		{"refused", true, true, http.MethodGet, true, false},
		{"not safe", true, false, http.MethodPost, true, false},
		{"off", false, false, http.MethodGet, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, row(t, "h3"))
			b.options.EarlyData = c.early
			type seen struct {
				path  string
				early bool
			}
			requests := make(chan seen, 100)
			speak := sync.OnceFunc(b.mute.Unlock)
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.asked0 && r.URL.Path == "/100" {
					speak()
				}
				requests <- seen{r.URL.Path, !r.TLS.HandshakeComplete}
				path(w, r)
			})
			config := &tls.Config{}
			change := b.serveQUIC(t, config, handler)
			s := b.session(t)
			a := get(t, s, b.url(pageHost, "/first"), Highest).wait(t)
			must(t, a.err)
			if a.record.Resumed || a.record.EarlyData || (<-requests).early {
				t.Errorf("the first visit was not cold: %+v", a.record)
			}
			must(t, s.Disconnect())
			if c.refuse {
				change()
			}
			if c.asked0 {
				// Without an answer to its handshake until a request has come, the client
				// cannot be too late for 0-RTT, however busy the machine.
				b.mute.Lock()
				defer speak()
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var answers []*answer
			for range 5 {
				answers = append(answers, fetch(t, ctx, s, c.method, b.url(pageHost, "/100"), Highest, nil))
			}
			early := false
			for i, a := range answers {
				must(t, a.wait(t).err)
				if len(a.body) != 100 || a.record.Resumed != c.resumed {
					t.Errorf("answer %d has %d octets, want 100: %+v", i, len(a.body), a.record)
				}
				early = early || a.record.EarlyData
			}
			if early != c.asked0 {
				t.Errorf("some request was sent as 0-RTT: %v, want %v", early, c.asked0)
			}
			count := 0
			for len(requests) > 0 {
				r := <-requests
				count++
				if r.early && !c.asked0 {
					t.Errorf("%s came as 0-RTT", r.path)
				}
			}
			if count != len(answers) {
				t.Errorf("%d requests arrived, want %d", count, len(answers))
			}
			if got := s.Connections(); got != 2 {
				t.Errorf("%d connections, want 2", got)
			}
		})
	}
}

// TestContentWhere0RTTIsRejected posts content as the first request on a resumed connection whose server rejects 0-RTT.
// The request arrives once, over the same connection.
func TestContentWhere0RTTIsRejected(t *testing.T) {
	b := newBench(t, row(t, "h3"))
	b.options.EarlyData = true
	received := make(chan string, 10)
	refuse := b.serveQUIC(t, &tls.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		received <- r.Method + " " + string(content)
		path(w, r)
	}))
	s := b.session(t)
	must(t, get(t, s, b.url(pageHost, "/first"), Highest).wait(t).err)
	<-received
	must(t, s.Disconnect())
	refuse()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url(pageHost, "/100"), strings.NewReader("content"))
	must(t, err)
	a := &answer{ended: make(chan struct{})}
	s.Fetch(&Request{HTTP: r, Priority: Highest, Handler: a})
	if must(t, a.wait(t).err); len(a.body) != 100 || !a.record.Resumed || a.record.EarlyData {
		t.Errorf("the answer has %d octets, want 100: %+v", len(a.body), a.record)
	}
	if got := <-received; got != "POST content" || len(received) > 0 {
		t.Errorf("the server received %q and %d more requests, want one POST with its content", got, len(received))
	}
	if got := s.Connections(); got != 2 {
		t.Errorf("%d connections, want 2", got)
	}
}

// TestEarlyGate checks that what arrives is held back from the moment at which there is a key for 0-RTT until the
// control stream is on its way, or its server's limits block it.
func TestEarlyGate(t *testing.T) {
	sent := func(frame any) qlogwriter.Event { return qlog.PacketSent{Frames: []qlog.Frame{{Frame: frame}}} }
	key := qlog.KeyUpdated{KeyType: qlog.KeyTypeClient0RTT}
	for _, c := range []struct {
		name   string
		events []qlogwriter.Event
		held   bool
	}{
		{"no 0-RTT", []qlogwriter.Event{qlog.KeyUpdated{KeyType: qlog.KeyTypeClientInitial}}, false},
		{"0-RTT", []qlogwriter.Event{key}, true},
		{"a request", []qlogwriter.Event{key, sent(&qlog.StreamFrame{StreamID: 0})}, true},
		{"the control stream", []qlogwriter.Event{key, sent(&qlog.StreamFrame{StreamID: 2})}, false},
		{"the control stream is blocked", []qlogwriter.Event{key, sent(&qlog.StreamDataBlockedFrame{StreamID: 2})}, false},
		{"the connection is blocked", []qlogwriter.Event{key, sent(&qlog.DataBlockedFrame{})}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newEarlyGate()
			for _, e := range c.events {
				g.RecordEvent(e)
			}
			held := g.early.Load()
			select {
			case <-g.opened:
				held = false
			default:
			}
			if held != c.held {
				t.Errorf("held back: %v, want %v", held, c.held)
			}
			g.open() // as at the connection's end
			g.wait()
		})
	}
}

// TestTLSVersion has servers that speak one version of TLS only: a session accepts the one that it was told to use.
func TestTLSVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		tls12   bool // the session's
		server  uint16
		failure string
	}{
		{"TLS 1.3", false, tls.VersionTLS13, ""},
		{"TLS 1.2", true, tls.VersionTLS12, ""},
		{"TLS 1.2 from a server that has 1.3 alone", true, tls.VersionTLS13, "negotiated TLS 1.3, want TLS 1.2"},
		{"TLS 1.3 from a server that has 1.2 alone", false, tls.VersionTLS12, "protocol version not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTLS(t, func(t *testing.T, p protocol.Protocol) {
				if p.Transport == "udp" {
					return
				}
				b := newBench(t, p)
				b.options.TLS12 = c.tls12
				versions := make(chan uint16, 1)
				b.serveTLS(t, &tls.Config{MinVersion: c.server, MaxVersion: c.server}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					versions <- r.TLS.Version
					path(w, r)
				}))
				err := get(t, b.session(t), b.url(pageHost, "/x"), Highest).wait(t).err
				if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
					t.Fatalf("error %v, want %q", err, c.failure)
				}
				if err == nil && <-versions != c.server {
					t.Error("the request came over another version")
				}
			})
		})
	}
}
