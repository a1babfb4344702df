package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// connectionsPerHost is how many connections browsers open to one host over
// HTTP/1.1.
const connectionsPerHost = 6

// h1 is HTTP/1.1 (RFC 9112). net/http's own transport lets idle connections
// race against new ones; this one must not.
type h1 struct {
	*origin

	mu    sync.Mutex
	queue []*request // in the order to send them
	idle  []*conn1   // in the order in which they became so
}

// conn1 is one connection, which carries one request at a time.
type conn1 struct {
	net.Conn
	*connection
	received *counter
	in       *bufio.Reader
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

// consumed is how many octets of responses have been taken off the connection.
func (c *conn1) consumed() int64 { return c.received.n - int64(c.in.Buffered()) }

// carry puts connections to work, open ones before new ones, no more than there
// are requests.
func (h *h1) carry(requests []*request) {
	h.mu.Lock()
	h.queue = append(h.queue, requests...)
	n := min(connectionsPerHost, len(h.queue))
	open := min(n, len(h.idle))
	idle := h.idle[:open]
	h.idle = h.idle[open:]
	h.mu.Unlock()
	for i := range n {
		var c *conn1
		if i < open {
			c = idle[i]
		}
		h.visit.start(func() { h.work(c) })
	}
}

// work sends queued requests over c, one after the other, or over a new connection
// where c is nil or does not last.
func (h *h1) work(c *conn1) {
	for {
		if c == nil {
			var err error
			if c, err = h.connect(); err != nil {
				h.mu.Lock()
				rest := h.queue
				h.queue = nil
				h.mu.Unlock()
				h.fail(rest, err)
				return
			}
		}
		r := h.send(c)
		if r == nil {
			return
		}
		reusable, err := h.receive(c, r)
		h.mu.Lock()
		last := len(h.queue) == 0
		if reusable && last {
			h.idle = append(h.idle, c)
		}
		h.mu.Unlock()
		if !reusable {
			_ = c.Close() // its request has told what is wrong with it
			c = nil
		}
		h.end(r, err)
		if last {
			return
		}
	}
}

func (h *h1) connect() (*conn1, error) {
	c, opened, err := h.dial()
	if err != nil {
		return nil, err
	}
	received := &counter{Reader: c}
	return &conn1{c, opened, received, bufio.NewReader(received)}, nil
}

// send writes the next request to c, before any other connection takes another:
// requests go onto the wire in the order of the queue. It returns nil, and keeps c
// for later, if there is none.
func (h *h1) send(c *conn1) *request {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		h.idle = append(h.idle, c)
		return nil
	}
	r := h.queue[0]
	h.queue = h.queue[1:]
	r.over(c.connection)
	r.sending = h.visit.now()
	// An error shows when the response is read.
	_ = r.http.Write(c)
	r.sent = h.visit.now()
	return r
}

// receive reads the response to r and says whether the connection may carry
// another request.
func (h *h1) receive(c *conn1, r *request) (reusable bool, err error) {
	before := c.consumed()
	if _, err := c.in.Peek(1); err != nil {
		return false, fmt.Errorf("wait for the response: %w", err)
	}
	r.answered = h.visit.now()
	response, err := final(func() (*http.Response, error) { return http.ReadResponse(c.in, r.http) })
	if err != nil {
		return false, fmt.Errorf("read the response's head: %w", err)
	}
	if response.Proto != "HTTP/1.1" {
		return false, fmt.Errorf("the answer is %s, not HTTP/1.1", response.Proto)
	}
	err = r.read(response)
	r.transferred = c.consumed() - before
	return err == nil && !response.Close, err
}
