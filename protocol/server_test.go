package protocol

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// eachRow runs a test for every protocol.
func eachRow(t *testing.T, test func(t *testing.T, p Protocol)) {
	for _, p := range All() {
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) { test(t, p) })
	}
}

func TestEveryRowServesTheSameBytes(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, nil)
		client := s.client(t)
		for url, want := range testSite() {
			response, body := s.get(t, client, "GET", url)
			if response.StatusCode != want.Status || !bytes.Equal(body, want.Body) {
				t.Errorf("%s: status %d and %d octets, want %d and %d", url, response.StatusCode, len(body), want.Status, len(want.Body))
			}
			header := http.Header{}
			for _, field := range want.Header {
				header.Add(field[0], field[1])
			}
			if want.Status != 204 && want.Status != 304 {
				header.Set("Content-Length", strconv.Itoa(len(want.Body)))
			}
			if p.Name == "h3" {
				header.Set("Alt-Svc", `h3=":443"; ma=86400`)
			}
			if got, want := flat(response.Header), flat(header); got != want {
				t.Errorf("%s: the header is\n%s\nwant\n%s", url, got, want)
			}
			spoken, ok := map[string]string{"HTTP/2.0": "h2", "HTTP/3.0": "h3"}[response.Proto]
			if !ok {
				spoken = strings.ToLower(response.Proto)
			}
			if spoken != p.Spoken {
				t.Errorf("%s came over %s, want %s", url, spoken, p.Spoken)
			}
		}
	})
}

func TestLogTellsEveryRequest(t *testing.T) {
	type entry struct {
		method, url string // without scheme
		status      int
		body        int64
		miss        bool
	}
	requests := []entry{
		{"GET", pageHost + "/", 200, 15, false},
		{"GET", pageHost + "/large", 200, 1 << 20, false},
		{"HEAD", pageHost + "/large", 200, 0, false},
		{"GET", pageHost + "/gone", 404, 16, false},
		{"GET", pageHost + "/no-content", 204, 0, false},
		{"GET", pageHost + "/missing?x=%20", 404, int64(len(missing.Body)), true},
		{"HEAD", pageHost + "/missing", 404, 0, true},
		{"GET", imageHost + "/a%2Fb%20c?q=1&r=", 200, 3, false},
	}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, nil)
		client := s.client(t)
		before := time.Now()
		for _, r := range requests {
			if response, body := s.get(t, client, r.method, r.url); response.StatusCode != r.status || int64(len(body)) != r.body {
				t.Errorf("%s %s: status %d, %d octets, want %d, %d", r.method, r.url, response.StatusCode, len(body), r.status, r.body)
			}
		}
		// Another client makes another connection to the page's host.
		s.get(t, s.client(t), "GET", pageHost+"/")
		must(t, s.Close())
		after := time.Now()

		log := s.Log()
		if len(log) != len(requests)+1 {
			t.Fatalf("%d requests are in the log, want %d", len(log), len(requests)+1)
		}
		clients := map[int64]string{}
		for i, e := range log {
			want := requests[0]
			if i < len(requests) {
				want = requests[i]
			}
			got := entry{e.Method, strings.TrimPrefix(e.URL, p.Scheme+"://"), e.Status, e.BodyBytes, e.Miss}
			if got != want {
				t.Errorf("entry %d is %+v, want %+v", i, got, want)
			}
			if e.Protocol != p.Spoken || e.Resumed {
				t.Errorf("entry %d: protocol %q, resumed %v", i, e.Protocol, e.Resumed)
			}
			if p.Scheme == "http" && (e.TLS != "" || e.Cipher != "") ||
				p.Scheme == "https" && (e.TLS != "TLS 1.3" || !strings.HasPrefix(e.Cipher, "TLS_")) {
				t.Errorf("entry %d: TLS %q with %q", i, e.TLS, e.Cipher)
			}
			host, _, _ := strings.Cut(got.url, "/")
			if e.Server != s.address(t, host) {
				t.Errorf("entry %d: the server is %s, want %s", i, e.Server, s.address(t, host))
			}
			if a, err := netip.ParseAddrPort(e.Client); err != nil || !a.Addr().IsLoopback() || a.Port() == 0 {
				t.Errorf("entry %d: the client is %q", i, e.Client)
			}
			if known, ok := clients[e.Connection]; ok && known != e.Client {
				t.Errorf("connection %d is from %s and %s", e.Connection, known, e.Client)
			}
			clients[e.Connection] = e.Client
			// The clocks agree unless the machine's clock was stepped.
			if slack := int64(time.Second); e.Start > e.End || e.Start < before.UnixNano()-slack || e.End > after.UnixNano()+slack {
				t.Errorf("entry %d ran from %d to %d, the test from %d to %d", i, e.Start, e.End, before.UnixNano(), after.UnixNano())
			}
		}
		if log[0].Connection != 1 || log[7].Connection != 2 || log[8].Connection != 3 || len(clients) != 3 {
			t.Errorf("connections are %v, want 1 and 2, one to each host, and 3 from the other client", clients)
		}
	})
}

