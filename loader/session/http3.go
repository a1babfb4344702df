package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	quichttp "github.com/quic-go/quic-go/http3"
)

// The flow-control windows are those of net/http's HTTP/2: 4 MiB for a response,
// and for a connection more than any page fills.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// http3 is an HTTP/3 connection (RFC 9114) of quic-go.
type http3 struct {
	conn    *conn
	quic    *quic.Conn
	shut    func() error
	leaving atomic.Bool // the server accepts no more requests

	mu       sync.Mutex
	client   *quichttp.ClientConn
	early    []*earlyRequest // sent as 0-RTT, in order
	rejected bool            // the server rejected them, and they were sent again
}

// earlyRequest is a request sent before the handshake was complete.
type earlyRequest struct {
	x      *exchange
	stream *quichttp.RequestStream
	err    error // from sending it again
}

// chromiumPacket is the size of Chromium's QUIC packets, in octets of UDP payload
// (net/quic/quic_context.h).
const chromiumPacket = 1250

func (c *conn) establishHTTP3() error {
	o, s := c.origin, c.origin.session
	socket, err := s.options.ListenPacket(c.ctx, "udp4", ":0")
	if err != nil {
		return fmt.Errorf("open a UDP socket: %w", err)
	}
	gate := newEarlyGate()
	transport := &quic.Transport{Conn: socket}
	if s.options.EarlyData {
		transport.Conn = gate.socket(socket)
	}
	shut := sync.OnceValue(func() error {
		gate.open()
		return errors.Join(transport.Close(), closePacketConn(socket))
	})
	dial := transport.Dial
	from := time.Now()
	config := &quic.Config{
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: -1, // HTTP/3 servers open none
		TokenStore:         s.tokens,
	}
	if w := s.options.Windows; w != nil {
		w.SetQUIC(config)
	}
	if s.options.EarlyData {
		dial, config.Tracer = transport.DialEarly, gate.trace
	}
	if s.options.ChromiumSizes {
		config.InitialPacketSize, config.DisablePathMTUDiscovery = chromiumPacket, true
	}
	connection, err := dial(c.ctx, net.UDPAddrFromAddrPort(c.remote), o.tls(c.row, s.quic), config)
	if err != nil {
		return errors.Join(fmt.Errorf("QUIC handshake with %s: %w", o.host, err), shut())
	}
	h := &http3{conn: c, quic: connection, shut: shut}
	if h.complete() {
		err = c.negotiated(connection.ConnectionState().TLS)
	} else {
		c.secured(connection.ConnectionState().TLS) // only resumption is known so far
		c.resumed = true
	}
	if err != nil {
		return errors.Join(err, h.close())
	}
	// Transport and TLS share one handshake.
	c.connect = time.Since(from)
	c.ssl = c.connect
	h.begin()
	c.carrier = h
	return nil
}

