package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"
)

// The intervals at which a server that is not ready is polled.
const (
	firstLook = 2 * time.Millisecond
	mostLook  = 50 * time.Millisecond
)

// awaitReady returns when every origin responds.
func (s *Server) awaitReady(ctx context.Context) error {
	limit := time.NewTimer(s.config.ReadyLimit)
	defer limit.Stop()
	for _, o := range s.setup.origins {
		for pause := firstLook; ; pause = min(2*pause, mostLook) {
			err := s.setup.answers(ctx, o)
			if err == nil {
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-s.died:
				return s.Err()
			case <-limit.C:
				return fmt.Errorf("not ready after %v: %w%s", s.config.ReadyLimit, err, s.processes[0].lastWords())
			}
		}
	}
	return s.Err()
}

// answers checks that an origin accepts connections over the row's protocol.
func (s *setup) answers(ctx context.Context, o origin) error {
	ctx, cancel := context.WithTimeout(ctx, s.ReadyLimit)
	defer cancel()
	if s.Protocol.Transport == "udp" {
		return s.answersQUIC(ctx, o)
	}
	conn, err := s.dial(ctx, o)
	if err != nil {
		return err
	}
	defer conn.Close()
	if !s.secure() {
		return nil
	}
	secured := tls.Client(conn, s.client(o))
	if err := secured.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("%s: %w", o.host, err)
	}
	return s.negotiated(o, secured.ConnectionState())
}

// negotiated checks that a handshake negotiated the row's protocol. A server that chooses
// none means HTTP/1.1, too.
func (s *setup) negotiated(o origin, c tls.ConnectionState) error {
	if got := c.NegotiatedProtocol; got != s.Protocol.ALPN && (got != "" || s.Protocol.ALPN != "http/1.1") {
		return fmt.Errorf("%s: negotiated %q instead of %q", o.host, got, s.Protocol.ALPN)
	}
	return nil
}

// client returns the client's side of a handshake.
func (s *setup) client(o origin) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, ServerName: o.host, NextProtos: []string{s.Protocol.ALPN},
		InsecureSkipVerify: true, VerifyConnection: s.Authority.Verify}
}

func (s *setup) dial(ctx context.Context, o origin) (conn net.Conn, err error) {
	err = s.Do(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp4", s.at(o))
		return err
	})
	return conn, err
}

func (s *setup) answersQUIC(ctx context.Context, o origin) error {
	var socket net.PacketConn
	err := s.Do(func() (err error) {
		socket, err = new(net.ListenConfig).ListenPacket(ctx, "udp4", net.JoinHostPort(o.address.String(), "0"))
		return err
	})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	defer func() { _, _ = transport.Close(), socket.Close() }()
	// Over UDP a server that does not listen yet refuses nothing.
	ctx, cancel := context.WithTimeout(ctx, quicPatience)
	defer cancel()
	conn, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(s.addrPort(o)), s.client(o), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", o.host, err)
	}
	return errors.Join(s.negotiated(o, conn.ConnectionState().TLS), conn.CloseWithError(0, ""))
}

// quicPatience is the time limit of one attempt to connect over QUIC. A handshake within
// one machine takes milliseconds.
const quicPatience = 250 * time.Millisecond

// free checks that the server's ports are unused: any other listener would be
// mistaken for the server.
func (s *setup) free(ctx context.Context) error {
	for _, at := range s.listens() {
		err := s.Do(func() error {
			if s.Protocol.Transport == "udp" {
				socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", at)
				if err != nil {
					return err
				}
				return socket.Close()
			}
			listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", at)
			if err != nil {
				return err
			}
			return listener.Close()
		})
		if err != nil {
			return fmt.Errorf("its port is already in use: %w", err)
		}
	}
	return nil
}
