package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/loader/session"
	"wiretime/protocol"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 20 * time.Second

// The tests' page has two hosts on two addresses.
const (
	pageHost  = "www.page.test"
	imageHost = "img.page.test"
)

func addresses() map[string]netip.Addr {
	return map[string]netip.Addr{pageHost: netip.MustParseAddr("127.0.0.1"), imageHost: netip.MustParseAddr("127.0.0.2")}
}

// eachRow runs a test for every protocol.
func eachRow(t *testing.T, test func(t *testing.T, p protocol.Protocol)) {
	for _, p := range protocol.All() {
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) { test(t, p) })
	}
}

// objects answers /N with N octets, / with a document, and /gone with 404.
func objects(method, _, path string) protocol.Answer {
	miss := method != http.MethodGet
	if path == "/" {
		return protocol.Answer{Status: http.StatusOK, Header: [][2]string{{"content-type", "text/html; charset=utf-8"}}, Body: []byte("<!DOCTYPE html>"), Miss: miss}
	}
	var size int
	if _, err := fmt.Sscanf(path, "/%d", &size); err != nil {
		return protocol.Answer{Miss: true}
	}
	return protocol.Answer{Status: http.StatusOK, Header: [][2]string{{"content-type", "image/png"}}, Body: make([]byte, size), Miss: miss}
}

// bench is a server and a loader that finds it. Its ports are not the protocol's,
// which may be taken or forbidden, so URLs contain them.
type bench struct {
	protocol  protocol.Protocol
	server    *protocol.Server
	options   session.Options
	authority *protocol.Authority
	served    sync.WaitGroup // connections of serveFrames

	mu      sync.Mutex
	real    map[netip.Addr]netip.AddrPort
	lookups []string
	wire    []string // first lines written to TCP connections
}

func newBench(t *testing.T, p protocol.Protocol, handler http.Handler) *bench {
	t.Helper()
	b := &bench{protocol: p, real: map[netip.Addr]netip.AddrPort{}}
	authority, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	b.authority = authority
	b.options = session.Options{
		Verify: authority.Verify,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &recorded{c, b}, nil
		},
		ListenPacket: new(net.ListenConfig).ListenPacket,
		Resolve: func(_ context.Context, host string) (netip.Addr, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.lookups = append(b.lookups, host)
			if a, ok := addresses()[host]; ok {
				return a, nil
			}
			return netip.Addr{}, fmt.Errorf("%s does not exist", host)
		},
	}
	b.server, err = protocol.Serve(t.Context(), protocol.ServerConfig{
		Protocol: p, Hosts: addresses(), Handler: handler, CA: authority,
		Listen: func(ctx context.Context, network, address string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(ctx, network, anyPort(address))
			if err == nil {
				b.found(l.Addr())
			}
			return l, err
		},
		ListenPacket: func(ctx context.Context, network, address string) (net.PacketConn, error) {
			c, err := new(net.ListenConfig).ListenPacket(ctx, network, anyPort(address))
			if err == nil {
				b.found(c.LocalAddr())
			}
			return c, err
		},
	})
	must(t, err)
	t.Cleanup(func() { must(t, b.server.Close()) })
	return b
}

// listen runs a custom server in place of the page's host. handle handles one
// connection, which is closed when it returns.
func (b *bench) listen(t *testing.T, handle func(net.Conn)) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", anyPort(b.real[addresses()[pageHost]].String()))
	must(t, err)
	b.found(l.Addr())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() {
				defer c.Close()
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		must(t, l.Close())
		serving.Wait()
	})
}

// recorded is a TCP connection that records its writes.
type recorded struct {
	net.Conn
	bench *bench
}

func (r *recorded) Write(b []byte) (int, error) {
	line, _, _ := strings.Cut(string(b), "\r\n")
	r.bench.mu.Lock()
	r.bench.wire = append(r.bench.wire, line)
	r.bench.mu.Unlock()
	return r.Conn.Write(b)
}

func anyPort(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return net.JoinHostPort(host, "0")
}

func (b *bench) found(a net.Addr) {
	at := netip.MustParseAddrPort(a.String())
	b.real[at.Addr()] = at
}

// url returns the URL of a path on one of the site's hosts.
func (b *bench) url(host, path string) string {
	u := url.URL{Scheme: b.protocol.Scheme, Host: fmt.Sprintf("%s:%d", host, b.real[addresses()[host]].Port()), Path: path}
	return u.String()
}

func (b *bench) urls(host string, sizes ...int) []string {
	var all []string
	for _, size := range sizes {
		all = append(all, b.url(host, fmt.Sprintf("/%d", size)))
	}
	return all
}

// open prepares a visit that ends with the test.
func (b *bench) open(t *testing.T, resources []string) *Visit {
	t.Helper()
	v := New(b.options).Open(b.protocol, resources)
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

func (b *bench) context(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("timed out after %v", patience))
	t.Cleanup(cancel)
	return ctx
}

// sizes returns n different sizes in no particular order.
func sizes(n int) []int {
	var all []int
	for i := range n {
		all = append(all, 1+(i*7919)%20011)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
