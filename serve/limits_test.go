package serve_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/get"
	"wiretime/serve"
)

// never is longer than any test.
const never = time.Hour

// dial connects to a port over TCP until the test ends.
func dial(t *testing.T, e serve.Endpoint) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", e.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers checks that a well-behaved client is served over each protocol.
func (s served) answers(t *testing.T) {
	t.Helper()
	for _, e := range s.Endpoints() {
		if got, err := fetch(t, get.Config{Protocol: asked(e), Roots: s.roots}, e.URL+"page"); err != nil || !strings.HasPrefix(got, "page") {
			t.Errorf("%s: a well-behaved client got %q, %v", e.Protocol, got, err)
		}
	}
}

var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })

// TestClientsThatSayNothing: connections without a handshake, without a head, or with a head
// that never ends are closed.
func TestClientsThatSayNothing(t *testing.T) {
	s := start(t, serve.Config{Handler: page, Limits: serve.Limits{Head: 300 * time.Millisecond, Idle: 600 * time.Millisecond}})
	for _, e := range s.Endpoints() {
		if e.Protocol == "h3" {
			continue
		}
		secure := strings.HasPrefix(e.URL, "https:")
		for name, begin := range map[string]func(c net.Conn) error{
			"nothing": func(net.Conn) error { return nil },
			"a head that trickles": func(c net.Conn) error {
				if secure {
					c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
				}
				return trickle(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
			},
			"a handshake that trickles": func(c net.Conn) error { return trickle(c, "\x16\x03\x01\x02\x00\x01") },
			"a handshake and nothing more": func(c net.Conn) error {
				if !secure {
					return nil
				}
				offer := strings.TrimPrefix(e.Protocol, "https/")
				switch e.Protocol {
				case "https/1.1", serve.Any:
					offer = "http/1.1"
				}
				return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{offer}}).HandshakeContext(t.Context())
			},
		} {
			t.Run(e.Protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				c := dial(t, e)
				if err := begin(c); err != nil && !gone(err) {
					t.Log(err) // such as a handshake that the server has no patience for
				}
				if _, err := io.Copy(io.Discard, c); err != nil && !gone(err) {
					t.Errorf("not closed by the server: %v", err)
				}
			})
		}
	}
}

// trickle sends a beginning and then an octet now and then until the connection is closed.
func trickle(c net.Conn, beginning string) error {
	_, err := io.WriteString(c, beginning)
	for err == nil {
		<-time.After(10 * time.Millisecond)
		_, err = io.WriteString(c, "x")
	}
	return err
}

// gone reports whether an error is that of a connection that the server has closed.
func gone(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// TestEndlessHead: a head is refused soon after its limit.
func TestEndlessHead(t *testing.T) {
	s := start(t, serve.Config{Handler: page, Limits: serve.Limits{HeadBytes: 16 << 10}})
	c := dial(t, s.Endpoints()[0])
	go func() {
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n")
		for field := "X: " + strings.Repeat("x", 1000) + "\r\n"; err == nil; {
			_, err = io.WriteString(c, field)
		}
	}()
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 431 ") {
		t.Errorf("an endless head is answered %q, %v", line, err)
	}
	for _, e := range s.Endpoints() {
		client, err := get.New(get.Config{Protocol: asked(e), Roots: s.roots})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			r.Header.Set(fmt.Sprint("X-", i), strings.Repeat("abcdefghij", 100))
		}
		answer, err := client.RoundTrip(r)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s: a head of 100 kB is answered %s", e.Protocol, answer.Status)
			}
		}
		_ = client.Close()
	}
	s.answers(t)
}

// TestManyConnections opens many connections that do nothing. They are bounded, the oldest
// ones are closed, and a client beside them is served over each protocol.
func TestManyConnections(t *testing.T) {
	const most, opened = 50, 1000
	s := start(t, serve.Config{Handler: page, Limits: serve.Limits{Connections: most, Head: never, Idle: never}})
	closed := make(chan bool, opened)
	for i := range opened {
		e := s.Endpoints()[i%len(s.Endpoints())]
		if e.Protocol == "h3" {
			e = s.Endpoints()[0]
		}
		c := dial(t, e)
		go func() {
			_, _ = io.Copy(io.Discard, c)
			closed <- true
		}()
	}
	for range opened - most {
		<-closed
	}
	s.answers(t)
	if log := s.log.String(); strings.Count(log, "50 connections are open (--max-connections)") != 1 {
		t.Errorf("the log does not say once that there are too many: %s", log)
	}
}

