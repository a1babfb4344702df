package critical

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/spdy"
)

// recorder turns what a client's sockets send and receive into packets.
type recorder struct {
	mu      sync.Mutex
	packets capture.Packets
	keys    bytes.Buffer
	next    [2]uint32 // TCP positions
}

func (r *recorder) note(outbound bool, packet []byte) {
	from := 1
	if outbound {
		from = 0
	}
	id := uint64(len(r.packets.Records))
	now := int64(epoch) + int64(id)*1e6
	r.packets.Records = append(r.packets.Records,
		capture.PacketRecord{Interface: from, Time: now, ID: id, Data: packet},
		capture.PacketRecord{Interface: 1 - from, Time: now + 50e6, Inbound: true, ID: id, Data: packet})
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys.Write(b)
}

// stream records a TCP connection.
type stream struct {
	net.Conn
	*recorder
}

func (s stream) pass(outbound bool, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range slices.Chunk(b, 1000) {
		if outbound {
			s.note(true, fromClient(1+s.next[0], string(b)))
			s.next[0] += uint32(len(b))
		} else {
			s.note(false, fromServer(1+s.next[1], string(b)))
			s.next[1] += uint32(len(b))
		}
	}
}

func (s stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.pass(false, b[:n])
	return n, err
}

func (s stream) Write(b []byte) (int, error) {
	s.pass(true, b)
	return s.Conn.Write(b)
}

// datagrams records a UDP socket.
type datagrams struct {
	net.PacketConn
	*recorder
}

const (
	clientUDP = "10.0.0.2:4000"
	serverUDP = "10.0.1.2:443"
)

func (d datagrams) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := d.PacketConn.ReadFrom(b)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.note(false, datagram(serverUDP, clientUDP, string(b[:n])))
	}
	return n, from, err
}

func (d datagrams) WriteTo(b []byte, to net.Addr) (int, error) {
	d.mu.Lock()
	d.note(true, datagram(clientUDP, serverUDP, string(b)))
	d.mu.Unlock()
	return d.PacketConn.WriteTo(b, to)
}

// bodySize is the size of each response: enough to make QUIC update its keys once.
// hintSize is the size of what precedes it.
const bodySize, hintSize = 100_000, 6000

// TestReadsWhatIsSent fetches three URLs with real programs, and finds each request
// and its whole response in the recorded packets.
func TestReadsWhatIsSent(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", strings.Repeat("x", hintSize))
		w.WriteHeader(http.StatusEarlyHints) // on protocols that have them
		w.Header().Del("Link")
		_, _ = w.Write(make([]byte, bodySize))
	})
	certificate := selfSigned(t)
	for _, name := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			r.packets.Interfaces = []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}
			serving := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
			asking := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: r, MinVersion: tls.VersionTLS13}
			var base string
			var transport http.RoundTripper
			if name == "h3" {
				base, transport = quicPair(t, r, handler, serving, asking)
			} else {
				base, transport = tcpPair(t, r, name, handler, serving, asking)
			}
			for _, path := range []string{"/a", "/b?c=d", "/e"} {
				get(t, transport, base+path)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.packets.Secrets = r.keys.Bytes()
			checkExchanges(t, readTraffic(&evidence.Evidence{Packets: &r.packets}), base)
		})
	}
}

func get(t *testing.T, transport http.RoundTripper, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); n != bodySize || err != nil {
		t.Fatalf("%s answered %d octets, %v", url, n, err)
	}
}

func checkExchanges(t *testing.T, traffic *traffic, base string) {
	t.Helper()
	if len(traffic.connections) != 1 {
		t.Fatalf("%d connections, want 1", len(traffic.connections))
	}
	var urls []string
	for _, x := range traffic.connections[0].exchanges {
		urls = append(urls, x.url)
		octets := int64(0)
		for _, n := range x.needs[down] {
			if n.own {
				octets += n.to - n.from
			}
		}
		// A segment may also hold octets of others before and after.
		if octets < bodySize || octets > bodySize+hintSize+5000 || len(x.needs[up]) == 0 {
			t.Errorf("%s: %d octets of response in %d segments, %d of request", x.url, octets, len(x.needs[down]), len(x.needs[up]))
		}
	}
	if want := []string{base + "/a", base + "/b?c=d", base + "/e"}; !slices.Equal(urls, want) {
		t.Errorf("found %q, want %q", urls, want)
	}
}

// tcpPair serves on loopback and returns a recorded client.
func tcpPair(t *testing.T, r *recorder, name string, handler http.Handler, serving, asking *tls.Config) (string, http.RoundTripper) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, TLSConfig: serving}
	if name == "spdy/3.1" {
		if err := (&spdy.Server{Handler: handler}).Configure(s); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	asking.NextProtos = []string{name}
	if name == "https/1.1" {
		asking.NextProtos = []string{"http/1.1"}
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secured := tls.Client(stream{c, r}, asking)
		return secured, secured.HandshakeContext(ctx)
	}
	base := "https://" + listener.Addr().String()
	if name == "spdy/3.1" {
		c, err := dial(t.Context(), "tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return base, spdyTripper{spdy.NewClient(c, spdy.V31, &spdy.Config{})}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(name == "https/1.1")
	protocols.SetHTTP2(name == "h2")
	transport := &http.Transport{DialTLSContext: dial, Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return base, transport
}

// spdyTripper sends requests over one session.
type spdyTripper struct{ *spdy.Session }

func (s spdyTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	stream, err := s.Open(r.Context(), []spdy.Field{
		{Name: ":host", Value: r.URL.Host}, {Name: ":method", Value: "GET"}, {Name: ":path", Value: r.URL.RequestURI()},
		{Name: ":scheme", Value: "https"}, {Name: ":version", Value: "HTTP/1.1"},
	}, spdy.OpenOptions{Fin: true})
	if err != nil {
		return nil, err
	}
	_, err = stream.Reply(r.Context())
	return &http.Response{Body: stream}, err
}

func quicPair(t *testing.T, r *recorder, handler http.Handler, serving, asking *tls.Config) (string, http.RoundTripper) {
	listen := func() net.PacketConn {
		c, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	socket := listen()
	s := &http3.Server{Handler: handler, TLSConfig: http3.ConfigureTLSConfig(serving)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(socket)
	}()
	own := &quic.Transport{Conn: datagrams{listen(), r}}
	transport := &http3.Transport{
		TLSClientConfig: asking,
		Dial: func(ctx context.Context, _ string, config *tls.Config, q *quic.Config) (*quic.Conn, error) {
			return own.Dial(ctx, socket.LocalAddr(), config, q)
		},
	}
	t.Cleanup(func() {
		_ = transport.Close()
		_ = own.Close()
		_ = s.Close()
		<-done
	})
	return "https://" + socket.LocalAddr().String(), transport
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
