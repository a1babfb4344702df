package get

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/quic-go/quic-go"
)

// mismatch is the error of a handshake in which the server chose a protocol that was not
// requested.
type mismatch struct {
	chosen string // empty: none
}

func (m *mismatch) Error() string {
	if m.chosen == "" {
		return "the server chose no protocol by ALPN"
	}
	return "the server chose " + m.chosen + " by ALPN"
}

// explain adds to an error what it means and what to do about it.
func (o *origin) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var noHost *net.DNSError
	asked := cmp.Or(o.client.config.Protocol, "h2 or https/1.1")
	switch {
	case errors.As(err, &untrusted):
		return o.distrust(untrusted)
	case errors.As(err, &noTLS) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s does not speak TLS (%w): try an http URL", o.address, err)
	case o.scheme == "https" && noProtocol(err):
		return fmt.Errorf("%s does not speak %s: %s", o.address, asked, o.offer(ctx))
	case o.scheme == "https" && strings.Contains(err.Error(), "remote error: tls: "):
		return fmt.Errorf("%s does not agree on %s: %w; %s", o.address, asked, err, o.offer(ctx))
	case errors.As(err, &noHost):
		return fmt.Errorf("look up %s: %w", o.host, err)
	case asked == h3 && unreachable(err):
		return fmt.Errorf("no answer from %s over QUIC (%w); over TCP, %s", o.address, err, o.offer(ctx))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("connect to %s: nothing listens there: %w", o.address, err)
	case o.scheme == "http" && strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`):
		return fmt.Errorf("%s speaks TLS (%w): try an https URL", o.address, err)
	case o.scheme == "http" && o.name != http1:
		return fmt.Errorf("%s in the clear, by prior knowledge, to %s: %w", asked, o.address, err)
	}
	return err
}

// ended returns the cause of a context that is done.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return ctx.Err()
}

// distrust explains why a certificate is not trusted.
func (o *origin) distrust(err *tls.CertificateVerificationError) error {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("the certificate of %s is not for that name: %w; use --insecure to accept it", o.address, err)
	}
	return fmt.Errorf("the certificate of %s is not trusted: %w; pass its authority with --cacert FILE, or accept any certificate with --insecure", o.address, err)
}

// noProtocol reports whether client and server have no protocol in common.
func noProtocol(err error) bool {
	if _, ok := errors.AsType[*mismatch](err); ok {
		return true
	}
	// TLS and QUIC report the alert no_application_protocol (RFC 7301 section 3.2) in these
	// words.
	return strings.Contains(err.Error(), "no application protocol")
}

// unreachable reports whether nobody answered over QUIC.
func unreachable(err error) bool {
	var handshake *quic.HandshakeTimeoutError
	var idle *quic.IdleTimeoutError
	return errors.As(err, &handshake) || errors.As(err, &idle) || errors.Is(err, syscall.ECONNREFUSED)
}

// offer describes what the origin speaks over TLS and TCP. A server reveals only its
// preferred protocol, so offer repeats the handshake without the protocols found until the
// server accepts none.
func (o *origin) offer(ctx context.Context) string {
	left := []string{h2}
	for _, name := range Names() {
		if strings.HasPrefix(name, "spdy/") {
			left = append(left, name)
		}
	}
	left = append(left, alpn(https1))
	var found []string
	for len(left) > 0 {
		liked, err := o.ask(ctx, left)
		if err != nil {
			if len(found) == 0 {
				return "it offers no known protocol (" + err.Error() + ")"
			}
			break
		}
		if liked == "" {
			if len(found) == 0 {
				return "it does not support ALPN, so it speaks HTTP/1.1"
			}
			break
		}
		found = append(found, liked)
		left = slices.DeleteFunc(left, func(p string) bool { return p == liked })
	}
	return "it offers " + strings.Join(found, ", ")
}

// ask makes the server choose one of protocols. It sends no request, so it does not verify
// the certificate.
func (o *origin) ask(ctx context.Context, protocols []string) (string, error) {
	conn, err := o.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	secure := tls.Client(conn, &tls.Config{ServerName: o.host, NextProtos: protocols, InsecureSkipVerify: true})
	if err := secure.HandshakeContext(ctx); err != nil {
		return "", err
	}
	return secure.ConnectionState().NegotiatedProtocol, nil
}