func TestHandlerThatWritesNothingAnswers200(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) })
		response, _ := s.get(t, s.client(t), "GET", pageHost+"/")
		must(t, s.Close())
		if log := s.Log(); response.StatusCode != 200 || len(log) != 1 || log[0].Status != 200 {
			t.Errorf("status %d, log %+v", response.StatusCode, log)
		}
	})
}

func TestHandshakeIsRefused(t *testing.T) {
	offer := func(alpn ...string) func(*tls.Config) {
		return func(c *tls.Config) { c.NextProtos = alpn }
	}
	for _, c := range []struct {
		name, protocol, host string
		change               func(*tls.Config)
	}{
		{"http/1.1 of h2", "h2", pageHost, offer("http/1.1")},
		{"http/1.1 of h3", "h3", pageHost, offer("http/1.1")},
		{"h2 of https/1.1", "https/1.1", pageHost, offer("h2")},
		{"h2 of h3", "h3", pageHost, offer("h2")},
		{"h3 of h2", "h2", pageHost, offer("h3")},
		{"no ALPN of h2", "h2", pageHost, offer()},
		{"http/1.1 of spdy/3.1", "spdy/3.1", pageHost, offer("http/1.1")},
		{"spdy/3 of spdy/3.1", "spdy/3.1", pageHost, offer("spdy/3", "h2", "http/1.1")},
		{"no ALPN of spdy/2", "spdy/2", pageHost, offer()},
		{"TLS 1.2 of spdy/3", "spdy/3", pageHost, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		{"unknown host of spdy/3", "spdy/3", "www.other.test", nil},
		{"TLS 1.2 of https/1.1", "https/1.1", pageHost, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		{"TLS 1.2 of h2", "h2", pageHost, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		{"unknown host of https/1.1", "https/1.1", "www.other.test", nil},
		{"unknown host of h2", "h2", "www.other.test", nil},
		{"unknown host of h3", "h3", "www.other.test", nil},
		{"no host of h2", "h2", "127.0.0.1", nil}, // an address is never sent as SNI
		{"no host of h3", "h3", "127.0.0.1", nil},
	} {
		t.Run(strings.ReplaceAll(c.name, "/", "-"), func(t *testing.T) {
			s := serve(t, c.protocol, nil)
			if _, err := s.shakeHands(t, pageHost, func(*tls.Config) {}); err != nil {
				t.Fatalf("a valid handshake failed: %v", err)
			}
			_, err := s.shakeHands(t, c.host, func(config *tls.Config) {
				// The client's opinion of the certificate does not matter here.
				config.InsecureSkipVerify = true
				if c.change != nil {
					c.change(config)
				}
			})
			// Only an alert shows that the server refused.
			var tcp *net.OpError
			var udp *quic.TransportError
			if !(errors.As(err, &tcp) && tcp.Op == "remote error") && !(errors.As(err, &udp) && udp.Remote) {
				t.Errorf("error is %v, want an alert from the server", err)
			}
		})
	}
}

func TestNoConnectionResumesAnother(t *testing.T) {
	for _, name := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			s := serve(t, name, nil)
			cache := tls.NewLRUClientSessionCache(8)
			for range 2 {
				// The request leaves the ticket time to arrive.
				client := s.client(t)
				keepSessions(client, cache)
				response, _ := s.get(t, client, "GET", pageHost+"/large")
				if response.TLS.DidResume {
					t.Error("the client resumed a session")
				}
				client.CloseIdleConnections()
			}
			must(t, s.Close())
			log := s.Log()
			if len(log) != 2 || log[0].Connection == log[1].Connection || log[0].Resumed || log[1].Resumed {
				t.Errorf("the log is %+v, want two connections, none resumed", log)
			}
		})
	}
}

