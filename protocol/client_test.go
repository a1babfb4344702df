package protocol

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/spdy"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 20 * time.Second

// The tests' site has two hosts on two addresses.
const (
	pageHost  = "www.page.test"
	imageHost = "img.page.test"
)

func testSite() map[string]Answer {
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte(i * i >> 8)
	}
	return map[string]Answer{
		pageHost + "/":                  {Status: 200, Header: [][2]string{{"content-type", "text/html; charset=utf-8"}, {"vary", "a"}, {"vary", "b"}}, Body: []byte("<!DOCTYPE html>")},
		pageHost + "/large":             {Status: 200, Header: [][2]string{{"content-type", "application/octet-stream"}}, Body: large},
		pageHost + "/empty":             {Status: 200, Header: [][2]string{{"content-type", "text/css"}}},
		pageHost + "/untyped":           {Status: 200, Body: []byte("<!DOCTYPE html>")},
		pageHost + "/moved":             {Status: 301, Header: [][2]string{{"location", "https://" + imageHost + "/"}}, Body: []byte("there")},
		pageHost + "/gone":              {Status: 404, Header: [][2]string{{"content-type", "text/plain"}}, Body: []byte("archived as gone")},
		pageHost + "/no-content":        {Status: 204},
		pageHost + "/not-modified":      {Status: 304, Header: [][2]string{{"etag", `"1"`}}},
		imageHost + "/a%2Fb%20c?q=1&r=": {Status: 200, Header: [][2]string{{"content-type", "image/png"}}, Body: []byte("png")},
	}
}

func lookupIn(site map[string]Answer) func(method, host, path string) Answer {
	return func(_, host, path string) Answer {
		a, ok := site[host+path]
		a.Miss = !ok
		return a
	}
}

// served is a server with what a client needs to reach it. Its ports are not the
// protocol's, which may be taken or forbidden.
type served struct {
	*Server
	roots *x509.CertPool

	mu   sync.Mutex
	real map[string]string // by the address that the server requested
}

// serve serves the tests' site until the test ends.
func serve(t *testing.T, name string, change func(*ServerConfig)) *served {
	t.Helper()
	p, err := Lookup(name)
	must(t, err)
	dir := filepath.Join(t.TempDir(), "ca")
	authority, err := OpenAuthority(dir)
	must(t, err)
	s := &served{roots: x509.NewCertPool(), real: map[string]string{}}
	s.roots.AddCert(readCertificate(t, filepath.Join(dir, "root.pem")))
	c := ServerConfig{
		Protocol: p,
		Hosts:    map[string]netip.Addr{pageHost: netip.MustParseAddr("127.0.0.1"), imageHost: netip.MustParseAddr("127.0.0.2")},
		Handler:  Archive(lookupIn(testSite())),
		CA:       authority,
		Listen: func(ctx context.Context, network, address string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(ctx, network, freePort(address))
			if err == nil {
				s.found(address, l.Addr())
			}
			return l, err
		},
		ListenPacket: func(ctx context.Context, network, address string) (net.PacketConn, error) {
			l, err := new(net.ListenConfig).ListenPacket(ctx, network, freePort(address))
			if err == nil {
				s.found(address, l.LocalAddr())
			}
			return l, err
		},
	}
	if change != nil {
		change(&c)
	}
	s.Server, err = Serve(t.Context(), c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func freePort(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return net.JoinHostPort(host, "0")
}

func (s *served) found(asked string, real net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.real[asked] = real.String()
}

// address returns the address at which a host's server really listens.
func (s *served) address(t *testing.T, host string) string {
	t.Helper()
	asked := netip.AddrPortFrom(s.config.Hosts[host], uint16(s.config.Protocol.Port)).String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.real[asked] == "" {
		t.Fatalf("no listener on %s of host %s; the listeners are %v", asked, host, s.real)
	}
	return s.real[asked]
}

// client returns a new client of the server's protocol without connections. It
// follows no redirects and keeps session tickets.
func (s *served) client(t *testing.T) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: s.roots, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	client := &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if s.config.Protocol.Transport == "udp" {
		transport := &http3.Transport{
			TLSClientConfig: config, DisableCompression: true,
			Dial: func(ctx context.Context, address string, t2 *tls.Config, q *quic.Config) (*quic.Conn, error) {
				host, _, _ := net.SplitHostPort(address)
				return quic.DialAddr(ctx, s.address(t, host), t2, q)
			},
		}
		t.Cleanup(func() { _ = transport.Close() })
		client.Transport = transport
		return client
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, s.address(t, host))
	}
	if v, ok := spdy.ParseVersion(s.config.Protocol.ALPN); ok {
		transport := &spdy.Transport{
			Versions: []spdy.Version{v}, OnlySPDY: true, TLSClientConfig: config, DisableCompression: true, DialContext: dial,
		}
		t.Cleanup(func() { _ = transport.Close() })
		client.Transport = transport
		return client
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(s.config.Protocol.ALPN != "h2")
	protocols.SetHTTP2(s.config.Protocol.ALPN == "h2")
	transport := &http.Transport{
		TLSClientConfig: config, Protocols: protocols, DisableCompression: true, DialContext: dial,
	}
	t.Cleanup(transport.CloseIdleConnections)
	client.Transport = transport
	return client
}

// get fetches a URL, given without its scheme.
func (s *served) get(t *testing.T, client *http.Client, method, url string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.config.Protocol.Scheme+"://"+url, nil)
	must(t, err)
	response, err := client.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response, body
}

// shakeHands makes one TLS handshake with the server like a client of the
// protocol, except for change.
func (s *served) shakeHands(t *testing.T, host string, change func(*tls.Config)) (tls.ConnectionState, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := &tls.Config{RootCAs: s.roots, ServerName: host, NextProtos: []string{s.config.Protocol.ALPN}}
	change(config)
	if s.config.Protocol.Transport == "udp" {
		c, err := quic.DialAddr(ctx, s.address(t, pageHost), config, nil)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer c.CloseWithError(0, "")
		return c.ConnectionState().TLS, nil
	}
	c, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.address(t, pageHost))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState(), nil
}

// flat returns a header as sorted lines, without the date.
func flat(h http.Header) string {
	var lines []string
	for name, values := range h {
		if name != "Date" {
			lines = append(lines, strings.ToLower(name)+": "+strings.Join(values, " | "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func spkiHash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func testAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
