package session

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// TestBodyCutShort closes the connection in the middle of a body.
func TestBodyCutShort(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p)
		b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/cut" {
				path(w, r)
				return
			}
			w.Header().Set("Content-Length", "200000")
			_, _ = w.Write(make([]byte, 100_000)) // more than the server buffers
			panic(http.ErrAbortHandler)
		}))
		s := b.session(t)
		cut, other := get(t, s, b.url(pageHost, "/cut"), Highest), get(t, s, b.url(pageHost, "/1000"), Medium)
		if cut.wait(t); cut.err == nil || cut.record.Body != int64(len(cut.body)) {
			t.Errorf("error is %v after %d octets", cut.err, len(cut.body))
		}
		// A QUIC stream may be reset before its received data is read.
		if p.Transport == "tcp" && (cut.head == nil || !strings.Contains(fmt.Sprint(cut.err), "read the body after ")) {
			t.Errorf("error is %v, want where the body ended", cut.err)
		}
		if must(t, other.wait(t).err); len(other.body) != 1000 {
			t.Errorf("the other response has %d octets", len(other.body))
		}
	})
}

// TestWrongContentLength uses TLS servers whose responses are longer or shorter than
// announced. A client accepts at most what was announced.
func TestWrongContentLength(t *testing.T) {
	for _, c := range []struct {
		name, length string
		fails        bool
	}{{"right", "1000", false}, {"too long", "2000", true}} {
		t.Run(c.name, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", c.length)
					_, _ = w.Write(make([]byte, 1000))
				}))
				a := get(t, b.session(t), b.url(pageHost, "/"), Highest).wait(t)
				if (a.err != nil) != c.fails || c.fails && !strings.Contains(a.err.Error(), "read the body after 1000 octets") || len(a.body) != 1000 {
					t.Errorf("error is %v after %d octets", a.err, len(a.body))
				}
			})
		})
	}
}

// TestAnswersOverHTTP1 sends a fixed response once, and then closes.
func TestAnswersOverHTTP1(t *testing.T) {
	for _, c := range []struct{ name, answer, body, failure string }{
		{"counted", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "body", ""},
		{"in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n3\r\nody\r\n0\r\n\r\n", "body", ""},
		{"up to the end", "HTTP/1.1 200 OK\r\n\r\nbody", "body", ""},
		{"more than counted", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nbody", "bo", ""},
		{"less than counted", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nbody", "body", "read the body after 4 octets"},
		{"of an impossible length", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nbody", "", "read the response's head"},
		{"a broken chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nbody", "", "read the body after 0 octets"},
		{"of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", "", "the response is HTTP/1.0 instead of HTTP/1.1"},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "", "read the response's head"},
		{"none", "", "", "wait for the response: EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, word := range []string{"browser", "pipelined"} {
				b := newBench(t, row(t, "http/1.1"))
				b.options.Strategy = strategy(t, word)
				b.Handle(t, func(conn net.Conn) {
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						_, _ = conn.Write([]byte(c.answer))
					}
				})
				s := b.session(t)
				for range 2 { // the second finds nothing left of the first
					a := get(t, s, b.url(pageHost, "/"), Highest).wait(t)
					if (a.err != nil) != (c.failure != "") || a.err != nil && !strings.Contains(a.err.Error(), c.failure) || string(a.body) != c.body {
						t.Errorf("%s: error is %v, want %q; the body is %q", word, a.err, c.failure, a.body)
					}
				}
			}
		})
	}
}

// TestPipelining uses a server that answers so many requests of a connection and
// then closes it, although it has read more.
func TestPipelining(t *testing.T) {
	for _, c := range []struct{ perConnection, requests, connections int }{{100, 20, 1}, {7, 20, 3}, {1, 5, 5}} {
		t.Run(fmt.Sprint(c.perConnection, " to a connection"), func(t *testing.T) {
			b := newBench(t, row(t, "http/1.1"))
			b.options.Strategy = strategy(t, "pipelined")
			hold := make(chan struct{})
			b.options.Resolve = holdBack(b.options.Resolve, hold)
			b.Handle(t, func(conn net.Conn) {
				in := bufio.NewReader(conn)
				for range c.perConnection {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.URL.Path), r.URL.Path)
				}
				if end, ok := conn.(*net.TCPConn); ok {
					_ = end.CloseWrite() // unanswered requests must not discard the answers
					_, _ = in.WriteTo(discard{})
				}
			})
			s := b.session(t)
			var answers []*answer
			for i := range c.requests {
				answers = append(answers, get(t, s, b.url(pageHost, fmt.Sprint("/", i)), Medium))
			}
			close(hold)
			for i, a := range answers {
				if must(t, a.wait(t).err); string(a.body) != fmt.Sprint("/", i) {
					t.Errorf("the answer to %d is %q", i, a.body)
				}
			}
			sent := order(answers)
			for k, i := range sent[1:] {
				this, before := answers[i].record, answers[sent[k]].record
				if this.Connection == before.Connection && this.Answered.Before(before.Ended) {
					t.Errorf("response %d came before the end of response %d, which was requested first", i, sent[k])
				}
			}
			if got := s.Connections(); got != c.connections {
				t.Errorf("%d connections, want %d", got, c.connections)
			}
		})
	}
}

