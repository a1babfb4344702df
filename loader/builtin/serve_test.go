package builtin

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/protocol"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 30 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func row(t *testing.T, name string) protocol.Protocol {
	t.Helper()
	p, err := protocol.Lookup(name)
	must(t, err)
	return p
}

// network knows where the tests' servers are: the addresses of hosts, and the real
// ports behind those in URLs, which may be taken or forbidden.
type network struct {
	hosts map[string]netip.Addr

	mu   sync.Mutex
	real map[netip.AddrPort]netip.AddrPort // by the address that clients use
	mask map[netip.AddrPort]netip.AddrPort // the other way round
}

func newNetwork(hosts []string) *network {
	n := &network{hosts: map[string]netip.Addr{}, real: map[netip.AddrPort]netip.AddrPort{}, mask: map[netip.AddrPort]netip.AddrPort{}}
	address := netip.MustParseAddr("127.0.0.1")
	for _, host := range hosts {
		address = address.Next()
		n.hosts[host] = address
	}
	return n
}

func (n *network) resolve(_ context.Context, host string) (netip.Addr, error) {
	if a, ok := n.hosts[host]; ok {
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("%s does not exist", host)
}

// is maps the port that clients use to the real one.
func (n *network) is(believed, real string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, r := netip.MustParseAddrPort(believed), netip.MustParseAddrPort(real)
	n.real[b], n.mask[r] = r, b
}

func (n *network) listen(ctx context.Context, kind, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, kind, netip.AddrPortFrom(netip.MustParseAddrPort(address).Addr(), 0).String())
	if err == nil {
		n.is(address, l.Addr().String())
	}
	return l, err
}

func (n *network) listenUDP(ctx context.Context, kind, address string) (net.PacketConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, kind, netip.AddrPortFrom(netip.MustParseAddrPort(address).Addr(), 0).String())
	if err == nil {
		n.is(address, c.LocalAddr().String())
	}
	return c, err
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	real, ok := n.real[netip.MustParseAddrPort(address)]
	n.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no listener on %s", address)
	}
	return new(net.Dialer).DialContext(ctx, kind, real.String())
}

// masked is a client's UDP socket on which servers appear under the addresses that
// clients use.
type masked struct {
	net.PacketConn
	n *network
}

func (n *network) socket(ctx context.Context, kind, address string) (net.PacketConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, kind, address)
	return masked{c, n}, err
}

func translate(from map[netip.AddrPort]netip.AddrPort, a net.Addr) net.Addr {
	if to, ok := from[a.(*net.UDPAddr).AddrPort()]; ok {
		return net.UDPAddrFromAddrPort(to)
	}
	return a
}

func (m masked) WriteTo(b []byte, to net.Addr) (int, error) {
	m.n.mu.Lock()
	to = translate(m.n.real, to)
	m.n.mu.Unlock()
	return m.PacketConn.WriteTo(b, to)
}

func (m masked) ReadFrom(b []byte) (int, net.Addr, error) {
	size, from, err := m.PacketConn.ReadFrom(b)
	if err == nil {
		m.n.mu.Lock()
		from = translate(m.n.mask, from)
		m.n.mu.Unlock()
	}
	return size, from, err
}

// bench is a server of some hosts, and a loader that finds it.
type bench struct {
	*network
	protocol protocol.Protocol
	server   *protocol.Server
	loader   *Loader
	config   Config
}

func newBench(t *testing.T, p protocol.Protocol, handler http.Handler, hosts ...string) *bench {
	t.Helper()
	authority, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	b := &bench{network: newNetwork(hosts), protocol: p, config: Config{Protocol: p}}
	b.server, err = protocol.Serve(t.Context(), protocol.ServerConfig{
		Protocol: p, Hosts: b.hosts, Handler: handler, CA: authority, Listen: b.listen, ListenPacket: b.listenUDP,
		Resume: true, EarlyData: p.Transport == "udp",
	})
	must(t, err)
	t.Cleanup(func() { must(t, b.server.Close()) })
	b.loader = New(Options{Verify: authority.Verify, Dial: b.dial, ListenPacket: b.socket, Resolve: b.resolve})
	return b
}

func (b *bench) open(t *testing.T) *Visit {
	t.Helper()
	v, err := b.loader.Open(b.config)
	must(t, err)
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

// load loads a page in its own session.
func (b *bench) load(t *testing.T, page string) (*capture.HAR, capture.Timing, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return b.open(t).Load(ctx, page)
}

// pageHost is the host of the tests' own pages.
const pageHost = "www.page.test"

// file is the tests' server's response to a path.
type file struct {
	header http.Header
	body   []byte
}

// text returns a file of a given type.
func text(contentType, body string) file {
	return file{http.Header{"Content-Type": {contentType}}, []byte(body)}
}

func html(body string) file { return text("text/html", "<!DOCTYPE html>"+body) }

// files answers with files by path, and with 404 otherwise.
func files(all map[string]file) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := all[r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		maps.Copy(w.Header(), f.header)
		if location := f.header.Get("Location"); location != "" {
			w.WriteHeader(http.StatusFound)
		}
		_, _ = w.Write(f.body)
	})
}

// paths returns the paths of a HAR's requests, in order.
func paths(har *capture.HAR) []string {
	var all []string
	for _, e := range har.Log.Entries {
		_, path, _ := strings.Cut(e.Request.URL, pageHost)
		all = append(all, path)
	}
	return all
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}
