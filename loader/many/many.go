// Package many runs many light clients in one process, each with its own connections and handshakes, to
// measure what a large number of clients costs a server. A client gets the page as a list of resources: it
// fetches the document, then everything else at once. It parses nothing, keeps no content and resolves no
// names.
//
// A client opens six connections to each host over HTTP/1.1, with and without TLS, as browsers do, and one
// over every other protocol. Request fields are the same over all protocols.
//
// Requests have no time limit. The process of the clients is meant to be killed if a server does not answer.
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

// Resource describes a resource of a page and the response that the server must send.
type Resource struct {
	Host, Target string // Target is path and query
	Status       int
	Size         int64 // of the content, in octets
}

// Order says what the clients load, and from where. It can be sent to another process as JSON.
type Order struct {
	Protocol string // the name of a row of package protocol
	// Authority is the folder of the authority that issues the servers' certificates
	// (protocol.OpenAuthority).
	Authority string
	Hosts     map[string]netip.Addr // the address of each host
	Page      []Resource            // the document first; all fetched with GET
}

// Connections returns how many connections a client opens: PerHost to each host.
func (o *Order) Connections(row protocol.Protocol) int { return len(o.Hosts) * PerHost(row) }

// PerHost returns how many connections a client opens to a host.
func PerHost(row protocol.Protocol) int {
	if row.Spoken == "http/1.1" {
		return 6
	}
	return 1
}

// Done counts what clients have done.
type Done struct {
	Connections int      // opened
	Handshakes  int      // of TLS, completed
	Pages       int      // loaded
	Requests    int      // answered while pages were loaded: not the first one of each connection
	Octets      int64    // of content received
	TLS         []string // the distinct terms that handshakes agreed on, sorted: version, cipher suite, group and key
}

// Clients holds the clients of one process. Calls of its methods must not overlap.
type Clients struct {
	order     Order
	row       protocol.Protocol
	authority *protocol.Authority
	all       []*client

	connections, handshakes, pages, requests, octets atomic.Int64

	mu  sync.Mutex
	tls map[string]bool
}

// New prepares for clients, without any yet. It returns an error if the order names an unknown protocol, if its
// page is empty, if the page does not have resources of exactly its hosts, or if its authority cannot be opened.
func New(o Order) (*Clients, error) {
	c := &Clients{order: o, tls: map[string]bool{}}
	var err error
	if c.row, err = protocol.Lookup(o.Protocol); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if c.row.ALPN != "" {
		c.authority, err = protocol.OpenAuthority(o.Authority)
	}
	return c, err
}

// check returns an error unless the order has a document, and resources of exactly its hosts.
func (o *Order) check() error {
	if len(o.Page) == 0 {
		return errors.New("the page has no resources")
	}
	used := map[string]bool{}
	for _, r := range o.Page {
		if _, known := o.Hosts[r.Host]; !known {
			return fmt.Errorf("the host %s of the resource %s has no address", r.Host, r.Target)
		}
		used[r.Host] = true
	}
	for host := range o.Hosts {
		if !used[host] {
			return fmt.Errorf("the page has no resource of the host %s", host)
		}
	}
	return nil
}

// connecting and loading limit how many clients do so at the same time. A server of quic-go queues 32
// connections that it has not accepted yet and refuses further ones. With more than 100 pages under way the
// queues of UDP sockets overflow, and retransmissions dominate what a page costs.
const (
	connecting = 24
	loading    = 100
)

// Connect adds clients until there are n, each with all its connections. Each connection completes its handshake and
// a HEAD request for its host's first resource: some servers keep a thread busy until the first request, or hear of
// a connection from their kernel only then. The error is that of the first client that failed.
func (c *Clients) Connect(n int) error {
	from := len(c.all)
	for len(c.all) < n {
		c.all = append(c.all, &client{clients: c, number: len(c.all), lanes: map[string][]lane{}})
	}
	return together(c.all[from:], connecting, (*client).connect)
}

// Load has the first n clients, or all if there are fewer, load the page rounds times each. Up to 100 clients
// load at the same time. A response with another status or length than the page's is an error.
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

// together calls do for each client, at most so many at a time. It returns the error of the first client that
// fails, and starts no more calls after it.
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

// client has its connections to each host.
type client struct {
	clients *Clients
	number  int
	lanes   map[string][]lane // connections by host
}

// lane is a connection that carries requests.
type lane interface {
	// get requests a resource and returns the status of the response and the length of its content.
	get(method string, r Resource) (status int, octets int64, err error)
	// width returns how many requests may be under way at a time; 0: all of a page's.
	width() int
	close()
}

// local returns the client's own address on the loopback device. Clients that shared an address would run out
// of ports.
func (c *client) local() netip.Addr {
	n := c.number + 1
	return netip.AddrFrom4([4]byte{127, byte(1 + n>>16), byte(n >> 8), byte(n)})
}

// connect opens all connections and sends a request on each.
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
				return fmt.Errorf("send the first request to %s: %w", host, err)
			}
		}
	}
	return nil
}

// greet requests the head of a host's first resource.
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

// config returns the client's TLS configuration. It offers X25519 alone, so that handshakes cost the same with
// all servers, and the cipher suites of crypto/tls, TLS_AES_128_GCM_SHA256 first.
func (c *client) config(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, NextProtos: []string{c.clients.row.ALPN},
		CurvePreferences:   []tls.CurveID{tls.X25519},
		InsecureSkipVerify: true, VerifyConnection: c.clients.authority.Verify,
	}
}

// agreed records a handshake. It returns an error if the handshake negotiated another protocol or resumed a session.
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
			key = "ECDSA P-256" // an authority issues no others
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
		var workers []lane // each connection as often as it takes requests at a time
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
		for first, l := range workers { // every connection carries a request if there are enough
			running.Go(func() {
				for i := int64(first); i < int64(len(all)); i = next.Add(1) - 1 {
					if err := c.fetch(l, all[i]); err != nil {
						errs <- err
						return
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

// fetch fetches a resource, and returns an error if the response is not the expected one.
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

// fields returns what each request has in addition to the fields that a protocol needs.
func fields() [][2]string {
	return [][2]string{{"user-agent", "wiretime"}, {"accept", "*/*"}}
}

// status parses the code at the start of a status, as in "200 OK".
func status(text string) (int, error) {
	digits := text[:min(3, len(text))]
	code, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("invalid status %.20q", text)
	}
	return code, nil
}
