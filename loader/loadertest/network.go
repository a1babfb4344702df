// Package loadertest runs servers on loopback addresses for tests of loaders.
package loadertest

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

	"wiretime/protocol"
)

// PageHost and ImageHost are the hosts of a new Network. Each has its own address.
const (
	PageHost  = "www.page.test"
	ImageHost = "img.page.test"
)

// Network knows where servers listen. Their ports are not the protocols' own, which may be taken
// or forbidden, so URLs contain them.
type Network struct {
	// Authority issues the servers' certificates.
	Authority *protocol.Authority
	// Hosts are the addresses of hosts.
	Hosts map[string]netip.Addr
	// Ports are the ports on which servers listen. Only change them before the first request.
	Ports map[netip.Addr]uint16

	mu      sync.Mutex
	lookups []string
}

// New returns a network without servers.
func New(t testing.TB) *Network {
	t.Helper()
	authority, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	return &Network{
		Authority: authority, Ports: map[netip.Addr]uint16{},
		Hosts: map[string]netip.Addr{PageHost: netip.MustParseAddr("127.0.0.1"), ImageHost: netip.MustParseAddr("127.0.0.2")},
	}
}

// Serve starts the lab's server for all hosts. It is closed when the test ends.
func (n *Network) Serve(t testing.TB, p protocol.Protocol, handler http.Handler) *protocol.Server {
	t.Helper()
	server, err := protocol.Serve(t.Context(), protocol.ServerConfig{
		Protocol: p, Hosts: n.Hosts, Handler: handler, CA: n.Authority,
		Listen: func(ctx context.Context, network, address string) (net.Listener, error) {
			return n.Listen(ctx, network, anyPort(address))
		},
		ListenPacket: func(ctx context.Context, network, address string) (net.PacketConn, error) {
			return n.ListenPacket(ctx, network, anyPort(address))
		},
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	return server
}

// Handle starts a TCP server for PageHost. serve handles one connection, which is closed when it
// returns.
func (n *Network) Handle(t testing.TB, serve func(net.Conn)) {
	t.Helper()
	l, err := n.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		must(t, l.Close())
		serving.Wait()
	})
}

// Listen listens on a TCP address, which URLs of its hosts contain from now on.
func (n *Network) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err == nil {
		n.found(l.Addr())
	}
	return l, err
}

// ListenPacket is Listen for UDP.
func (n *Network) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, network, address)
	if err == nil {
		n.found(c.LocalAddr())
	}
	return c, err
}

func (n *Network) found(a net.Addr) {
	at := netip.MustParseAddrPort(a.String())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Ports[at.Addr()] = at.Port()
}

// Resolve returns the address of a host.
func (n *Network) Resolve(_ context.Context, host string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, host)
	if a, ok := n.Hosts[host]; ok {
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("%s does not exist", host)
}

// Lookups returns the hosts that Resolve was called with, in order.
func (n *Network) Lookups() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lookups
}

// URL returns the URL of a path on a host.
func (n *Network) URL(scheme, host, path string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	u := url.URL{Scheme: scheme, Host: fmt.Sprintf("%s:%d", host, n.Ports[n.Hosts[host]]), Path: path}
	return u.String()
}

// EachRow runs a test for every protocol.
func EachRow(t *testing.T, test func(t *testing.T, p protocol.Protocol)) {
	for _, p := range protocol.All() {
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) { test(t, p) })
	}
}

func anyPort(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return net.JoinHostPort(host, "0")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
