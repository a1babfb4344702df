package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// The windows of flow control are those that net/http's HTTP/2 gives: 4 MiB to a
// response, and to a connection more than any page fills.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// h3 is HTTP/3 (RFC 9114) by quic-go.
type h3 struct {
	*origin
	conn   *http3.ClientConn
	opened *connection
}

// carry sends requests one after the other over the one connection.
func (h *h3) carry(requests []*request) {
	if h.conn == nil {
		if err := h.connect(); err != nil {
			h.fail(requests, err)
			return
		}
	}
	for _, r := range requests {
		r.over(h.opened)
		stream, err := h.send(r)
		if err != nil {
			h.end(r, err)
			continue
		}
		h.visit.running.Go(func() { h.end(r, h.receive(r, stream)) })
	}
}

func (h *h3) connect() error {
	v, c := h.visit, h.connecting()
	socket, err := v.loader.options.ListenPacket(v.ctx, "udp4", ":0")
	if err != nil {
		return fmt.Errorf("open a UDP socket: %w", err)
	}
	transport := &quic.Transport{Conn: socket}
	if err := v.keep(func() error { return errors.Join(transport.Close(), socket.Close()) }); err != nil {
		return fmt.Errorf("connect to %s: %w", h.host, err)
	}
	server, err := netip.ParseAddrPort(h.server())
	if err != nil {
		return fmt.Errorf("connect to %s: %w", h.host, err)
	}
	from := v.now()
	conn, err := transport.Dial(v.ctx, net.UDPAddrFromAddrPort(server), h.tls(), &quic.Config{
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: -1, // HTTP/3 has none from the server
	})
	if err != nil {
		return fmt.Errorf("make the QUIC handshake with %s: %w", h.host, err)
	}
	if err := v.keep(func() error { return conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") }); err != nil {
		return fmt.Errorf("connect to %s: %w", h.host, err)
	}
	if err := h.negotiated(conn.ConnectionState().TLS); err != nil {
		return err
	}
	// The handshakes of transport and TLS are one.
	c.connect = milliseconds(v.now() - from)
	c.ssl = c.connect
	h.conn = (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
	h.opened = c
	return nil
}

// send opens a stream, once the server's limit allows it, and writes r to it.
func (h *h3) send(r *request) (*http3.RequestStream, error) {
	stream, err := h.conn.OpenRequestStream(h.visit.ctx)
	if err != nil {
		return nil, err
	}
	r.sending = h.visit.now()
	if err := stream.SendRequestHeader(r.http); err != nil {
		return nil, err
	}
	// An error means that the answer came first.
	_ = stream.Close()
	r.sent = h.visit.now()
	return stream, nil
}

func (h *h3) receive(r *request, stream *http3.RequestStream) error {
	response, err := final(stream.ReadResponse)
	if err != nil {
		return err
	}
	r.answered = h.visit.now()
	return r.read(response)
}