func closePacketConn(c net.PacketConn) error {
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// begin starts HTTP/3 on the connection.
func (h *http3) begin() {
	h.client = (&quichttp.Transport{DisableCompression: true, MaxResponseHeaderBytes: mostHead}).NewClientConn(h.quic)
}

// complete reports whether the handshake is complete.
func (h *http3) complete() bool {
	select {
	case <-h.quic.HandshakeComplete():
		return true
	default:
		return false
	}
}

// send opens a stream, once the server's limit allows it, and writes x to it.
func (h *http3) send(x *exchange) (func() error, error) {
	if !safe(x.HTTP.Method) {
		if err := h.handshake(x.ctx); err != nil {
			return nil, err
		}
	}
	if m := x.message(); m.Body != nil && m.Body != http.NoBody {
		return func() error { return h.roundTrip(x, m) }, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var early *earlyRequest
	if !h.complete() {
		early = &earlyRequest{x: x}
		h.early = append(h.early, early)
	}
	stream, err := h.open(x)
	if errors.Is(err, quic.Err0RTTRejected) {
		if err = h.again(x.ctx); err == nil && early == nil {
			stream, err = h.open(x)
		} else if early != nil {
			stream, err = early.stream, errors.Join(err, early.err)
		}
	}
	if err != nil {
		h.early = slices.DeleteFunc(h.early, func(e *earlyRequest) bool { return e.x == x })
		if x.ctx.Err() == nil {
			h.leaving.Store(true)
		}
		return nil, err
	}
	if early != nil {
		early.stream = stream
	}
	return func() error { return h.receive(x, stream, early) }, nil
}

// open opens a stream and writes x to it. The caller holds the lock.
func (h *http3) open(x *exchange) (*quichttp.RequestStream, error) {
	stream, err := h.client.OpenRequestStream(x.ctx)
	if err != nil {
		return nil, err
	}
	x.Sending = time.Now()
	if err := stream.SendRequestHeader(x.message()); err != nil {
		return nil, err
	}
	// An error means that the response came first.
	_ = stream.Close()
	x.Sent = time.Now()
	h.conn.aborts(x, func() {
		stream.CancelRead(quic.StreamErrorCode(quichttp.ErrCodeRequestCanceled))
		stream.CancelWrite(quic.StreamErrorCode(quichttp.ErrCodeRequestCanceled))
	})
	return stream, nil
}

// roundTrip sends a request with content once the handshake is complete, and reads the response. quic-go sends the
// length of the content only with a request that it is given as a whole.
func (h *http3) roundTrip(x *exchange, m *http.Request) error {
	if err := h.handshake(x.ctx); err != nil {
		return err
	}
	x.Sending = time.Now()
	x.Sent = x.Sending
	var answered moment
	ctx := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{Got1xxResponse: x.hooked(&answered, 3)})
	response, err := h.current().RoundTrip(m.WithContext(ctx)) //nolint:bodyclose // x.read closes it
	if errors.Is(err, quic.Err0RTTRejected) {                  // nothing of the request has been sent
		h.mu.Lock()
		err = h.again(x.ctx)
		h.mu.Unlock()
		if err == nil {
			response, err = h.current().RoundTrip(x.message().WithContext(ctx)) //nolint:bodyclose // likewise
		}
	}
	if err == nil {
		answered.first(time.Now())
		x.Answered = answered.get()
		err = x.read(response)
	}
	if ofConnection(err) {
		h.leaving.Store(true) // the context ends only later
	}
	return err
}

// current returns the connection for new requests.
func (h *http3) current() *quichttp.ClientConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// sendBody sends a request's body.
func sendBody(to io.Writer, end func() error, body io.ReadCloser) {
	defer body.Close()
	// An error means that the response came first, or never will.
	if _, err := io.Copy(to, body); err == nil {
		_ = end()
	}
}

// again resends the 0-RTT requests in the same order after the server has rejected
// them (RFC 9001 section 4.6.2). The caller holds the lock.
func (h *http3) again(ctx context.Context) error {
	if h.rejected {
		return nil
	}
	if _, err := h.quic.NextConnection(ctx); err != nil {
		return err
	}
	h.rejected = true
	h.begin()
	for _, e := range h.early {
		e.stream, e.err = h.open(e.x)
	}
	return nil
}

func (h *http3) receive(x *exchange, stream *quichttp.RequestStream, early *earlyRequest) error {
	if early != nil {
		var err error
		if stream, err = h.settled(x, early); err != nil {
			return err
		}
	}
	response, err := x.final(stream.ReadResponse)
	if err == nil {
		if x.Answered.IsZero() {
			x.Answered = time.Now()
		}
		err = x.read(response)
	} else {
		stream.CancelRead(quic.StreamErrorCode(quichttp.ErrCodeRequestCanceled))
	}
	if ofConnection(err) {
		h.leaving.Store(true) // the context ends only later
	}
	return err
}

// ofConnection reports whether an error belongs to a connection rather than to
// a stream.
func ofConnection(err error) bool {
	var application *quic.ApplicationError
	var transport *quic.TransportError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	var reset *quic.StatelessResetError
	return errors.As(err, &application) || errors.As(err, &transport) || errors.As(err, &idle) || errors.As(err, &handshake) || errors.As(err, &reset)
}

// settled waits until it is known whether the server has accepted a request as 0-RTT,
// and returns the stream of its response. The first stream must not be read before
// that: quic-go resets it when the read fails, and with it the stream that has since
// got its number.
func (h *http3) settled(x *exchange, early *earlyRequest) (*quichttp.RequestStream, error) {
	if err := h.handshake(x.ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	x.EarlyData = h.quic.ConnectionState().Used0RTT
	if !x.EarlyData {
		if err := h.again(x.ctx); err != nil {
			return nil, err
		}
	}
	return early.stream, early.err
}

// handshake waits until the handshake is complete.
func (h *http3) handshake(ctx context.Context) error {
	select {
	case <-h.quic.HandshakeComplete():
		return nil
	case <-h.quic.Context().Done():
		return fmt.Errorf("QUIC handshake with %s: %w", h.conn.origin.host, context.Cause(h.quic.Context()))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// safe reports whether a method is safe (RFC 9110 section 9.2.1).
func safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (h *http3) usable() bool { return !h.leaving.Load() && h.quic.Context().Err() == nil }

func (h *http3) close() error {
	return errors.Join(h.quic.CloseWithError(quic.ApplicationErrorCode(quichttp.ErrCodeNoError), ""), h.shut())
}
