// Package live has the built-in clients use this machine's own network in place of a lab's.
package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"wiretime/capture"
	"wiretime/get"
	"wiretime/loader/builtin"
	"wiretime/loader/session"
	"wiretime/protocol"
)

// Config says how servers are found and trusted.
type Config struct {
	// Roots are the trusted certificate authorities; nil means the machine's.
	Roots *x509.CertPool
	// Insecure trusts every certificate.
	Insecure bool
	// Addresses maps "host:port" to an address that replaces DNS resolution of the host.
	Addresses map[string]netip.Addr
}

// Session returns the options of a client that uses the protocol by the strategy. Names are
// resolved to IPv4 addresses.
func (c Config) Session(p protocol.Protocol, s session.Strategy) session.Options {
	return session.Options{
		Protocol: p, Strategy: s,
		Verify:       Verify(c.Roots, c.Insecure),
		Dial:         new(net.Dialer).DialContext,
		ListenPacket: new(net.ListenConfig).ListenPacket,
		Resolve:      c.resolve,
	}
}

func (c Config) resolve(ctx context.Context, host string) (netip.Addr, error) {
	for from, to := range c.Addresses {
		if name, _, err := net.SplitHostPort(from); err == nil && strings.EqualFold(name, host) {
			return to, nil
		}
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return netip.Addr{}, err
	}
	return all[0].Unmap(), nil
}

// Verify returns a check of certificates against the roots, or against the machine's if
// roots is nil. If insecure is true, it accepts every certificate.
func Verify(roots *x509.CertPool, insecure bool) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		if insecure {
			return nil
		}
		intermediates := x509.NewCertPool()
		for _, certificate := range c.PeerCertificates[1:] {
			intermediates.AddCert(certificate)
		}
		if _, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, DNSName: c.ServerName}); err != nil {
			return fmt.Errorf("%w (trust another authority with --cacert, or every certificate with --insecure)", err)
		}
		return nil
	}
}

// Protocol returns the protocol of that name. If the name is empty, it is HTTP/1.1 for an
// http URL and HTTP/2 for an https URL. It is an error if the protocol cannot fetch all of
// the URLs.
func Protocol(name string, urls []string) (protocol.Protocol, error) {
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			return protocol.Protocol{}, err
		}
		name = cmp.Or(name, map[string]string{"http": "http/1.1"}[u.Scheme], "h2")
		p, err := protocol.Lookup(name)
		if err != nil {
			return p, err
		}
		if err := get.CheckURL(name, u); err != nil {
			return p, err
		}
		if u.Scheme != p.Scheme {
			return p, fmt.Errorf("cannot fetch %s over %s, which needs %s URLs: use URLs of one scheme, or another --protocol", address, name, p.Scheme)
		}
	}
	return protocol.Lookup(name)
}

// LoadPages loads pages with all their resources, all at once, within the limits. The HAR is nil if nothing was
// loaded. An error does not rule out a HAR: it tells what was loaded before.
func LoadPages(ctx context.Context, o session.Options, limits builtin.Limits, urls []string) (*capture.HAR, capture.Timing, error) {
	loader := builtin.New(builtin.Options{Verify: o.Verify, Dial: o.Dial, ListenPacket: o.ListenPacket, Resolve: o.Resolve})
	visit, err := loader.Open(builtin.Config{Protocol: o.Protocol, Strategy: o.Strategy, Limits: limits})
	if err != nil {
		return nil, capture.Timing{}, err
	}
	har, timing, err := visit.LoadTogether(ctx, urls)
	return har, timing, errors.Join(err, visit.Close())
}
