package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/panics"
)

// readSize is how much of a body is read at a time: at least a frame of HTTP/2,
// which would otherwise be acknowledged in parts.
const readSize = 32 << 10

// The limits on what comes before the content of a response.
const (
	// mostHead is the most octets of a response's head, and of the interim ones before it over HTTP/1.1: as in Chromium
	// (HttpStreamParser::kMaxHeaderBufSize, kSpdyMaxHeaderListSize).
	mostHead = 256 << 10
	// mostInterims is the most interim responses to a request.
	mostInterims = 100
)

// Priority is how urgent a request is: Chromium's net::RequestPriority, from Idle to
// Highest.
type Priority int

// The priorities, least first.
const (
	Idle Priority = iota
	Lowest
	Low
	Medium
	Highest
)

// Request is a resource to fetch.
type Request struct {
	// HTTP is the request to send. Its context cancels it, and its URL has the
	// scheme of the session's protocol. The session does not change it. A body is
	// sent again only if GetBody is set.
	HTTP *http.Request
	// Priority determines the order in the queue and the SPDY priority. For HTTP/2 and
	// HTTP/3 the caller sets the header field (RFC 9218).
	Priority Priority
	// Anonymous requests carry no credentials and use separate connections, as in
	// browsers (Fetch standard, "obtain a connection").
	Anonymous bool
	Handler   Handler
}

// Handler receives a response as it arrives. The session calls it on its own
// goroutines, one call at a time for each request, and reads no more from the
// connection until it returns. It may call Fetch.
type Handler interface {
	// Interim receives a response of status 1xx before the final one, such as 103
	// Early Hints (RFC 8297): 100 at most, or the exchange fails.
	Interim(*http.Response)
	// Head receives the final response. Its Body is nil.
	Head(*http.Response)
	// Data receives the next part of the content, which is valid only during the
	// call. Content codings are not decoded. An error ends the exchange with that
	// error, whatever else the server sends.
	Data([]byte) error
	// End is called once, and last. An error means that there was no response, or
	// only a part of one. The handler may keep the record.
	End(*Exchange, error)
}

// Exchange is the record of a request and its response. Moments are zero, and
// durations -1, if they do not apply or if another request records them.
type Exchange struct {
	Started  time.Time // Fetch was called
	Sending  time.Time // a connection was ready
	Sent     time.Time
	Answered time.Time // the response, or an interim one before it, began to arrive
	Ended    time.Time // it was complete, or failed

	Connection int    // its number, from 1; 0: none
	Remote     string // IP address
	First      bool   // the first over its connection

	DNS     time.Duration // the DNS look-up, recorded by the first request to an origin
	Connect time.Duration // opening the connection, TLS and QUIC included
	SSL     time.Duration // the TLS part of Connect; all of it for QUIC, which has one handshake

	Transferred int64  // octets of head and content as transferred; -1: unknown
	Body        int64  // octets of content
	Proto       string // protocol.Protocol.Spoken of its row
	Resumed     bool   // its connection resumed a TLS session
	EarlyData   bool   // it was sent as 0-RTT and the server accepted it
	Pushed      bool   // the server pushed the response
}

// Timings splits the time of a request, total in all, into HAR's phases. The time
// before and between the known moments counts as blocked, so that the phases add
// up to the total.
func (e *Exchange) Timings(total time.Duration) capture.Timings {
	p := capture.Timings{Blocked: milliseconds(total), DNS: -1, Connect: -1, SSL: -1}
	if e.Answered.IsZero() {
		return p
	}
	tell := func(d time.Duration) float64 {
		if d < 0 {
			return -1
		}
		return milliseconds(d)
	}
	p.DNS, p.Connect, p.SSL = tell(e.DNS), tell(e.Connect), tell(e.SSL)
	p.Send = milliseconds(e.Sent.Sub(e.Sending))
	p.Wait = milliseconds(e.Answered.Sub(e.Sent))
	p.Receive = milliseconds(e.Ended.Sub(e.Answered))
	p.Blocked = max(0, p.Blocked-max(0, p.DNS)-max(0, p.Connect)-p.Send-p.Wait-p.Receive)
	return p
}

