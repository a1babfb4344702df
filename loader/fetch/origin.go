package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// origin is one host of the page.
type origin struct {
	visit     *Visit
	authority string // host, and port if the URL has one
	host      string
	port      string
	carrier   carrier
	address   netip.Addr // zero: not looked up yet
	dns       float64    // ms that the look-up took; -1: a request has told of it
}

// carrier sends an origin's requests over its protocol.
type carrier interface {
	// carry sends requests in their order. It may return before the answers are
	// there.
	carry(requests []*request)
}

// connection is what HAR tells of a connection.
type connection struct {
	number       int
	remote       string  // IP address
	connect, ssl float64 // ms, -1: does not apply
	told         bool    // a request has told of the times
}

// fetch looks the host up and sends requests to it.
func (o *origin) fetch(requests []*request) {
	if !o.address.IsValid() {
		from := o.visit.now()
		address, err := o.visit.loader.options.Resolve(o.visit.ctx, o.host)
		if err != nil {
			o.fail(requests, fmt.Errorf("look up %s: %w", o.host, err))
			return
		}
		o.address, o.dns = address, milliseconds(o.visit.now()-from)
	}
	o.carrier.carry(requests)
}

// fail ends requests that will not be sent.
func (o *origin) fail(requests []*request, err error) {
	for _, r := range requests {
		o.end(r, err)
	}
}

// end notes that a request has been answered or has failed.
func (o *origin) end(r *request, err error) {
	r.ended, r.err = o.visit.now(), err
	if cause := context.Cause(o.visit.ctx); err != nil && cause != nil {
		r.err = cause // its symptom is no more than a closed connection
	}
	o.visit.pending.Done()
}

// connecting begins a connection's record.
func (o *origin) connecting() *connection {
	return &connection{number: o.visit.number(), remote: o.address.String(), connect: -1, ssl: -1}
}

func (o *origin) server() string { return net.JoinHostPort(o.address.String(), o.port) }

// dial opens a TCP connection and makes the TLS handshake, if there is one.
func (o *origin) dial() (net.Conn, *connection, error) {
	v, c := o.visit, o.connecting()
	from := v.now()
	transport, err := v.loader.options.Dial(v.ctx, "tcp4", o.server())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", o.host, err)
	}
	if err := v.keep(func() error { return closeConn(transport) }); err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", o.host, err)
	}
	if t, ok := transport.(*net.TCPConn); ok {
		if err := t.SetKeepAlive(false); err != nil {
			return nil, nil, fmt.Errorf("turn keep-alive probes to %s off: %w", o.host, err)
		}
	}
	if v.protocol.ALPN == "" {
		c.connect = milliseconds(v.now() - from)
		return transport, c, nil
	}
	connected := v.now()
	secured := tls.Client(transport, o.tls())
	if err := secured.HandshakeContext(v.ctx); err != nil {
		return nil, nil, fmt.Errorf("make the TLS handshake with %s: %w", o.host, err)
	}
	if err := o.negotiated(secured.ConnectionState()); err != nil {
		return nil, nil, err
	}
	c.connect, c.ssl = milliseconds(v.now()-from), milliseconds(v.now()-connected)
	return secured, c, nil
}

// closeConn closes a connection, which may be closed already.
func closeConn(c net.Conn) error {
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// tls is the client's side of the handshake: TLS 1.3 alone, one protocol alone, no
// session kept.
func (o *origin) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: o.host, NextProtos: []string{o.visit.protocol.ALPN},
		// The authority verifies, without looking at the clock.
		InsecureSkipVerify: true, VerifyConnection: o.visit.loader.options.Authority.Verify,
	}
}

// negotiated makes sure that the server chose the protocol that was offered. TLS
// lets it choose none.
func (o *origin) negotiated(s tls.ConnectionState) error {
	if want := o.visit.protocol.ALPN; s.NegotiatedProtocol != want {
		return fmt.Errorf("make the TLS handshake with %s: it negotiated %q, want %q", o.host, s.NegotiatedProtocol, want)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