// TestManyQUICConnections is TestManyConnections over QUIC.
func TestManyQUICConnections(t *testing.T) {
	const most, opened = 5, 20
	s := start(t, serve.Config{Handler: page, Limits: serve.Limits{Connections: most, Head: never, Idle: never}})
	closed := make(chan bool, opened)
	for _, e := range s.Endpoints() {
		if e.Protocol != "h3" {
			continue
		}
		for range opened {
			c, err := quic.DialAddr(t.Context(), e.Address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, &quic.Config{MaxIdleTimeout: never})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseWithError(0, "") }()
			go func() {
				<-c.Context().Done()
				closed <- true
			}()
		}
	}
	for range opened - most {
		<-closed
	}
	s.answers(t)
}

// TestBusyConnectionsStay: connections with requests under way are not closed for others,
// which are refused until there is room.
func TestBusyConnectionsStay(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	s := start(t, serve.Config{Limits: serve.Limits{Connections: 5}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			page(w, r)
			return
		}
		entered <- true
		<-leave
		fmt.Fprint(w, "late")
	})})
	var running sync.WaitGroup
	for _, name := range []string{"http/1.1", "https/1.1", "spdy/3.1", "h2", "h3"} {
		for _, e := range s.Endpoints() {
			if e.Protocol != name {
				continue
			}
			running.Go(func() {
				if got, err := fetch(t, get.Config{Protocol: name, Roots: s.roots}, e.URL); err != nil || got != "late" {
					t.Errorf("%s: got %q, %v", name, got, err)
				}
			})
			<-entered
		}
	}
	if n, err := io.Copy(io.Discard, dial(t, s.Endpoints()[0])); n > 0 || err != nil && !gone(err) {
		t.Errorf("a connection too many got %d octets and %v", n, err)
	}
	close(leave)
	running.Wait()
	s.answers(t)
}

// TestClientsThatDoNotRead: a handler whose client accepts nothing ends, over each protocol.
func TestClientsThatDoNotRead(t *testing.T) {
	ended := make(chan error)
	s := start(t, serve.Config{Limits: serve.Limits{Stall: 300 * time.Millisecond}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 100<<20))
		ended <- err
	})})
	for _, e := range s.Endpoints() {
		t.Run(e.Protocol, func(t *testing.T) {
			client, err := get.New(get.Config{Protocol: asked(e), Roots: s.roots})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.RoundTrip(r) // fails if the stream is reset before the client has seen the head
			if err == nil {
				defer answer.Body.Close()
			}
			if err := <-ended; err == nil {
				t.Error("it wrote 100 MiB to a client that does not read")
			}
			_ = client.Close()
		})
	}
}

// TestBodyThatTrickles: a client cannot keep a connection by a request whose body does not
// end, although the handler reads none of it.
func TestBodyThatTrickles(t *testing.T) {
	s := start(t, serve.Config{Handler: page, Limits: serve.Limits{Stall: 300 * time.Millisecond, Idle: never, Head: never}})
	c := dial(t, s.Endpoints()[0])
	done := make(chan bool)
	go func() {
		_ = trickle(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n") // ends when the server closes
		close(done)
	}()
	if _, err := io.Copy(io.Discard, c); err != nil && !gone(err) {
		t.Error(err)
	}
	<-done
}

// TestLongDownload: a response that takes longer than a stall arrives whole, and its
// connection serves the next request.
func TestLongDownload(t *testing.T) {
	t.Parallel()
	const stall = 2 * time.Second // the server itself may be as slow as that
	s := start(t, serve.Config{Limits: serve.Limits{Stall: stall}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			page(w, r)
			return
		}
		fmt.Fprint(w, "begin ")
		_ = http.NewResponseController(w).Flush()
		<-time.After(stall * 3 / 2) // the server's own time does not count
		fmt.Fprint(w, "end")
	})})
	e := s.Endpoints()[0]
	got, err := fetch(t, get.Config{Protocol: asked(e), Roots: s.roots}, e.URL, e.URL+"page")
	if err != nil || got != "begin endpage" {
		t.Errorf("got %q, %v", got, err)
	}
}
