package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// Limits protect a server from clients that waste its connections and memory. A zero field
// means the default.
type Limits struct {
	// Connections is how many may be open over all ports: 512. One more closes that which
	// has been without a request for the longest time; if all have requests under way, it
	// is itself closed.
	Connections int
	// Head is how long a client may take for the TLS or QUIC handshake, and for the head of
	// a request once it has begun: 10 s.
	Head time.Duration
	// HeadBytes is the longest head of a request: 64 KiB.
	HeadBytes int
	// Idle is how long a connection may be without a request: 2 min.
	Idle time.Duration
	// Stall is how long a client may accept nothing of a response, or send nothing of a
	// request's body: 1 min.
	Stall time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, DefaultConnections)
	l.Head = cmp.Or(l.Head, 10*time.Second)
	l.HeadBytes = cmp.Or(l.HeadBytes, 64<<10)
	l.Idle = cmp.Or(l.Idle, 2*time.Minute)
	l.Stall = cmp.Or(l.Stall, time.Minute)
	return l
}

// DefaultConnections is the default of Limits.Connections.
const DefaultConnections = 512

// connections are the open ones of a server.
type connections struct {
	most int
	full func() // called when a connection is closed because there are too many

	mu    sync.Mutex
	turns int64 // joins and ends of requests so far
	open  map[*connection]bool
}

// connection is an open connection of a client, over TCP or QUIC.
type connection struct {
	all   *connections
	abort func() error

	// Both are guarded by all.mu.
	requests int   // under way
	turn     int64 // of its beginning, or of the end of its last request
}

// join counts a new connection, or reports that there is no room for it.
func (a *connections) join(c *connection) bool {
	a.mu.Lock()
	full := len(a.open) >= a.most
	var oldest *connection
	if full {
		oldest = a.oldest()
		delete(a.open, oldest)
	}
	room := !full || oldest != nil
	if a.turns++; room {
		c.turn = a.turns
		a.open[c] = true
	}
	a.mu.Unlock()
	if full {
		a.full()
	}
	if oldest != nil {
		_ = oldest.abort()
	}
	return room
}

// oldest returns the connection that has been without a request for the longest time, or
// nil if all have requests under way.
func (a *connections) oldest() (first *connection) {
	for c := range a.open {
		if c.requests == 0 && (first == nil || c.turn < first.turn) {
			first = c
		}
	}
	return first
}

func (c *connection) leave() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	delete(c.all.open, c)
}

// request counts a request until the returned function is called.
func (c *connection) request() (end func()) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.requests++
	return func() {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.requests--
		c.all.turns++
		c.turn = c.all.turns
	}
}

// limitedListener accepts connections as far as there is room.
type limitedListener struct {
	net.Listener
	all *connections
}

func (l limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		counted := &countedConn{Conn: c, connection: connection{all: l.all, abort: c.Close}}
		if l.all.join(&counted.connection) {
			return counted, nil
		}
		_ = c.Close()
	}
}

// countedConn is a connection over TCP that counts until it is closed.
type countedConn struct {
	net.Conn
	connection connection
}

func (c *countedConn) Close() error {
	c.connection.leave()
	return c.Conn.Close()
}

type connectionKey struct{}

// overTCP makes a request's context name its connection, as http.Server.ConnContext.
func (a *connections) overTCP(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, &c.(*countedConn).connection)
}

// overQUIC counts a new connection, as http3.Server.ConnContext.
func (a *connections) overQUIC(ctx context.Context, q *quic.Conn) context.Context {
	c := &connection{all: a, abort: func() error { return q.CloseWithError(excessiveLoad, "too many connections") }}
	if !a.join(c) {
		_ = c.abort()
		return ctx
	}
	context.AfterFunc(q.Context(), c.leave)
	return context.WithValue(ctx, connectionKey{}, c)
}

// excessiveLoad is H3_EXCESSIVE_LOAD (RFC 9114 section 8.1).
const excessiveLoad = 0x0107

// limited answers requests with a handler, as long as their clients go on accepting what
// it writes.
type limited struct {
	handler http.Handler
	stall   time.Duration
}

func (l limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		defer c.request()()
	}
	patient := &patientWriter{
		ResponseWriter: w, control: http.NewResponseController(w), stall: l.stall, body: r.ProtoMajor == 1 && r.Body != http.NoBody,
	}
	patient.wait()
	l.handler.ServeHTTP(patient, r)
}

// patientWriter gives the client some time for each piece of what is written.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	body    bool // of an HTTP/1 request: net/http reads it to its end if the handler does not
}

// piece is how many octets the client has to accept in one stall time.
const piece = 32 << 10

// wait gives the client a stall time from now on. All protocols have deadlines.
func (w *patientWriter) wait() {
	end := time.Now().Add(w.stall)
	_ = w.control.SetWriteDeadline(end)
	if w.body {
		_ = w.control.SetReadDeadline(end)
	}
}

func (w *patientWriter) WriteHeader(status int) {
	w.wait()
	w.ResponseWriter.WriteHeader(status)
}

func (w *patientWriter) Write(b []byte) (written int, err error) {
	for first := true; err == nil && (first || len(b) > 0); first = false {
		part := b[:min(piece, len(b))]
		w.wait()
		n := 0
		n, err = w.ResponseWriter.Write(part)
		written, b = written+n, b[n:]
	}
	return written, err
}

// Unwrap supports http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
