package session

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	quichttp "github.com/quic-go/quic-go/http3"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
	"wiretime/spdy"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 20 * time.Second

const (
	pageHost  = loadertest.PageHost
	imageHost = loadertest.ImageHost
)

func row(t *testing.T, name string) protocol.Protocol {
	t.Helper()
	p, err := protocol.Lookup(name)
	must(t, err)
	return p
}

// bench holds servers, and options for a session that finds them.
type bench struct {
	*loadertest.Network
	options Options
	mute    sync.RWMutex // while it is locked, all that servers of serveQUIC send is lost
}

// newBench returns a bench without servers.
func newBench(t *testing.T, p protocol.Protocol) *bench {
	t.Helper()
	n := loadertest.New(t)
	return &bench{Network: n, options: Options{
		Protocol: p, Verify: n.Authority.Verify, Dial: new(net.Dialer).DialContext,
		ListenPacket: new(net.ListenConfig).ListenPacket, Resolve: n.Resolve,
	}}
}

// serve starts the lab's server.
func (b *bench) serve(t *testing.T, handler http.Handler) *protocol.Server {
	t.Helper()
	return b.Serve(t, b.options.Protocol, handler)
}

// serveTLS starts a server for the page's host with a custom TLS configuration,
// which issues tickets unless configured otherwise. hangUp closes the open
// connections.
func (b *bench) serveTLS(t *testing.T, config *tls.Config, handler http.Handler) (hangUp func()) {
	t.Helper()
	p := b.options.Protocol
	config.NextProtos = []string{p.ALPN}
	if config.Certificates == nil {
		certificate, err := b.Authority.Certificate(pageHost)
		must(t, err)
		config.Certificates = []tls.Certificate{*certificate}
	}
	var serving sync.WaitGroup
	if p.Transport == "udp" {
		return b.serveQUIC(t, config, handler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(p.Spoken == "http/1.1")
	protocols.SetHTTP2(p.ALPN == "h2")
	server := &http.Server{Handler: handler, Protocols: protocols, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	if v, ok := spdy.ParseVersion(p.ALPN); ok {
		must(t, (&spdy.Server{Versions: []spdy.Version{v}, ErrorLog: server.ErrorLog}).Configure(server))
	}
	l, err := b.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			open[c] = true
		}
	}
	serving.Go(func() { _ = server.ServeTLS(l, "", "") })
	t.Cleanup(func() {
		must(t, server.Close())
		serving.Wait()
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for c := range open {
			_ = c.Close()
		}
	}
}

// serveQUIC starts an HTTP/3 server that allows 0-RTT. refuse restarts it at the
// same address, with the same keys, without 0-RTT.
func (b *bench) serveQUIC(t *testing.T, config *tls.Config, handler http.Handler) (refuse func()) {
	t.Helper()
	if config.Certificates == nil {
		certificate, err := b.Authority.Certificate(pageHost)
		must(t, err)
		config.Certificates = []tls.Certificate{*certificate}
	}
	config.SetSessionTicketKeys([][32]byte{{1}})
	start := func(address string, early bool) (stop func(), at string) {
		socket, err := b.ListenPacket(t.Context(), "udp4", address)
		must(t, err)
		var serving sync.WaitGroup
		server := &quichttp.Server{
			Handler: handler, TLSConfig: quichttp.ConfigureTLSConfig(config), QUICConfig: &quic.Config{Allow0RTT: early},
			Logger: slog.New(slog.DiscardHandler),
		}
		serving.Go(func() { _ = server.Serve(muted{socket, &b.mute}) })
		return func() {
			_ = server.Close()
			_ = socket.Close()
			serving.Wait()
		}, socket.LocalAddr().String()
	}
	stop, at := start("127.0.0.1:0", true)
	t.Cleanup(func() { stop() })
	return func() {
		stop()
		stop, _ = start(at, false)
	}
}

// muted is a socket that loses what it sends while mute is locked.
type muted struct {
	net.PacketConn
	mute *sync.RWMutex
}

func (m muted) WriteTo(packet []byte, to net.Addr) (int, error) {
	if !m.mute.TryRLock() {
		return len(packet), nil
	}
	defer m.mute.RUnlock()
	return m.PacketConn.WriteTo(packet, to)
}

// certificate returns a certificate for several hosts, valid from from until
// until, and a function that accepts no other.
func certificate(t *testing.T, from, until time.Time, hosts ...string) (tls.Certificate, func(tls.ConnectionState) error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) != 1 || string(s.PeerCertificates[0].Raw) != string(der) {
			return errors.New("another certificate")
		}
		return s.PeerCertificates[0].VerifyHostname(s.ServerName)
	}
}

// url returns the URL of a path on one of the hosts.
func (b *bench) url(host, path string) string { return b.URL(b.options.Protocol.Scheme, host, path) }

// session opens a session that ends with the test.
func (b *bench) session(t *testing.T) *Session {
	t.Helper()
	s := New(b.options)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// answer is a Handler that keeps everything it receives.
type answer struct {
	interim []*http.Response
	head    *http.Response
	body    []byte
	record  *Exchange
	err     error
	ended   chan struct{}
	most    int    // octets of content that it accepts; 0: all
	onData  func() // may be nil
	onEnd   func() // may be nil
}

func (a *answer) Interim(r *http.Response) { a.interim = append(a.interim, r) }
func (a *answer) Head(r *http.Response)    { a.head = r }

func (a *answer) Data(b []byte) error {
	a.body = append(a.body, b...)
	if a.onData != nil {
		a.onData()
	}
	if a.most > 0 && len(a.body) > a.most {
		return errEnough
	}
	return nil
}

// errEnough ends an exchange whose handler wants no more.
var errEnough = errors.New("the handler wants no more")

func (a *answer) End(e *Exchange, err error) {
	if a.record != nil {
		panic("End was called twice")
	}
	a.record, a.err = e, err
	if a.onEnd != nil {
		a.onEnd()
	}
	close(a.ended)
}

// wait waits for the end and returns the answer.
func (a *answer) wait(t *testing.T) *answer {
	t.Helper()
	select {
	case <-a.ended:
	case <-time.After(patience):
		t.Fatalf("no end within %v", patience)
	}
	return a
}

// get fetches a URL.
func get(t *testing.T, s *Session, target string, priority Priority) *answer {
	t.Helper()
	return fetch(t, t.Context(), s, http.MethodGet, target, priority, nil)
}

func fetch(t *testing.T, ctx context.Context, s *Session, method, target string, priority Priority, a *answer) *answer {
	t.Helper()
	if a == nil {
		a = &answer{}
	}
	a.ended = make(chan struct{})
	r, err := http.NewRequestWithContext(ctx, method, target, nil)
	must(t, err)
	r.Header.Set("User-Agent", "test")
	s.Fetch(&Request{HTTP: r, Priority: priority, Handler: a})
	return a
}

// path answers with the request's path, repeated to as many octets as the number
// at its end, if any.
func path(w http.ResponseWriter, r *http.Request) {
	var size int
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndex(r.URL.Path, "/"):], "/%d", &size); err == nil {
		_, _ = w.Write([]byte(strings.Repeat("x", size)))
		return
	}
	_, _ = io.WriteString(w, r.URL.Path)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
