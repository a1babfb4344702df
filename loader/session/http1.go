package session

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// http1 is an HTTP/1.1 connection (RFC 9112). net/http's own transport lets idle
// connections race with new ones; this one must not.
type http1 struct {
	net.Conn
	conn      *conn
	transport net.Conn // below TLS
	received  *counter
	in        *bufio.Reader
	broken    atomic.Bool
	asked     atomic.Bool   // a request was written
	ahead     chan struct{} // closed once something has arrived; nil: no look-ahead
}

// counter counts the octets read through it.
type counter struct {
	io.Reader
	n    int64
	most int64 // n may not exceed it; 0: no limit
}

func (c *counter) Read(b []byte) (int, error) {
	if c.most > 0 {
		left := c.most - c.n
		if left <= 0 {
			return 0, errHead
		}
		b = b[:min(int64(len(b)), left)]
	}
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

var errHead = fmt.Errorf("it has more than %d octets", mostHead)

func (c *conn) establishHTTP1() error {
	transport, secured, err := c.dial()
	if err != nil {
		return err
	}
	h := c.http1(transport, secured)
	c.carrier = h
	if c.row.ALPN != "" {
		h.ahead = make(chan struct{})
		c.origin.session.running.Go(h.lookAhead)
	}
	return nil
}

// http1 returns HTTP/1.1 on an open connection.
func (c *conn) http1(transport, secured net.Conn) *http1 {
	received := &counter{Reader: secured}
	return &http1{Conn: secured, conn: c, transport: transport, received: received, in: bufio.NewReader(received)}
}

// lookAhead reads before a response is due, so that the session tickets after the
// handshake are received even if no request follows. Chromium does the same (DoPeek in
// net/socket/ssl_client_socket_impl.cc).
func (h *http1) lookAhead() {
	defer close(h.ahead)
	_, _ = h.in.Peek(1) // an error recurs when the response is read
	if !h.asked.Load() {
		h.broken.Store(true) // it is closed, or has sent unrequested data
	}
}

// consumed returns how many octets of responses have been read off the
// connection.
func (h *http1) consumed() int64 { return h.received.n - int64(h.in.Buffered()) }

func (h *http1) send(x *exchange) (func() error, error) {
	h.conn.aborts(x, func() { _ = h.cut() })
	h.write(x)
	return func() error {
		err := h.receive(x)
		if h.in.Buffered() > 0 {
			h.broken.Store(true) // unrequested data
		}
		return err
	}, nil
}

func (h *http1) write(x *exchange) {
	x.Sending = time.Now()
	h.asked.Store(true)
	// An error shows when the response is read.
	_ = x.message().Write(h.Conn)
	x.Sent = time.Now()
}

// receive reads the response to x. Unless all is well, the connection carries no
// further request.
func (h *http1) receive(x *exchange) error {
	h.broken.Store(true)
	if h.ahead != nil {
		<-h.ahead
	}
	before := h.consumed()
	if _, err := h.in.Peek(1); err != nil {
		return fmt.Errorf("wait for the response: %w", err)
	}
	x.Answered = time.Now()
	h.received.most = before + mostHead
	response, err := x.final(func() (*http.Response, error) { return http.ReadResponse(h.in, x.HTTP) })
	h.received.most = 0
	if err != nil {
		return fmt.Errorf("read the response's head: %w", err)
	}
	response.Body = io.NopCloser(response.Body) // net/http's Close would read an unwanted body to its end
	if response.Proto != "HTTP/1.1" {
		return fmt.Errorf("the response is %s instead of HTTP/1.1", response.Proto)
	}
	err = x.read(response)
	x.Transferred = h.consumed() - before
	h.broken.Store(err != nil || response.Close)
	return err
}

func (h *http1) usable() bool { return !h.broken.Load() }

func (h *http1) close() error {
	if h.conn.ctx.Err() != nil {
		return h.cut()
	}
	h.broken.Store(true)
	return closeConn(h.Conn)
}

// cut closes the connection without a close_notify, which the server might
// answer.
func (h *http1) cut() error {
	h.broken.Store(true)
	return closeConn(h.transport)
}