// exchange is a request in flight.
type exchange struct {
	Exchange
	*Request
	ctx    context.Context
	number int // in the order of Fetch
	// calls is held while Fetch or the handler runs.
	calls sync.Mutex
	over  bool // the handler has finished; guarded by calls
	// interims counts interim responses; guarded by calls.
	interims int

	// Guarded by the session's lock.
	origin    *origin
	abort     func() // ends it on its connection; nil: its context ends it
	forgotten bool   // its response is discarded
}

func newExchange(s *Session, r *Request) *exchange {
	x := &exchange{Request: r, ctx: r.HTTP.Context()}
	x.Exchange = blank(time.Now(), s.options.Protocol.Spoken)
	return x
}

// reset restarts a request, but keeps the record of its look-up.
func (x *exchange) reset() {
	dns := x.DNS
	x.Exchange = blank(x.Started, x.Proto)
	x.DNS = dns
}

// blank returns the record of a request to which nothing has happened yet.
func blank(started time.Time, proto string) Exchange {
	return Exchange{Started: started, DNS: -1, Connect: -1, SSL: -1, Transferred: -1, Proto: proto}
}

// call runs f unless the handler has finished.
func (x *exchange) call(f func()) {
	x.calls.Lock()
	defer x.calls.Unlock()
	if !x.over {
		panics.From(x.ctx).Call(f) // net/http calls some of these on its own goroutines
	}
}

// interim hands an interim response to the handler.
func (x *exchange) interim(r *http.Response) (err error) {
	x.call(func() {
		if x.interims++; x.interims > mostInterims {
			err = fmt.Errorf("more than %d interim responses", mostInterims)
			return
		}
		x.Handler.Interim(r)
	})
	return err
}

// end completes a request. The cause of a cancelled context is more informative
// than its symptom, a closed connection.
func (x *exchange) end(err error) {
	x.Ended = time.Now()
	if cause := context.Cause(x.ctx); cause != nil && err != nil {
		err = cause
	}
	x.call(func() {
		x.over = true
		x.Handler.End(&x.Exchange, err)
	})
}

// read reads a response whose head has arrived.
func (x *exchange) read(response *http.Response) error {
	body := response.Body
	defer body.Close()
	head := *response
	head.Body = nil
	x.call(func() { x.Handler.Head(&head) })
	buffer := make([]byte, readSize)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			x.Body += int64(n)
			var refused error
			x.call(func() { refused = x.Handler.Data(buffer[:n]) })
			if refused != nil {
				return refused
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the body after %d octets: %w", x.Body, err)
		}
	}
	if want := response.ContentLength; want >= 0 && want != x.Body && hasBody(x.HTTP, response) {
		return fmt.Errorf("read the body after %d octets: ended early, Content-Length is %d", x.Body, want)
	}
	return nil
}

// hasBody reports whether a Content-Length is that of the response itself (RFC
// 9110 section 8.6).
func hasBody(r *http.Request, response *http.Response) bool {
	return r.Method != http.MethodHead && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusNotModified
}

// final reads responses up to the first that is not an interim one; interim
// ones have no content (RFC 9110 section 15.2).
func (x *exchange) final(read func() (*http.Response, error)) (*http.Response, error) {
	for {
		response, err := read()
		if err != nil || response.StatusCode >= http.StatusOK {
			return response, err
		}
		if x.Answered.IsZero() {
			x.Answered = time.Now()
		}
		head := *response // the next one may overwrite it
		head.Body = nil
		if err := x.interim(&head); err != nil {
			return nil, err
		}
	}
}

// repeatable reports whether the request can be sent again.
func (x *exchange) repeatable() bool {
	return x.HTTP.Body == nil || x.HTTP.Body == http.NoBody || x.HTTP.GetBody != nil
}

// message returns the request to send, with an unread body.
func (x *exchange) message() *http.Request {
	if x.HTTP.GetBody == nil {
		return x.HTTP
	}
	body, err := x.HTTP.GetBody()
	if err != nil {
		return x.HTTP
	}
	m := *x.HTTP
	m.Body = body
	return &m
}
