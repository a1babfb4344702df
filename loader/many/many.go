// Package many holds many light clients in one process, each with connections and handshakes of
// its own, to find out what clients in number cost a server. Clients know a page as a list of
// resources: they fetch the document, then all else at once. They parse nothing, keep no content
// and resolve no names.
//
// Over HTTP/1.1, with and without TLS, a client has six connections to each host, as browsers do,
// and over everything else one. Request fields are the same over all protocols.
package many

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"wiretime/protocol"
)

// Resource is a part of a page, with the response that the server must give.
type Resource struct {
	Host, Target string // Target is path and query
	Status       int
	Size         int64 // of the content, in octets
}

// Order says what the clients load, and from where. As JSON it can be sent to another process.
type Order struct {
	Protocol string // the name of a row of package protocol
	// Authority is the folder of the authority of the servers' certificates
	// (protocol.OpenAuthority).
	Authority string
	Hosts     map[string]netip.Addr
	Page      []Resource // the document first; all by GET
}

// Connections returns how many connections a client opens for a page.
func (o *Order) Connections(row protocol.Protocol) int { return len(o.Hosts) * PerHost(row) }

// PerHost returns how many connections a client has to a host.
func PerHost(row protocol.Protocol) int {
	if row.Spoken == "http/1.1" {
		return 6
	}
	return 1
}

// Done counts what clients did.
type Done struct {
	Connections, Handshakes, Pages, Requests int
	Octets                                   int64    // of content received
	TLS                                      []string // what the handshakes agreed on, each once, sorted
}

// Clients are the clients of one process. Its methods must not overlap.
type Clients struct {
	order     Order
	row       protocol.Protocol
	authority *protocol.Authority
	all       []*client

	connections, handshakes, pages, requests, octets atomic.Int64

	mu  sync.Mutex
	tls map[string]bool
}

// New returns no clients yet. It returns an error if the order names an unknown protocol, or its
// authority cannot be opened.
func New(o Order) (*Clients, error) {
	c := &Clients{order: o, tls: map[string]bool{}}
	var err error
	if c.row, err = protocol.Lookup(o.Protocol); err != nil {
		return nil, err
	}
	if c.row.ALPN != "" {
		c.authority, err = protocol.OpenAuthority(o.Authority)
	}
	return c, err
}

// The numbers of clients that do something at the same time. With more that connect, a QUIC server of
// quic-go refuses some, which keeps 32 that it has not taken notice of yet. With more pages under way,
// the queues of UDP sockets overflow, and what is sent again decides what a page costs.
const (
	connecting = 24
	loading    = 100
)

// Connect adds clients until there are n, each with all its connections. When it returns, each
// connection has its handshake and a HEAD of the document behind it: some servers wait for the first
// request before they let go of a thread, or before their kernel tells them of the connection.
func (c *Clients) Connect(n int) error {
	from := len(c.all)
	for len(c.all) < n {
		c.all = append(c.all, &client{clients: c, number: len(c.all), lanes: map[string][]lane{}})
	}
	return together(c.all[from:], connecting, (*client).connect)
}

