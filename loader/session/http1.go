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

// http1 is a connection of HTTP/1.1 (RFC 9112). net/http's own transport lets idle
// connections race against new ones; this one must not.
type http1 struct {
	net.Conn
	conn      *conn
	transport net.Conn // below TLS
	received  *counter
	in        *bufio.Reader
	broken    atomic.Bool
	asked     atomic.Bool   // a request was written
	ahead     chan struct{} // closed once something has arrived; nil: nobody looks for it
}

// counter counts the octets that are read through it.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *conn) establishHTTP1() error {
	transport, secured, err := c.dial()
	if err != nil {
		return err
	}
	received := &counter{Reader: secured}
	h := &http1{Conn: secured, conn: c, transport: transport, received: received, in: bufio.NewReader(received)}
	c.carrier = h
	if c.row.ALPN != "" {
		h.ahead = make(chan struct{})
		c.origin.session.running.Go(h.lookAhead)
	}
	return nil
}

// lookAhead reads before there is something to read, so that the tickets for TLS
// sessions are taken in that come behind the handshake, also where no request follows.
// Chromium does so (DoPeek in net/socket/ssl_client_socket_impl.cc).
func (h *http1) lookAhead() {
	defer close(h.ahead)
	_, _ = h.in.Peek(1) // an error comes again when the answer is read
	if !h.asked.Load() {
		h.broken.Store(true) // it is closed, or nobody has asked for what is there
	}
}

// consumed is how many octets of answers have been taken off the connection.
func (h *http1) consumed() int64 { return h.received.n - int64(h.in.Buffered()) }

func (h *http1) send(x *exchange) (func() error, error) {
	h.conn.aborts(x, func() { _ = h.cut() })
	h.write(x)
	return func() error {
		err := h.receive(x)
		if h.in.Buffered() > 0 {
			h.broken.Store(true) // nobody has asked for what is there
		}
		return err
	}, nil
}

func (h *http1) write(x *exchange) {
	x.Sending = time.Now()
	h.asked.Store(true)
	// An error shows when the answer is read.
	_ = x.message().Write(h.Conn)
	x.Sent = time.Now()
}

// receive takes in the answer to x. Unless all is well with it, the connection does
// not carry another request.
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
	response, err := x.final(func() (*http.Response, error) { return http.ReadResponse(h.in, x.HTTP) })
	if err != nil {
		return fmt.Errorf("read the response's head: %w", err)
	}
	if response.Proto != "HTTP/1.1" {
		return fmt.Errorf("the answer is %s, not HTTP/1.1", response.Proto)
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

// cut closes the connection without a word, to which there could be an answer.
func (h *http1) cut() error {
	h.broken.Store(true)
	return closeConn(h.transport)
}