// discard is a writer that accepts everything.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestNoAnswer uses servers that accept connections and never send anything, at
// every point where a client waits.
func TestNoAnswer(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p)
		accepted := make(chan struct{}, 10)
		if p.Transport == "udp" {
			socket, err := b.ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
			must(t, err)
			read := make(chan struct{})
			go func() {
				defer close(read)
				buffer := make([]byte, 2000)
				for {
					if _, _, err := socket.ReadFrom(buffer); err != nil {
						return // closed
					}
					select {
					case accepted <- struct{}{}:
					default:
					}
				}
			}()
			t.Cleanup(func() {
				must(t, socket.Close())
				<-read
			})
		} else {
			b.Handle(t, func(c net.Conn) {
				accepted <- struct{}{}
				_, _ = bufio.NewReader(c).WriteTo(discard{})
			})
		}
		s := b.session(t)
		enough := errors.New("cancelled by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := fetch(t, ctx, s, http.MethodGet, b.url(pageHost, "/"), Highest, nil)
		<-accepted
		cancel(enough)
		if a.wait(t); !errors.Is(a.err, enough) {
			t.Errorf("error is %v, want the cause", a.err)
		}
		must(t, s.Close()) // it does not wait for responses
	})
}

// TestLongHello reads ClientHellos off the wire. With the option they have one of the four
// lengths of Chromium's, whatever the length of the host's name.
func TestLongHello(t *testing.T) {
	const chromium = 1709 // octets of Chromium 156's shortest, without the host's name
	lengths := map[int]bool{}
	for _, name := range []string{"h2", "https/1.1", "spdy/3.1"} {
		b := newBench(t, row(t, name))
		b.options.ChromiumSizes = true
		heads := make(chan [9]byte, 1) // of the record, and of the message in it
		b.Handle(t, func(conn net.Conn) {
			var head [9]byte
			_, _ = io.ReadFull(conn, head[:])
			heads <- head
		})
		for range 40 {
			get(t, b.session(t), b.url(pageHost, "/"), Highest).wait(t)
			head := <-heads
			lengths[int(head[6])<<16|int(head[7])<<8|int(head[8])-len(pageHost)] = true
		}
	}
	want := map[int]bool{chromium: true, chromium + 32: true, chromium + 64: true, chromium + 96: true}
	if !maps.Equal(lengths, want) {
		t.Errorf("ClientHellos have %v octets besides the name, want %v", lengths, want)
	}
}

func TestHandshakeOfAnotherProtocol(t *testing.T) {
	for _, c := range []struct {
		server []string
		client string
		want   string
	}{
		{[]string{"http/1.1"}, "h2", "TLS handshake with www.page.test"},
		{[]string{"h2"}, "https/1.1", "TLS handshake with www.page.test"},
		{[]string{"spdy/3"}, "spdy/3.1", "TLS handshake with www.page.test"},
		{nil, "h2", `negotiated "", want "h2"`},
	} {
		t.Run(strings.ReplaceAll(fmt.Sprint(c.client, " of ", c.server), "/", "-"), func(t *testing.T) {
			b := newBench(t, row(t, c.client))
			certificate, err := b.Authority.Certificate(pageHost)
			must(t, err)
			b.Handle(t, func(conn net.Conn) {
				_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: c.server}).Handshake()
			})
			a := get(t, b.session(t), b.url(pageHost, "/"), Highest).wait(t)
			if a.err == nil || !strings.Contains(a.err.Error(), c.want) {
				t.Errorf("error is %v, want %q", a.err, c.want)
			}
		})
	}
}