// Load has the first n clients load the page rounds times each, all of them at once but for what
// the number loading allows. A response other than the page's is an error.
func (c *Clients) Load(n, rounds int) error {
	return together(c.all[:min(n, len(c.all))], loading, func(each *client) error {
		for range rounds {
			if err := each.load(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leave closes all connections and forgets the clients.
func (c *Clients) Leave() {
	for _, each := range c.all {
		each.close()
	}
	c.all = nil
}

// Done returns what the clients have done since New.
func (c *Clients) Done() Done {
	d := Done{
		Connections: int(c.connections.Load()), Handshakes: int(c.handshakes.Load()), Pages: int(c.pages.Load()),
		Requests: int(c.requests.Load()), Octets: c.octets.Load(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for each := range c.tls {
		d.TLS = append(d.TLS, each)
	}
	slices.Sort(d.TLS)
	return d
}

// together calls do for each client, so many at a time. The error is the first client's that
// failed; after it no more calls begin.
func together(all []*client, most int, do func(*client) error) error {
	var running sync.WaitGroup
	var failed atomic.Pointer[error]
	next := atomic.Int64{}
	for range min(most, len(all)) {
		running.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				if err := do(all[i]); err != nil {
					err = fmt.Errorf("client %d: %w", all[i].number+1, err)
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// client is one client.
type client struct {
	clients *Clients
	number  int
	lanes   map[string][]lane // connections by host
}

// lane is a connection that carries requests.
type lane interface {
	// get asks for a resource and returns status and length of the response.
	get(method string, r Resource) (status int, octets int64, err error)
	// width is how many requests may be under way at a time; 0: all of a page's.
	width() int
	close()
}

// local is the client's own address on the loopback device. With one each, clients do not run
// out of ports.
func (c *client) local() netip.Addr {
	n := c.number + 1
	return netip.AddrFrom4([4]byte{127, byte(1 + n>>16), byte(n >> 8), byte(n)})
}

func (c *client) connect() error {
	for host := range c.clients.order.Hosts {
		for range PerHost(c.clients.row) {
			l, err := c.open(host)
			if err != nil {
				return fmt.Errorf("connect to %s: %w", host, err)
			}
			c.lanes[host] = append(c.lanes[host], l)
			c.clients.connections.Add(1)
			if err := c.greet(l, host); err != nil {
				return fmt.Errorf("the first request to %s: %w", host, err)
			}
		}
	}
	return nil
}

// greet asks for the head of a host's first resource.
func (c *client) greet(l lane, host string) error {
	page := c.clients.order.Page
	r := page[slices.IndexFunc(page, func(r Resource) bool { return r.Host == host })]
	status, octets, err := l.get(http.MethodHead, r)
	if err == nil && (status != r.Status || octets != 0) {
		err = fmt.Errorf("HEAD %s: status %d with %d octets, want %d with none", r.Target, status, octets, r.Status)
	}
	return err
}

// open opens a connection to a host.
func (c *client) open(host string) (lane, error) {
	remote := netip.AddrPortFrom(c.clients.order.Hosts[host], uint16(c.clients.row.Port))
	if c.clients.row.Transport == "udp" {
		return c.openHTTP3(host, remote)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.local().AsSlice()}}
	dialer.KeepAliveConfig.Enable = false
	dialer.KeepAlive = -1
	conn, err := dialer.Dial("tcp4", remote.String())
	if err != nil {
		return nil, err
	}
	if c.clients.row.ALPN == "" {
		return &http1{conn}, nil
	}
	secured := tls.Client(conn, c.config(host))
	if err := secured.Handshake(); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS handshake: %w", err), conn.Close())
	}
	if err := c.agreed(secured.ConnectionState()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l, err := c.overTLS(secured, host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return l, nil
}

// config is the client's side of each handshake. The group of keys is the same for all servers;
// the cipher suites are those that crypto/tls offers, of which TLS_AES_128_GCM_SHA256 comes first.
func (c *client) config(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, NextProtos: []string{c.clients.row.ALPN},
		CurvePreferences:   []tls.CurveID{tls.X25519},
		InsecureSkipVerify: true, VerifyConnection: c.clients.authority.Verify,
	}
}

// agreed records a handshake. The error says that it negotiated another protocol, or was not whole.
func (c *client) agreed(s tls.ConnectionState) error {
	row := c.clients.row
	if got := s.NegotiatedProtocol; got != row.ALPN && (got != "" || row.ALPN != "http/1.1") {
		return fmt.Errorf("negotiated %q instead of %q", got, row.ALPN)
	}
	if s.DidResume {
		return errors.New("the server resumed a TLS session; every handshake must be a full one")
	}
	key := "unknown key"
	if len(s.PeerCertificates) > 0 {
		if key = s.PeerCertificates[0].PublicKeyAlgorithm.String(); s.PeerCertificates[0].PublicKeyAlgorithm == x509.ECDSA {
			key = "ECDSA P-256" // all that an authority issues
		}
	}
	terms := fmt.Sprintf("%s, %s, %s, %s", tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), s.CurveID, key)
	c.clients.handshakes.Add(1)
	c.clients.mu.Lock()
	defer c.clients.mu.Unlock()
	c.clients.tls[terms] = true
	return nil
}

// load fetches the page: its document, then everything else at once.
func (c *client) load() error {
	page := c.clients.order.Page
	if err := c.fetch(c.lanes[page[0].Host][0], page[0]); err != nil {
		return err
	}
	waiting := map[string][]Resource{}
	for _, r := range page[1:] {
		waiting[r.Host] = append(waiting[r.Host], r)
	}
	var running sync.WaitGroup
	errs := make(chan error, len(page))
	for host, all := range waiting {
		var workers []lane // a connection, as often as it takes requests at a time
		for _, l := range c.lanes[host] {
			width := l.width()
			if width == 0 {
				width = len(all)
			}
			workers = append(workers, slices.Repeat([]lane{l}, width)...)
		}
		workers = workers[:min(len(workers), len(all))]
		next := new(atomic.Int64)
		next.Store(int64(len(workers)))
		for first, l := range workers { // every connection carries a request, if there are enough
			running.Go(func() {
				for i := int64(first); i < int64(len(all)); i = next.Add(1) - 1 {
					if err := c.fetch(l, all[i]); err != nil {
						errs <- err
					}
				}
			})
		}
	}
	running.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	c.clients.pages.Add(1)
	return nil
}

// fetch fetches a resource and holds the response against it.
func (c *client) fetch(l lane, r Resource) error {
	status, octets, err := l.get(http.MethodGet, r)
	if err != nil {
		return fmt.Errorf("GET %s of %s: %w", r.Target, r.Host, err)
	}
	if status != r.Status || octets != r.Size {
		return fmt.Errorf("GET %s of %s: status %d with %d octets, want %d with %d", r.Target, r.Host, status, octets, r.Status, r.Size)
	}
	c.clients.requests.Add(1)
	c.clients.octets.Add(octets)
	return nil
}

func (c *client) close() {
	for _, lanes := range c.lanes {
		for _, l := range lanes {
			l.close()
		}
	}
}

// fields are sent with each request, beside those that a protocol needs.
func fields() [][2]string {
	return [][2]string{{"user-agent", "wiretime"}, {"accept", "*/*"}}
}

// status reads the number in a status line's or field's text, such as "200 OK".
func status(text string) (int, error) {
	digits := text[:min(3, len(text))]
	code, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("invalid status %.20q", text)
	}
	return code, nil
}
