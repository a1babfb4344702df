package get

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"

	"wiretime/spdy"
)

// address returns the host:port of a URL's origin.
func address(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// alpn returns a protocol's name in the TLS handshake.
func alpn(name string) string {
	if name == https1 {
		return "http/1.1"
	}
	return name
}

// connect opens a TCP connection to the origin.
func (o *origin) connect(ctx context.Context) (net.Conn, error) {
	place := o.address
	if a, ok := o.client.config.Addresses[place]; ok {
		_, port, err := net.SplitHostPort(place)
		if err != nil {
			return nil, err
		}
		place = net.JoinHostPort(a.String(), port)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", place)
}

// tls returns a client configuration whose handshake must yield one of protocols.
func (o *origin) tls(protocols ...string) *tls.Config {
	return &tls.Config{
		ServerName: o.host, NextProtos: protocols, RootCAs: o.client.config.Roots,
		InsecureSkipVerify: o.client.config.Insecure,
		VerifyConnection: func(s tls.ConnectionState) error {
			chosen := s.NegotiatedProtocol
			// A server without ALPN speaks HTTP/1.1 (RFC 9112).
			if !slices.Contains(protocols, cmp.Or(chosen, alpn(https1))) {
				return &mismatch{chosen: chosen}
			}
			return nil
		},
	}
}

// secure opens a TLS connection to the origin.
func (o *origin) secure(ctx context.Context, protocols ...string) (*tls.Conn, error) {
	conn, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	secure := tls.Client(conn, o.tls(protocols...))
	err = secure.HandshakeContext(ctx)
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secure.ConnectionState(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// mostHead is the most octets of a response's head over HTTP.
const mostHead = 1 << 20

// tcp is HTTP/1.1 or HTTP/2 by net/http.
type tcp struct {
	*http.Transport
	mu    sync.Mutex
	ready *tls.Conn // an unused connection
}

func (o *origin) overHTTP(ready *tls.Conn) carrier {
	t := &tcp{ready: ready}
	protocols := new(http.Protocols)
	t.Transport = &http.Transport{
		Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: mostHead,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := o.connect(ctx)
			if err != nil {
				return nil, err
			}
			return o.tap(conn), nil
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn := t.take()
			if conn == nil {
				var err error
				if conn, err = o.secure(ctx, alpn(o.name)); err != nil {
					return nil, err
				}
			}
			return o.tap(conn), nil
		},
	}
	if o.name == h2 {
		// net/http treats a connection that is not its own TLS as one in the clear.
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP1(true)
		t.MaxConnsPerHost = 1
	}
	return t
}

func (t *tcp) take() *tls.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := t.ready
	t.ready = nil
	return conn
}

// Close closes idle connections.
func (t *tcp) Close() error {
	if conn := t.take(); conn != nil {
		_ = conn.Close()
	}
	t.CloseIdleConnections()
	return nil
}

// overSPDY is SPDY by package spdy.
func (o *origin) overSPDY(v spdy.Version) carrier {
	return &spdy.Transport{
		Versions: []spdy.Version{v}, OnlySPDY: true, Cleartext: v, DisableCompression: true,
		TLSClientConfig: o.tls(v.String()),
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return o.connect(ctx) },
		Config:          spdy.Config{Window: o.client.config.Window, Log: o.client.frames},
	}
}
