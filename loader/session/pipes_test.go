package session

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wiretime/protocol"
	"wiretime/spdy"
)

// pipes is a network in which time passes only where a test says so. Use it in a bubble
// of testing/synctest.
type pipes struct {
	options Options
	began   time.Time
	lookUp  time.Duration
	// connect is how long each dial takes, in their order; the last value applies
	// to all later ones. A negative value means refused after that time.
	connect []time.Duration
	// serve handles one connection, which is closed when it returns.
	serve func(net.Conn)

	mu      sync.Mutex
	dialled []time.Duration // since the beginning
	givenUp int             // dials
	open    int             // the client's connections
	serving sync.WaitGroup
}

func newPipes(p protocol.Protocol, word string) *pipes {
	n := &pipes{began: time.Now(), serve: answerHTTP1}
	s, err := ParseStrategy(word)
	if err != nil {
		panic(err)
	}
	n.options = Options{
		Protocol: p, Strategy: s, Dial: n.dial, Verify: func(tls.ConnectionState) error { return nil },
		Resolve: func(ctx context.Context, _ string) (netip.Addr, error) {
			return netip.MustParseAddr("198.19.1.1"), pass(ctx, n.lookUp)
		},
	}
	return n
}

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errRefused = errors.New("refused")

func (n *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	takes := n.connect[min(len(n.dialled), len(n.connect)-1)]
	n.dialled = append(n.dialled, time.Since(n.began))
	n.mu.Unlock()
	if err := pass(ctx, max(takes, -takes)); err != nil {
		n.mu.Lock()
		n.givenUp++
		n.mu.Unlock()
		return nil, err
	}
	if takes < 0 {
		return nil, errRefused
	}
	client, end := net.Pipe()
	server := &buffered{Conn: end, out: make(chan []byte, 1000), closed: make(chan struct{})}
	n.serving.Go(server.pump)
	n.serving.Go(func() {
		defer server.Close()
		n.serve(server)
	})
	n.mu.Lock()
	n.open++
	n.mu.Unlock()
	return &openPipe{Conn: client, n: n}, nil
}

// buffered is an end of a pipe that accepts writes before the other end reads, like a
// socket.
type buffered struct {
	net.Conn
	out    chan []byte
	once   sync.Once
	closed chan struct{}
}

func (b *buffered) Write(p []byte) (int, error) {
	select {
	case b.out <- slices.Clone(p):
		return len(p), nil
	case <-b.closed:
		return 0, net.ErrClosed
	}
}

func (b *buffered) pump() {
	for {
		select {
		case p := <-b.out:
			_, _ = b.Conn.Write(p)
		case <-b.closed:
			return
		}
	}
}

func (b *buffered) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

type openPipe struct {
	net.Conn
	n    *pipes
	once sync.Once
}

func (p *openPipe) Close() error {
	p.once.Do(func() {
		p.n.mu.Lock()
		p.n.open--
		p.n.mu.Unlock()
	})
	return p.Conn.Close()
}

// answerHTTP1 answers requests with their paths; /slow an hour later.
func answerHTTP1(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if r.URL.Path == "/slow" {
			time.Sleep(time.Hour)
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.URL.Path), r.URL.Path)
	}
}

// overTLS returns a TLS server of a row for given connections.
func overTLS(t *testing.T, p protocol.Protocol) func(net.Conn) {
	certificate, _ := certificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pageHost)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{p.ALPN}}
	return func(c net.Conn) {
		secured := tls.Server(c, config)
		if secured.HandshakeContext(t.Context()) != nil {
			return
		}
		if p.Spoken == "http/1.1" {
			answerHTTP1(secured)
			return
		}
		if v, ok := spdy.ParseVersion(p.ALPN); ok {
			_ = (&spdy.Server{Handler: http.HandlerFunc(path), ErrorLog: log.New(io.Discard, "", 0)}).ServeConn(t.Context(), secured, v)
			return
		}
		l := &single{conn: secured, done: make(chan struct{})}
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		_ = (&http.Server{Handler: http.HandlerFunc(path), Protocols: protocols, ConnState: l.state}).Serve(l)
	}
}

// single is a listener for one connection, and ends with it.
type single struct {
	conn net.Conn
	once sync.Once
	done chan struct{}
}

func (l *single) Accept() (c net.Conn, err error) {
	l.once.Do(func() { c = l.conn })
	if c == nil {
		<-l.done
		err = io.EOF
	}
	return c, err
}

func (l *single) state(_ net.Conn, s http.ConnState) {
	if s == http.StateClosed {
		close(l.done)
	}
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// bubble runs a test in virtual time with a session on pipes, and checks that it
// leaves nothing behind.
func bubble(t *testing.T, p protocol.Protocol, word string, test func(t *testing.T, n *pipes, s *Session)) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(p, word)
		if p.ALPN != "" {
			n.serve = overTLS(t, p)
		}
		s := New(n.options)
		test(t, n, s)
		synctest.Wait()
		s.mu.Lock()
		if s.sockets != n.open || len(s.open) != n.open {
			t.Errorf("the session counts %d sockets and %d connections, but %d are open", s.sockets, len(s.open), n.open)
		}
		s.mu.Unlock()
		must(t, s.Close())
		for _, o := range s.origins {
			if o.connected != nil || len(o.racing) > 0 || o.hands != 0 || o.opening != 0 {
				t.Errorf("left after Close: guard %v, %d racers, %d hands, %d of them opening", o.connected != nil, len(o.racing), o.hands, o.opening)
			}
		}
		n.serving.Wait()
	})
}

// url returns the URL of a path on a host.
func (n *pipes) url(host, path string) string { return n.options.Protocol.Scheme + "://" + host + path }
