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
)

// readSize is how much of a body is read at a time: no less than a frame of HTTP/2,
// which would be acknowledged in parts otherwise.
const readSize = 32 << 10

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

// Request is a resource to be fetched.
type Request struct {
	// HTTP is what is sent. Its context cancels it, and its URL has the scheme of
	// the session's protocol. It is not changed. A body is sent again only if
	// GetBody is set.
	HTTP *http.Request
	// Priority decides on the order of the queue and on SPDY's priority. HTTP/2 and
	// HTTP/3 have a header field for it, which is the caller's (RFC 9218).
	Priority Priority
	// Anonymous requests carry no credentials, and have connections of their own, as
	// browsers keep the two apart (Fetch standard, "obtain a connection").
	Anonymous bool
	Handler   Handler
}

// Handler is told of an answer as it arrives. It is called on goroutines of the
// session, for one request one call at a time, and holds back its connection until
// it returns. It may call Fetch.
type Handler interface {
	// Interim is an answer of status 1xx before the final one, as of 103 Early Hints
	// (RFC 8297).
	Interim(*http.Response)
	// Head is the final answer. Its Body is nil.
	Head(*http.Response)
	// Data is the next part of its content, which is valid during the call. Content
	// codings are not undone.
	Data([]byte)
	// End comes once, and last. An error means that there was no answer, or not the
	// whole of it. The record is the handler's to keep.
	End(*Exchange, error)
}

// Exchange is the record of a request and its answer. Moments are zero, and
// durations -1, where it did not come to that or where another request tells of it.
type Exchange struct {
	Started  time.Time // Fetch was called
	Sending  time.Time // a connection was ready for it
	Sent     time.Time
	Answered time.Time // the answer, or an interim one before it, began to arrive
	Ended    time.Time // it had arrived whole, or failed

	Connection int    // its number, from 1; 0: it did not come to one
	Remote     string // IP address
	First      bool   // over its connection

	DNS     time.Duration // the look-up, told by the first request to an origin
	Connect time.Duration // opening the connection, TLS and QUIC included
	SSL     time.Duration // of it, TLS; all of it for QUIC, whose handshakes are one

	Transferred int64  // octets of head and content as they came; -1: not known
	Body        int64  // octets of content
	Proto       string // protocol.Protocol.Spoken of the row it went over
	Resumed     bool   // its connection resumed a TLS session
	EarlyData   bool   // it was sent as 0-RTT, and the server took it
	Pushed      bool   // the server sent the answer before it was asked for
}

// Timings splits the time of a request, total in all, into HAR's phases. What lies
// before and between the moments that are known is time that the request was held
// up, so that the phases add up to the whole.
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

// exchange is a request that is under way.
type exchange struct {
	Exchange
	*Request
	ctx    context.Context
	number int // in the order of Fetch
	// calls is held while Fetch runs and while the handler does.
	calls sync.Mutex
	over  bool // the handler is through with it; guarded by calls

	// Guarded by the session's lock.
	origin    *origin
	abort     func() // ends it on its connection; nil: its context does
	forgotten bool   // its answer is thrown away
}

func newExchange(s *Session, r *Request) *exchange {
	x := &exchange{Request: r, ctx: r.HTTP.Context()}
	x.Exchange = blank(time.Now(), s.options.Protocol.Spoken)
	return x
}

// reset has a request begin anew; what it has told of the look-up it still tells.
func (x *exchange) reset() {
	dns := x.DNS
	x.Exchange = blank(x.Started, x.Proto)
	x.DNS = dns
}

// blank is the record of a request to which nothing has happened yet.
func blank(started time.Time, proto string) Exchange {
	return Exchange{Started: started, DNS: -1, Connect: -1, SSL: -1, Transferred: -1, Proto: proto}
}

// call has the handler do something, unless it is through with the request.
func (x *exchange) call(f func()) {
	x.calls.Lock()
	defer x.calls.Unlock()
	if !x.over {
		f()
	}
}

func (x *exchange) interim(r *http.Response) { x.call(func() { x.Handler.Interim(r) }) }

// end is the last that happens to a request. Why its context ended tells more than
// the symptom, a closed connection.
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

// read takes in an answer whose head has arrived.
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
			x.call(func() { x.Handler.Data(buffer[:n]) })
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the body after %d octets: %w", x.Body, err)
		}
	}
	if want := response.ContentLength; want >= 0 && want != x.Body && hasBody(x.HTTP, response) {
		return fmt.Errorf("read the body after %d octets: it has ended, and Content-Length is %d", x.Body, want)
	}
	return nil
}

// hasBody tells whether a Content-Length is that of the answer itself (RFC 9110
// section 8.6).
func hasBody(r *http.Request, response *http.Response) bool {
	return r.Method != http.MethodHead && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusNotModified
}

// final reads answers up to the first that is not an interim one, which have no
// content (RFC 9110 section 15.2).
func (x *exchange) final(read func() (*http.Response, error)) (*http.Response, error) {
	for {
		response, err := read()
		if err != nil || response.StatusCode >= http.StatusOK {
			return response, err
		}
		if x.Answered.IsZero() {
			x.Answered = time.Now()
		}
		head := *response // the next one may come in its place
		head.Body = nil
		x.interim(&head)
	}
}

// repeatable tells whether the request can be sent once more.
func (x *exchange) repeatable() bool {
	return x.HTTP.Body == nil || x.HTTP.Body == http.NoBody || x.HTTP.GetBody != nil
}

// message is the request as it is sent, with a body that was not read yet.
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
