package get

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	h3log "github.com/quic-go/quic-go/http3/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// udp is HTTP/3 by quic-go.
type udp struct {
	*http3.Transport
	origin *origin

	mu   sync.Mutex
	open []io.Closer // in closing order
}

func (o *origin) overHTTP3() carrier {
	u := &udp{origin: o}
	config := &quic.Config{}
	if o.client.story != nil || o.client.config.QLog != nil {
		config.Tracer = h3log.RedactHeaders(o.client.trace, blank)
	}
	u.Transport = &http3.Transport{
		TLSClientConfig: o.tls(h3), QUICConfig: config, Dial: u.dial,
		DisableCompression: true, MaxResponseHeaderBytes: mostHead, Logger: slog.New(slog.DiscardHandler),
	}
	return u
}

// dial tries the origin's addresses one after the other.
func (u *udp) dial(ctx context.Context, _ string, t *tls.Config, q *quic.Config) (*quic.Conn, error) {
	addresses, err := u.addresses(ctx)
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range addresses {
		conn, err := u.try(ctx, a, t, q)
		if err == nil {
			return conn, nil
		}
		last = err
		if refusal, ok := errors.AsType[*quic.TransportError](err); ok && refusal.ErrorCode.IsCryptoError() {
			break // a server answered
		}
	}
	return nil, last
}

func (u *udp) addresses(ctx context.Context) ([]netip.AddrPort, error) {
	o := u.origin
	_, digits, err := net.SplitHostPort(o.address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return nil, err
	}
	found := []netip.Addr{o.client.config.Addresses[o.address]}
	if !found[0].IsValid() {
		if found, err = net.DefaultResolver.LookupNetIP(ctx, "ip", o.host); err != nil {
			return nil, err
		}
	}
	var all []netip.AddrPort
	for _, a := range found {
		all = append(all, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return all, nil
}

// try performs the handshake with one address.
func (u *udp) try(ctx context.Context, a netip.AddrPort, t *tls.Config, q *quic.Config) (*quic.Conn, error) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		trace = &httptrace.ClientTrace{}
	}
	if trace.ConnectStart != nil {
		trace.ConnectStart("udp", a.String())
	}
	if trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	conn, err := u.handshake(ctx, a, t, q)
	if trace.ConnectDone != nil {
		trace.ConnectDone("udp", a.String(), err)
	}
	var state tls.ConnectionState
	if err == nil {
		state = conn.ConnectionState().TLS
	}
	if trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(state, err)
	}
	return conn, err
}

func (u *udp) handshake(ctx context.Context, a netip.AddrPort, t *tls.Config, q *quic.Config) (*quic.Conn, error) {
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(a))
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: connected{socket}}
	conn, err := transport.Dial(ctx, socket.RemoteAddr(), t, q)
	if err != nil {
		_, _ = transport.Close(), socket.Close()
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = append(u.open, transport, socket)
	return conn, nil
}

// Close ends the connections.
func (u *udp) Close() error {
	errs := []error{u.Transport.Close()}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.open {
		errs = append(errs, c.Close())
	}
	u.open = nil
	return errors.Join(errs...)
}

// connected is a UDP socket with one peer. Unlike an unconnected one, it receives the error
// if nobody listens there (ICMP, RFC 1122 section 4.1.3.3).
type connected struct{ socket }

type socket interface {
	net.PacketConn
	SetReadBuffer(octets int) error
	SetWriteBuffer(octets int) error
	Write(b []byte) (int, error)
}

func (c connected) WriteTo(b []byte, _ net.Addr) (int, error) { return c.Write(b) }

// trace subscribes to quic-go's events of a connection.
func (c *Client) trace(_ context.Context, client bool, id quic.ConnectionID) qlogwriter.Trace {
	t := qlogs{story: c.story}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.QLog != nil && !c.qlogged {
		c.qlogged = true
		t.file = qlogwriter.NewConnectionFileSeq(unclosed{c.config.QLog}, client, id)
		c.qlog.Go(t.file.Run)
	}
	return t
}

// unclosed leaves closing to the owner.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// qlogs passes a connection's events to the file and to the story.
type qlogs struct {
	file  *qlogwriter.FileSeq // nil for none
	story *story
}

func (q qlogs) AddProducer() qlogwriter.Recorder {
	r := h3Frames{story: q.story}
	if q.file != nil {
		r.file = q.file.AddProducer()
	}
	return r
}
