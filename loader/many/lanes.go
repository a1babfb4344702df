package many

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/spdy"
)

// overTLS returns the lane on a connection whose handshake is complete.
func (c *client) overTLS(secured *tls.Conn, host string) (lane, error) {
	row := c.clients.row
	if version, ok := spdy.ParseVersion(row.ALPN); ok {
		config := &spdy.Config{Window: spdy.ChromiumWindow, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1}
		return &spdyLane{spdy.NewClient(secured, version, config), version}, nil
	}
	if row.ALPN == "h2" {
		return newHTTP2(secured, host)
	}
	return &http1{secured}, nil
}

// http1 is a connection of HTTP/1.1. It holds no buffer while no request is under way.
type http1 struct{ conn net.Conn }

// readers holds buffers that idle connections have returned.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

func (l *http1) width() int { return 1 }
func (l *http1) close()     { _ = l.conn.Close() }

func (l *http1) get(method string, r Resource) (int, int64, error) {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, r.Target, r.Host)
	for _, f := range fields() {
		fmt.Fprintf(&head, "%s: %s\r\n", f[0], f[1])
	}
	head.WriteString("\r\n")
	if _, err := io.WriteString(l.conn, head.String()); err != nil {
		return 0, 0, err
	}
	reader := readers.Get().(*bufio.Reader)
	reader.Reset(l.conn)
	defer func() {
		reader.Reset(nil)
		readers.Put(reader)
	}()
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		return 0, 0, err
	}
	status, n, err := drain(response)
	switch {
	case err != nil:
		return 0, 0, err
	case reader.Buffered() > 0:
		return 0, 0, errors.New("the server sent more than its response")
	case response.Close:
		return 0, 0, errors.New("the server closes the connection after its response")
	}
	return status, n, nil
}

// drain reads a response to its end and returns its status and the length of its content.
func drain(r *http.Response) (status int, n int64, err error) {
	n, err = io.Copy(io.Discard, r.Body)
	return r.StatusCode, n, errors.Join(err, r.Body.Close())
}

// request makes a request for net/http and quic-go.
func request(method string, r Resource) (*http.Request, error) {
	out, err := http.NewRequest(method, "https://"+r.Host+r.Target, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range fields() {
		out.Header.Set(f[0], f[1])
	}
	return out, nil
}

// http2 is a connection of HTTP/2.
type http2 struct {
	*http.ClientConn
	conn net.Conn
}

// newHTTP2 starts HTTP/2 on a connection whose handshake is complete.
func newHTTP2(secured *tls.Conn, host string) (lane, error) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true) // the handshake is done already
	t := &http.Transport{Protocols: protocols, DisableCompression: true,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return plain{secured}, nil }}
	connection, err := t.NewClientConn(context.Background(), "https", net.JoinHostPort(host, "443"))
	if err != nil {
		return nil, fmt.Errorf("start HTTP/2: %w", err)
	}
	return &http2{connection, secured}, nil
}

// plain hides a connection's TLS from net/http, which would check it.
type plain struct{ net.Conn }

func (l *http2) width() int { return 0 }

func (l *http2) get(method string, r Resource) (int, int64, error) {
	asked, err := request(method, r)
	if err != nil {
		return 0, 0, err
	}
	response, err := l.RoundTrip(asked)
	if err != nil {
		return 0, 0, err
	}
	return drain(response)
}

func (l *http2) close() {
	_ = l.conn.Close()
	_ = l.Close()
}

// spdyLane is a connection of SPDY.
type spdyLane struct {
	session *spdy.Session
	version spdy.Version
}

func (l *spdyLane) width() int { return 0 }
func (l *spdyLane) close()     { _ = l.session.Close() }

func (l *spdyLane) get(method string, r Resource) (int, int64, error) {
	names := []string{":host", ":method", ":path", ":scheme", ":version", ":status"}
	if l.version == spdy.V2 { // draft 2, "Standard Transactions"
		names = []string{"host", "method", "url", "scheme", "version", "status"}
	}
	head := []spdy.Field{
		{Name: names[0], Value: r.Host}, {Name: names[1], Value: method}, {Name: names[2], Value: r.Target},
		{Name: names[3], Value: "https"}, {Name: names[4], Value: "HTTP/1.1"},
	}
	for _, f := range fields() {
		head = append(head, spdy.Field{Name: f[0], Value: f[1]})
	}
	stream, err := l.session.Open(context.Background(), head, spdy.OpenOptions{Fin: true})
	if err != nil {
		return 0, 0, err
	}
	reply, err := stream.Reply(context.Background())
	if err != nil {
		return 0, 0, err
	}
	code := 0
	for _, f := range reply {
		if f.Name == names[5] {
			if code, err = status(f.Value); err != nil {
				return 0, 0, err
			}
		}
	}
	n, err := io.Copy(io.Discard, stream)
	return code, n, err
}

// http3Lane is a connection of HTTP/3 on a socket of its own.
type http3Lane struct {
	*http3.ClientConn
	transport *quic.Transport
	socket    net.PacketConn
}

// streamWindow and connectionWindow are the flow-control windows in octets. They equal those of net/http's HTTP/2,
// as in package loader/session.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// keepAlive is how long a connection may be silent before the client sends a PING. Servers of quic-go close
// connections after 30 s of silence, and connecting all other clients may take longer.
const keepAlive = 14 * time.Second

// handshakeLimit is how long a busy server may be silent during a handshake.
const handshakeLimit = time.Minute

// openHTTP3 opens a connection of HTTP/3.
func (c *client) openHTTP3(host string, remote netip.AddrPort) (lane, error) {
	socket, err := net.ListenPacket("udp4", netip.AddrPortFrom(c.local(), 0).String())
	if err != nil {
		return nil, err
	}
	l := &http3Lane{transport: &quic.Transport{Conn: socket}, socket: socket}
	config := &quic.Config{
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: -1, KeepAlivePeriod: keepAlive, HandshakeIdleTimeout: handshakeLimit,
	}
	connection, err := l.transport.Dial(context.Background(), net.UDPAddrFromAddrPort(remote), c.config(host), config)
	if err == nil {
		err = c.agreed(connection.ConnectionState().TLS)
	}
	if err != nil {
		l.shut()
		return nil, fmt.Errorf("QUIC handshake: %w", err)
	}
	l.ClientConn = (&http3.Transport{DisableCompression: true}).NewClientConn(connection)
	return l, nil
}

func (l *http3Lane) width() int { return 0 }

func (l *http3Lane) get(method string, r Resource) (int, int64, error) {
	asked, err := request(method, r)
	if err != nil {
		return 0, 0, err
	}
	response, err := l.RoundTrip(asked)
	if err != nil {
		return 0, 0, err
	}
	return drain(response)
}

func (l *http3Lane) close() {
	_ = l.CloseWithError(0, "")
	l.shut()
}

// shut closes the socket with all that uses it.
func (l *http3Lane) shut() {
	_ = l.transport.Close()
	_ = l.socket.Close()
}
