package session

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/spdy"
)

// open opens a connection, already counted by room, unless ctx ends first. A shared
// one carries the origin's requests from then on, unless another one does already. The
// connection is also returned with an error, for its context.
func (o *origin) open(ctx context.Context, shared bool) (*conn, error) {
	s := o.session
	s.mu.Lock()
	s.connections++
	whole := s.ctx
	c := &conn{origin: o, row: o.row, ctx: ctx, number: s.connections, remote: o.server(), connect: -1, ssl: -1, shared: shared}
	s.mu.Unlock()
	var err error
	if s.options.Fallback != "" && c.row.Spoken == "h3" {
		c, err = c.race()
	} else {
		err = c.establish()
	}
	s.mu.Lock()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && shared && o.conn != nil {
		err = errRaceLost
	}
	if err == nil {
		o.row = c.row
		s.open = append(s.open, c)
		if shared {
			o.share(c)
		}
	} else {
		s.sockets--
	}
	c.ctx = whole
	s.mu.Unlock()
	if err != nil && c.carrier != nil {
		err = errors.Join(err, c.close())
	}
	return c, err
}

// establish opens the connection over its protocol.
func (c *conn) establish() error {
	version, isSPDY := spdy.ParseVersion(c.row.ALPN)
	switch {
	case isSPDY:
		return c.establishSPDY(version)
	case c.row.Spoken == "h2":
		return c.establishHTTP2()
	case c.row.Spoken == "h3":
		return c.establishHTTP3()
	}
	return c.establishHTTP1()
}

// dial opens a TCP connection and makes the TLS handshake, if any. Without TLS,
// transport and secured are the same.
func (c *conn) dial() (transport, secured net.Conn, err error) {
	from := time.Now()
	transport, err = c.origin.session.options.Dial(c.ctx, "tcp4", c.remote.String())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", c.origin.host, err)
	}
	c.origin.made()
	if secured, err = c.secure(transport); err != nil {
		return nil, nil, errors.Join(err, closeConn(transport))
	}
	c.connect = time.Since(from)
	return transport, secured, nil
}

// made records that a TCP connection to the origin exists.
func (o *origin) made() {
	o.session.mu.Lock()
	defer o.session.mu.Unlock()
	o.relax()
}

// secure makes the TLS handshake, if any.
func (c *conn) secure(transport net.Conn) (net.Conn, error) {
	host := c.origin.host
	if t, ok := transport.(*net.TCPConn); ok {
		if err := t.SetKeepAlive(false); err != nil {
			return nil, fmt.Errorf("disable keep-alive probes to %s: %w", host, err)
		}
	}
	if c.row.ALPN == "" {
		return transport, nil
	}
	from := time.Now()
	config := c.origin.tls(c.row, c.origin.session.tickets)
	if c.origin.session.options.ChromiumSizes {
		config.NextProtos = append(config.NextProtos, padding(c.row.ALPN)...)
	}
	secured := tls.Client(transport, config)
	if err := secured.HandshakeContext(c.ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake with %s: %w", host, err)
	}
	if err := c.negotiated(secured.ConnectionState()); err != nil {
		return nil, err
	}
	c.ssl = time.Since(from)
	return secured, nil
}

// closeConn closes a connection, which may be closed already.
func closeConn(c net.Conn) error {
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// tlsVersion returns the version of TLS that servers must choose.
func (o *Options) tlsVersion() uint16 {
	if o.TLS12 {
		return tls.VersionTLS12
	}
	return tls.VersionTLS13
}

// tls returns the client's side of the handshake: no version of TLS before that of the
// session, one protocol only.
func (o *origin) tls(row protocol.Protocol, t *tickets) *tls.Config {
	return &tls.Config{
		MinVersion: o.session.options.tlsVersion(), ServerName: o.host, NextProtos: []string{row.ALPN}, KeyLogWriter: o.session.options.KeyLog,
		// The session's owner verifies the certificate. In the lab it ignores the date,
		// which crypto/tls would check before it resumes a session: the clock is set to
		// a time at which the certificate is valid.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if err := panics.Do(func() error { return o.session.options.Verify(state) }); err != nil { // QUIC verifies on a goroutine of its own
				return err
			}
			if len(state.PeerCertificates) > 0 {
				o.clock.set(state.PeerCertificates[0])
			}
			return nil
		},
		ClientSessionCache: t.of(o), Time: o.clock.now,
	}
}

// padding returns protocols that no server knows, to make a ClientHello as long as
// Chromium's: whether the first packets of dozens of connections overflow a thin link's
// queue depends on it. Chromium sends more than crypto/tls: values that must be ignored
// (RFC 8701), and a fake encrypted ClientHello with one of four random lengths. Protocols
// are the only part of the ClientHello that crypto/tls lets one extend.
func padding(alpn string) []string {
	const least, step = 237, 32 // octets: Chromium 156 against crypto/tls of Go 1.26, without alpn
	var chance [1]byte
	_, _ = rand.Read(chance[:]) // never fails
	octets := least - len(alpn) + step*int(chance[0]%4)
	first := octets / 2 // a name has 255 octets at most, and one for its length
	return []string{strings.Repeat("-", first-1), strings.Repeat("-", octets-first-1)}
}

// negotiated checks that the server chose the offered protocol, since TLS allows
// it to choose none, and the session's version of TLS, and records the TLS session.
func (c *conn) negotiated(state tls.ConnectionState) error {
	if want := c.origin.session.options.tlsVersion(); state.Version != want {
		return fmt.Errorf("TLS handshake with %s: negotiated %s, want %s", c.origin.host, tls.VersionName(state.Version), tls.VersionName(want))
	}
	if want := c.row.ALPN; state.NegotiatedProtocol != want {
		return fmt.Errorf("TLS handshake with %s: negotiated %q, want %q", c.origin.host, state.NegotiatedProtocol, want)
	}
	c.secured(state)
	return nil
}

// secured records what is known of a TLS session.
func (c *conn) secured(state tls.ConnectionState) {
	c.resumed = state.DidResume
	c.covers = func(host string) bool {
		return len(state.PeerCertificates) > 0 && state.PeerCertificates[0].VerifyHostname(host) == nil
	}
}

// clock is an origin's time for TLS: the machine's or, if the server's certificate
// is not valid then, one that runs at the same rate and starts with the
// certificate. The first handshake sets it, before the first ticket arrives; it
// never changes, so that ticket ages are right.
type clock struct {
	mu    sync.Mutex
	isSet bool
	ahead time.Duration // of the machine's clock
}

func (c *clock) set(certificate *x509.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isSet {
		return
	}
	c.isSet = true
	if now := time.Now(); now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		c.ahead = certificate.NotBefore.Sub(now)
	}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}
