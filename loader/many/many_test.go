package many

import (
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/site"
)

// host is the only host of the tests' page. No other package's tests use its address.
var host, address = "www.objects.test", netip.MustParseAddr("127.77.0.1")

// served starts Wiretime's own server with a page and returns the order to load it.
func served(t *testing.T, row protocol.Protocol, objects int) Order {
	t.Helper()
	page, err := site.Objects(objects, 3000)
	if err != nil {
		t.Fatal(err)
	}
	o := Order{Protocol: row.Name, Authority: filepath.Join(t.TempDir(), "authority"), Hosts: map[string]netip.Addr{host: address}}
	for _, r := range page.Resources {
		o.Page = append(o.Page, Resource{Host: host, Target: strings.TrimPrefix(r.URL, "https://"+host), Status: r.Status, Size: r.Size})
	}
	authority, err := protocol.OpenAuthority(o.Authority)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = page.Over(row.Scheme); err != nil {
		t.Fatal(err)
	}
	server, err := protocol.Serve(t.Context(), protocol.ServerConfig{
		Protocol: row, Hosts: o.Hosts, Handler: protocol.Archive(replay.Answers(page, false)), CA: authority, Unlogged: true,
		Listen: new(net.ListenConfig).Listen, ListenPacket: new(net.ListenConfig).ListenPacket,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if log := server.Log(); len(log) > 0 {
			t.Errorf("a server without a log has logged %d requests", len(log))
		}
	})
	return o
}

// TestClientsLoadAPage has clients connect and load a page over every protocol. Each opens six connections over
// HTTP/1.1 and one over all others, each connection over TLS has its own handshake, and all content arrives.
func TestClientsLoadAPage(t *testing.T) {
	const clients, rounds, objects = 5, 3, 8
	for _, row := range protocol.All() {
		t.Run(strings.ReplaceAll(row.Name, "/", "-"), func(t *testing.T) {
			o := served(t, row, objects)
			all, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(all.Leave)
			if err := all.Connect(clients); err != nil {
				t.Fatal(err)
			}
			connections := clients * o.Connections(row)
			want := Done{Connections: connections}
			if row.ALPN != "" {
				want.Handshakes, want.TLS = connections, []string{"TLS 1.3, TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256"}
			}
			if each := connections / clients; each != 6 && (each != 1 || row.Spoken == "http/1.1") {
				t.Errorf("each client has %d connections", each)
			}
			if got := all.Done(); !equal(got, want) {
				t.Errorf("connected clients did %+v, want %+v", got, want)
			}
			if err := all.Load(clients, rounds); err != nil {
				t.Fatal(err)
			}
			if err := all.Load(2, 1); err != nil {
				t.Fatal(err)
			}
			want.Pages = clients*rounds + 2
			want.Requests = want.Pages * len(o.Page)
			for _, r := range o.Page {
				want.Octets += int64(want.Pages) * r.Size
			}
			if got := all.Done(); !equal(got, want) {
				t.Errorf("clients that have loaded the page did %+v, want %+v", got, want)
			}
		})
	}
}

func equal(a, b Done) bool {
	same := slices.Equal(a.TLS, b.TLS)
	a.TLS, b.TLS = nil, nil
	return same && a.Connections == b.Connections && a.Handshakes == b.Handshakes && a.Pages == b.Pages && a.Requests == b.Requests && a.Octets == b.Octets
}

// TestEachClientHasItsOwnAddress checks that clients do not share an address, which has ports for 60,000
// connections at most.
func TestEachClientHasItsOwnAddress(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for i := range 70_000 {
		c := client{number: i}
		if a := c.local(); seen[a] || !a.IsLoopback() {
			t.Fatalf("client %d has address %v", i+1, a)
		}
		seen[c.local()] = true
	}
}

// TestAResponseThatIsNotThePages checks that clients compare each response with the page.
func TestAResponseThatIsNotThePages(t *testing.T) {
	for _, row := range protocol.All() {
		t.Run(strings.ReplaceAll(row.Name, "/", "-"), func(t *testing.T) {
			o := served(t, row, 3)
			o.Page = slices.Clone(o.Page)
			o.Page[2].Size++
			all, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(all.Leave)
			if err := all.Connect(1); err != nil {
				t.Fatal(err)
			}
			err = all.Load(1, 1)
			if err == nil || !strings.Contains(err.Error(), "client 1: GET "+o.Page[2].Target) || !strings.Contains(err.Error(), "want 200 with 3001") {
				t.Errorf("a response that is an octet short returns error %v", err)
			}
		})
	}
}

// TestClientsThatCannotConnect has orders that are invalid, no server, and a server with another authority's
// certificate.
func TestClientsThatCannotConnect(t *testing.T) {
	row, err := protocol.Lookup("https/1.1")
	if err != nil {
		t.Fatal(err)
	}
	o := served(t, row, 1)
	for name, change := range map[string]func(*Order){
		"connection refused": func(o *Order) { o.Hosts = map[string]netip.Addr{host: netip.MustParseAddr("127.77.0.2")} },
		"TLS handshake":      func(o *Order) { o.Authority = filepath.Join(t.TempDir(), "another") },
		"unknown protocol":   func(o *Order) { o.Protocol = "h4" },
		"send the first request to": func(o *Order) {
			o.Page = []Resource{{Host: host, Target: "/absent", Status: http.StatusOK}}
		},
		"the page has no resources": func(o *Order) { o.Page = nil },
		"the host img.objects.test of the resource /a has no address": func(o *Order) {
			o.Page = append(slices.Clone(o.Page), Resource{Host: "img.objects.test", Target: "/a", Status: http.StatusOK})
		},
		"the page has no resource of the host img.objects.test": func(o *Order) {
			o.Hosts = map[string]netip.Addr{host: address, "img.objects.test": address}
		},
	} {
		changed := o
		change(&changed)
		all, err := New(changed)
		if err == nil {
			err = all.Connect(3)
			all.Leave()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestAServerThatClosesItsConnections ends the server under its clients.
func TestAServerThatClosesItsConnections(t *testing.T) {
	row, err := protocol.Lookup("h2")
	if err != nil {
		t.Fatal(err)
	}
	var o Order
	var all *Clients
	t.Run("served", func(t *testing.T) {
		o = served(t, row, 2)
		if all, err = New(o); err != nil {
			t.Fatal(err)
		}
		if err := all.Connect(2); err != nil {
			t.Fatal(err)
		}
	})
	defer all.Leave()
	if err := all.Load(2, 1); err == nil || !strings.HasPrefix(err.Error(), "client ") {
		t.Errorf("a server that has closed its connections returns error %v", err)
	}
}
