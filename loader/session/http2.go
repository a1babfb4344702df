package session

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"wiretime/panics"
)

// http2 is an HTTP/2 connection (RFC 9113) of net/http.
type http2 struct {
	*http.ClientConn
	conn      *conn
	transport net.Conn
}

func (c *conn) establishHTTP2() error {
	transport, secured, err := c.dial()
	if err != nil {
		return err
	}
	framed := secured
	if s := c.origin.session; s.options.NoteWindows {
		framed = s.note(secured)
	}
	protocols := new(http.Protocols)
	// TLS is ours: net/http cannot see it behind the splitter.
	protocols.SetUnencryptedHTTP2(true)
	t := &http.Transport{
		Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: mostHead, HTTP2: c.origin.session.options.http2(),
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return newSplitter(framed), nil },
	}
	client, err := t.NewClientConn(c.ctx, "https", c.remote.String())
	if err != nil {
		_ = closeConn(transport)
		return fmt.Errorf("start HTTP/2 with %s: %w", c.origin.host, err)
	}
	c.carrier = &http2{client, c, transport}
	return nil
}

// http2 returns the windows as net/http's configuration; nil for net/http's own windows.
func (o *Options) http2() *http.HTTP2Config {
	if o.Windows == nil {
		return nil
	}
	c := o.Windows.ClientHTTP2()
	return &c
}

// send returns when the request is written, so that queued requests are sent in
// order.
func (h *http2) send(x *exchange) (func() error, error) {
	sent := make(chan struct{})
	result := make(chan error, 1)
	h.conn.origin.session.running.Go(func() {
		result <- panics.Do(func() error { return h.roundTrip(x, sync.OnceFunc(func() { close(sent) })) })
	})
	<-sent
	return func() error { return <-result }, nil
}

// roundTrip sends x, calls sent once that is done or has failed, and reads the
// response.
func (h *http2) roundTrip(x *exchange, sent func()) error {
	defer sent()
	// The hooks may be called after RoundTrip has returned.
	var sending, wrote, answered moment
	ctx := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		// The first field is written when the server's stream limit allows the
		// request.
		WroteHeaderField: func(string, []string) { sending.first(time.Now()) },
		WroteHeaders: func() {
			wrote.first(time.Now())
			sent()
		},
		Got1xxResponse: x.hooked(&answered, 2),
	})
	response, err := h.ClientConn.RoundTrip(x.message().WithContext(ctx))
	answered.first(time.Now())
	x.Sending, x.Sent = sending.get(), wrote.get()
	if err != nil {
		return err
	}
	if x.Answered = answered.get(); x.Sent.IsZero() || x.Sent.After(x.Answered) {
		x.Sent = x.Answered // the response arrived before the hook was called
	}
	return x.read(response)
}

// hooked returns an httptrace hook that passes interim responses of HTTP/2.0 or HTTP/3.0 on to the handler, and notes
// when the first one arrived.
func (x *exchange) hooked(answered *moment, version int) func(int, textproto.MIMEHeader) error {
	return func(code int, header textproto.MIMEHeader) error {
		answered.first(time.Now())
		return x.interim(&http.Response{
			Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
			Proto: fmt.Sprintf("HTTP/%d.0", version), ProtoMajor: version, Header: http.Header(header),
		})
	}
}

func (h *http2) usable() bool { return h.ClientConn.Err() == nil }

func (h *http2) close() error {
	err := closeConn(h.transport)
	_ = h.ClientConn.Close() // nothing is left to close
	return err
}

// moment is a time that another goroutine sets, once.
type moment struct{ at atomic.Pointer[time.Time] }

func (m *moment) first(t time.Time) { m.at.CompareAndSwap(nil, &t) }

// get returns the time, zero if none was set.
func (m *moment) get() time.Time {
	if t := m.at.Load(); t != nil {
		return *t
	}
	return time.Time{}
}
