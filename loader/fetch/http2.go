package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// h2 is HTTP/2 (RFC 9113) by net/http.
type h2 struct {
	*origin
	conn   *http.ClientConn
	opened *connection
}

// carry sends requests one after the other over the one connection.
func (h *h2) carry(requests []*request) {
	if h.conn == nil {
		if err := h.connect(); err != nil {
			h.fail(requests, err)
			return
		}
	}
	for _, r := range requests {
		r.over(h.opened)
		sent := make(chan struct{})
		h.visit.running.Go(func() { h.end(r, h.roundTrip(r, sync.OnceFunc(func() { close(sent) }))) })
		// Requests that wait for each other are sent in order.
		<-sent
	}
}

func (h *h2) connect() error {
	c, opened, err := h.dial()
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		Protocols: protocols, DisableCompression: true,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return c, nil },
	}
	conn, err := transport.NewClientConn(h.visit.ctx, "https", h.server())
	if err != nil {
		return fmt.Errorf("begin HTTP/2 with %s: %w", h.host, err)
	}
	h.conn, h.opened = conn, opened
	return nil
}

// roundTrip sends r, calls sent once that is done or has failed, and reads the
// response.
func (h *h2) roundTrip(r *request, sent func()) error {
	defer sent()
	// The hooks may be called after RoundTrip has given up.
	var sending, wrote atomic.Int64
	ctx := httptrace.WithClientTrace(h.visit.ctx, &httptrace.ClientTrace{
		// The first field is written when the server's limit allows the request.
		WroteHeaderField: func(string, []string) { sending.CompareAndSwap(0, int64(h.visit.now())) },
		WroteHeaders: func() {
			wrote.Store(int64(h.visit.now()))
			sent()
		},
	})
	response, err := h.conn.RoundTrip(r.http.WithContext(ctx))
	answered := h.visit.now()
	r.sending, r.sent = duration(&sending), duration(&wrote)
	if err != nil {
		return err
	}
	if r.answered = answered; r.sent < 0 || r.sent > answered {
		r.sent = answered // the answer was here before the hook was called
	}
	return r.read(response)
}
