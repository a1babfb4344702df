package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	quichttp "github.com/quic-go/quic-go/http3"
)

// The windows of flow control are those that net/http's HTTP/2 gives: 4 MiB to a
// response, and to a connection more than any page fills.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// http3 is a connection of HTTP/3 (RFC 9114) by quic-go.
type http3 struct {
	conn    *conn
	quic    *quic.Conn
	shut    func() error
	leaving atomic.Bool // the server takes no more requests

	mu       sync.Mutex
	client   *quichttp.ClientConn
	early    []*earlyRequest // sent as 0-RTT, in order
	rejected bool            // the server did not take them, and they were sent again
}

// earlyRequest is one that was sent before the handshake was complete.
type earlyRequest struct {
	x      *exchange
	stream *quichttp.RequestStream
	err    error // of sending it again
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
	transport := &quic.Transport{Conn: socket}
	shut := sync.OnceValue(func() error { return errors.Join(transport.Close(), closePacketConn(socket)) })
	dial := transport.Dial
	if s.options.EarlyData {
		dial = transport.DialEarly
	}
	from := time.Now()
	config := &quic.Config{
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: -1, // HTTP/3 has none from the server
		TokenStore:         s.tokens,
	}
	if s.options.ChromiumSizes {
		config.InitialPacketSize, config.DisablePathMTUDiscovery = chromiumPacket, true
	}
	connection, err := dial(c.ctx, net.UDPAddrFromAddrPort(c.remote), o.tls(c.row, s.quic), config)
	if err != nil {
		return errors.Join(fmt.Errorf("make the QUIC handshake with %s: %w", o.host, err), shut())
	}
	h := &http3{conn: c, quic: connection, shut: shut}
	if h.complete() {
		err = c.negotiated(connection.ConnectionState().TLS)
	} else {
		c.secured(connection.ConnectionState().TLS) // that it is resumed is all that is known
		c.resumed = true
	}
	if err != nil {
		return errors.Join(err, h.close())
	}
	// The handshakes of transport and TLS are one.
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

// begin begins HTTP/3 on the connection.
func (h *http3) begin() {
	h.client = (&quichttp.Transport{DisableCompression: true}).NewClientConn(h.quic)
}

// complete tells whether the handshake is complete.
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

// open opens a stream and writes x to it. The lock is held.
func (h *http3) open(x *exchange) (*quichttp.RequestStream, error) {
	stream, err := h.client.OpenRequestStream(x.ctx)
	if err != nil {
		return nil, err
	}
	x.Sending = time.Now()
	m := *x.message()
	body := m.Body
	if body != nil {
		m.Body = http.NoBody // what is to come is counted all the same
	}
	if err := stream.SendRequestHeader(&m); err != nil {
		return nil, err
	}
	if body == nil || body == http.NoBody {
		// An error means that the answer came first.
		_ = stream.Close()
	} else {
		h.conn.origin.session.running.Go(func() { sendBody(stream, stream.Close, body) })
	}
	x.Sent = time.Now()
	h.conn.aborts(x, func() {
		stream.CancelRead(quic.StreamErrorCode(quichttp.ErrCodeRequestCanceled))
		stream.CancelWrite(quic.StreamErrorCode(quichttp.ErrCodeRequestCanceled))
	})
	return stream, nil
}

// sendBody sends a request's body.
func sendBody(to io.Writer, end func() error, body io.ReadCloser) {
	defer body.Close()
	// An error means that the answer came first, or that there will be none.
	if _, err := io.Copy(to, body); err == nil {
		_ = end()
	}
}

// again sends what was sent as 0-RTT once more, in the same order, when the server
// has not taken it (RFC 9001 section 4.6.2). The lock is held.
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
	}
	if ofConnection(err) {
		h.leaving.Store(true) // which its context tells only later
	}
	return err
}

// ofConnection tells whether an error is that of a connection, not of a stream.
func ofConnection(err error) bool {
	var application *quic.ApplicationError
	var transport *quic.TransportError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	var reset *quic.StatelessResetError
	return errors.As(err, &application) || errors.As(err, &transport) || errors.As(err, &idle) || errors.As(err, &handshake) || errors.As(err, &reset)
}

// settled waits until it is known whether the server has taken a request as 0-RTT,
// and returns the stream that its answer comes on. The first stream must not be read
// before that: quic-go would reset it when it fails, and with it the one that has its
// number by then.
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
		return fmt.Errorf("make the QUIC handshake with %s: %w", h.conn.origin.host, context.Cause(h.quic.Context()))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// safe tells whether a method is safe (RFC 9110 section 9.2.1).
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