func TestKeyLogHoldsEveryConnection(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		var keys bytes.Buffer
		s := serve(t, p.Name, func(c *ServerConfig) { c.KeyLog = &keys })
		for range 2 {
			s.get(t, s.client(t), "GET", pageHost+"/")
		}
		must(t, s.Close())
		randoms := map[string]bool{}
		for line := range strings.Lines(keys.String()) {
			if label, rest, _ := strings.Cut(line, " "); label == "SERVER_TRAFFIC_SECRET_0" {
				randoms[strings.Fields(rest)[0]] = true
			}
		}
		if want := map[string]int{"http": 0, "https": 2}[p.Scheme]; len(randoms) != want {
			t.Errorf("secrets of %d connections, want %d:\n%s", len(randoms), want, keys.String())
		}
	})
}

func TestLostPackets(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, nil)
		// A large body might overrun the socket's buffer on a busy machine.
		s.get(t, s.client(t), "GET", pageHost+"/")
		want := map[string]int{"tcp": -1, "udp": 0}[p.Transport]
		if got := s.LostPackets(); got != want {
			t.Errorf("%d packets were lost on a clean path, want %d", got, want)
		}
	})
	t.Run("a lossy path", func(t *testing.T) {
		s := serve(t, "h3", func(c *ServerConfig) {
			clean := c.ListenPacket
			c.ListenPacket = func(ctx context.Context, network, address string) (net.PacketConn, error) {
				socket, err := clean(ctx, network, address)
				return &lossy{UDPConn: socket.(*net.UDPConn)}, err
			}
		})
		_, body := s.get(t, s.client(t), "GET", pageHost+"/large")
		if got := s.LostPackets(); len(body) != 1<<20 || got < 1 {
			t.Errorf("%d octets arrived, want all of them; %d packets were lost, want some", len(body), got)
		}
	})
}

// lossy drops every 20th packet or batch of packets sent.
type lossy struct {
	*net.UDPConn
	sent atomic.Int64
}

// WriteMsgUDP is the method with which quic-go sends.
func (l *lossy) WriteMsgUDP(b, oob []byte, to *net.UDPAddr) (n, oobn int, err error) {
	if l.sent.Add(1)%20 == 0 {
		return len(b), len(oob), nil
	}
	return l.UDPConn.WriteMsgUDP(b, oob, to)
}

// TestRowsAllowAsManyRequestsAtOnce holds every request back until all have
// arrived, so a server that queues them would never finish.
func TestRowsAllowAsManyRequestsAtOnce(t *testing.T) {
	for _, name := range []string{"spdy/2", "spdy/3", "spdy/3.1", "h2", "h3"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			var waiting atomic.Int64
			all := make(chan struct{})
			s := serve(t, name, func(c *ServerConfig) {
				c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if waiting.Add(1) == concurrentRequests {
						close(all)
					}
					select {
					case <-all:
					case <-r.Context().Done():
					}
				})
			})
			client := s.client(t)
			failures := make(chan error, concurrentRequests)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for i := range concurrentRequests {
				go func() {
					request, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("https://%s/%d", pageHost, i), nil)
					response, err := client.Do(request)
					if err == nil {
						_, err = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
					failures <- err
				}()
			}
			for range concurrentRequests {
				if err := <-failures; err != nil {
					t.Fatalf("%d requests were in flight at once, want %d: %v", waiting.Load(), concurrentRequests, err)
				}
			}
		})
	}
}

// TestHTTP3HasNoDynamicTable checks the package documentation against what
// quic-go announces (SETTINGS_QPACK_MAX_TABLE_CAPACITY, RFC 9204 section 5).
func TestHTTP3HasNoDynamicTable(t *testing.T) {
	s := serve(t, "h3", nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := quic.DialAddr(ctx, s.address(t, pageHost), &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{"h3"}}, nil)
	must(t, err)
	defer c.CloseWithError(0, "")
	h := new(http3.Transport).NewClientConn(c)
	select {
	case <-h.ReceivedSettings():
	case <-ctx.Done():
		t.Fatal("no SETTINGS received")
	}
	if capacity := h.Settings().Other[0x01]; capacity != 0 {
		t.Errorf("the server's QPACK table may hold %d octets: correct the package documentation", capacity)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		began, release := make(chan struct{}), make(chan struct{})
		var returned atomic.Bool
		s := serve(t, p.Name, func(c *ServerConfig) {
			archive := c.Handler
			c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					close(began)
					<-r.Context().Done() // the connection is closed meanwhile
					<-release
					returned.Store(true)
				}
				archive.ServeHTTP(w, r)
			})
		})
		idle, busy := s.client(t), s.client(t)
		s.get(t, idle, "GET", pageHost+"/")
		failed := make(chan error, 1)
		go func() {
			response, err := busy.Get(p.Scheme + "://" + pageHost + "/slow")
			if err == nil {
				_ = response.Body.Close()
			}
			failed <- err
		}()
		<-began
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-failed:
			if err == nil {
				t.Error("the request in flight was answered")
			}
		case <-time.After(patience):
			t.Fatal("the request in flight was not cut off")
		}
		select {
		case err := <-closed:
			t.Fatalf("Close did not wait for the handler: %v", err)
		default:
		}
		close(release)
		select {
		case err := <-closed:
			must(t, err)
		case <-time.After(patience):
			t.Fatal("Close does not return")
		}
		if !returned.Load() {
			t.Error("Close returned before the handler")
		}
		if log := s.Log(); len(log) != 2 {
			t.Errorf("the log has %d entries, want the answered one and the one that was cut off", len(log))
		}
		for _, host := range []string{pageHost, imageHost} {
			address := s.address(t, host)
			if p.Transport == "udp" {
				socket, err := net.ListenPacket("udp4", address)
				must(t, err)
				must(t, socket.Close())
			} else {
				if c, err := net.DialTimeout("tcp", address, patience); err == nil {
					_ = c.Close()
					t.Errorf("%s still accepts connections", address)
				}
				listener, err := net.Listen("tcp4", address)
				must(t, err)
				must(t, listener.Close())
			}
		}
		must(t, s.Close()) // closing again does no harm
	})
}

func TestListenersAreAskedForByTheProtocolsPort(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		// Two hosts on one address share its listener.
		s := serve(t, p.Name, func(c *ServerConfig) { c.Hosts["s1.page.test"] = c.Hosts[imageHost] })
		var asked []string
		for address := range s.real {
			asked = append(asked, address)
		}
		slices.Sort(asked)
		port := strconv.Itoa(p.Port)
		if want := []string{"127.0.0.1:" + port, "127.0.0.2:" + port}; !slices.Equal(asked, want) {
			t.Errorf("the server listens on %v, want %v", asked, want)
		}
	})
}

func TestServeLeavesNothingOpenWhenItFails(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		var first string
		refuse := errors.New("refused for the test")
		_, err := Serve(t.Context(), ServerConfig{
			Protocol: p, CA: testAuthority(t), Handler: http.NotFoundHandler(),
			Hosts: map[string]netip.Addr{pageHost: netip.MustParseAddr("127.0.0.1"), imageHost: netip.MustParseAddr("127.0.0.2")},
			Listen: func(_ context.Context, network, address string) (net.Listener, error) {
				if first != "" {
					return nil, refuse
				}
				l, err := net.Listen(network, freePort(address))
				must(t, err)
				first = l.Addr().String()
				return l, nil
			},
			ListenPacket: func(_ context.Context, network, address string) (net.PacketConn, error) {
				if first != "" {
					return nil, refuse
				}
				l, err := net.ListenPacket(network, freePort(address))
				must(t, err)
				first = l.LocalAddr().String()
				return l, nil
			},
		})
		if !errors.Is(err, refuse) || !strings.Contains(err.Error(), p.Name) || !strings.Contains(err.Error(), "127.0.0.2:"+strconv.Itoa(p.Port)) {
			t.Errorf("error is %v, want the cause, the protocol and the address", err)
		}
		if p.Transport == "udp" {
			socket, err := net.ListenPacket("udp4", first)
			must(t, err)
			must(t, socket.Close())
			return
		}
		listener, err := net.Listen("tcp4", first)
		must(t, err)
		must(t, listener.Close())
	})
}
