package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/media/storage"
	"wiretime/panics"
	"wiretime/protocol"
)

// writeSize is how many octets of content the server passes to a connection per write.
const writeSize = 1 << 16

// ServerConfig says what to serve, how and where.
type ServerConfig struct {
	Transport Transport
	// Address is where to serve. Port 0 picks any free port: see Server.Address. With SCTP it
	// is the association's only address on this side.
	Address netip.AddrPort
	Host    Host
	Storage storage.Storage
	// CA issues the server's certificates, for any name that clients ask for. Rows
	// without encryption need none.
	CA *protocol.Authority
	// Patience is how long the server waits for a client to accept octets before it drops the
	// client; 0 is DefaultPatience.
	Patience time.Duration
	// Idle is how long a client may go without a request that is being answered, before the server
	// closes its connection; 0 means no limit. With a limit, the first request must arrive within
	// Patience.
	Idle time.Duration
	// MaxConnections is how many connections there may be at a time; 0 means no limit. Further ones
	// wait until others have ended. Over QUIC they are refused.
	MaxConnections int
	// Report, if not nil, receives what keeps the server from accepting connections: errors after
	// which it tries again, reaching MaxConnections, and an error that ends accepting, which Close
	// returns too. It is called by one goroutine at a time.
	Report func(error)
	// KeyLog receives the secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// QLog is as in ClientConfig.
	QLog func(connection string) io.WriteCloser
	// SlowStart, if not nil and there is no QLog, is told the congestion window in octets with which
	// a QUIC connection leaves slow start for the first time. Connections call it at any time.
	SlowStart func(octets int)
	// Answered, if not nil, receives each request in place of Log, one at a time; Log then
	// stays empty.
	Answered func(capture.ServerEntry)
}

// Server serves one storage over one transport. It resumes TLS sessions and accepts 0-RTT
// data: requests only read, so replaying them is harmless (RFC 8446 appendix E.5).
type Server struct {
	config  ServerConfig
	tls     *tls.Config
	address netip.AddrPort
	ctx     context.Context // ends when the server is closed
	cancel  context.CancelFunc
	serving panics.Group
	slots   chan struct{} // holds an element for each connection; nil means no limit

	mu          sync.Mutex
	closed      bool
	listeners   []io.Closer
	connections map[io.Closer]bool
	stopped     error // why no more connections are accepted
	count       int64 // of connections so far
	log         []capture.ServerEntry
}

// Serve starts a server. It is ready when Serve returns, and serves until Close; ctx
// applies only to the start. The error wraps ErrNoSCTP or ErrNoMPTCP if the host lacks it.
func Serve(ctx context.Context, c ServerConfig) (*Server, error) {
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	s := &Server{config: c, connections: map[io.Closer]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.serving.Guard = panics.From(ctx)
	if c.MaxConnections > 0 {
		s.slots = make(chan struct{}, c.MaxConnections)
	}
	err := c.Transport.Available(c.Host)
	if err == nil && c.Transport.Encrypted {
		err = s.secure()
	}
	if err == nil {
		err = c.Transport.serve(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve media over %s at %v: %w", c.Transport.Name, c.Address, err), s.Close())
	}
	return s, nil
}

// secure sets up the server's side of handshakes: only TLS 1.3 and our protocol.
func (s *Server) secure() error {
	if s.config.CA == nil {
		return errors.New("no certificate authority")
	}
	s.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn}, KeyLogWriter: s.config.KeyLog,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			// crypto/tls accepts clients that offer no protocol.
			if !slices.Contains(hello.SupportedProtos, alpn) {
				return nil, fmt.Errorf("the client offers %q, not %s", hello.SupportedProtos, alpn)
			}
			return s.config.CA.Certificate(hello.ServerName)
		},
	}
	return nil
}

// Address returns the address where the server listens.
func (s *Server) Address() netip.AddrPort { return s.address }

// listens records the server's address and the listener to close at the end.
func (s *Server) listens(at netip.AddrPort, listener io.Closer) {
	s.address = at
	s.listeners = append(s.listeners, listener)
}

// accepts listens, and serves each connection on its own goroutine until the server is closed.
func (s *Server) accepts(listener net.Listener, serve func(net.Conn)) {
	s.listens(addressOf(listener.Addr()), listener)
	s.acceptAll(func() (func(), error) {
		conn, err := listener.Accept()
		return func() { serve(conn) }, err
	})
}

// joins numbers a new connection and registers it to be closed with the server, or closes
// it at once if the server has ended. The caller calls leave when the connection is over.
func (s *Server) joins(c io.Closer) (number int64, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.connections[c] = true
	if s.closed {
		_ = c.Close()
	}
	return s.count, func() {
		_ = c.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.connections, c)
	}
}

// peer describes the client of a request.
type peer struct {
	number int64 // of the connection
	client netip.AddrPort
	tls    *tls.ConnectionState // nil in the clear
	early  bool                 // the request came in 0-RTT packets
}

// refusal is the response to an invalid request.
var refusal = header{status: http.StatusBadRequest}.octets()

// answer answers a request and logs it. If the client accepts no octet for the server's
// Patience, answer closes the connection. An error means that the response is incomplete.
func (s *Server) answer(ctx context.Context, p peer, r Request, to io.Writer, connection io.Closer) error {
	began := time.Now()
	h, piece := s.find(r)
	defer piece.Close()
	w := newWatch(s.config.Patience, func(error) { _ = connection.Close() })
	defer w.stop()
	sent := int64(0)
	_, err := to.Write(h.octets())
	if err == nil && h.length > 0 {
		sent, err = send(ctx, to, piece, r.Offset, h.length, w)
	}
	e := capture.ServerEntry{
		Start: began.UnixNano(), End: time.Now().UnixNano(), Protocol: s.config.Transport.Name, EarlyData: p.early,
		Method: http.MethodGet, URL: r.URL(), Status: h.status, BodyBytes: sent, Client: p.client.String(), Server: s.address.String(),
		Connection: p.number, Miss: h.status == http.StatusNotFound,
	}
	if p.tls != nil {
		e.TLS, e.Cipher, e.Resumed = tls.VersionName(p.tls.Version), tls.CipherSuiteName(p.tls.CipherSuite), p.tls.DidResume
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Answered != nil {
		s.config.Answered(e)
	} else {
		s.log = append(s.log, e)
	}
	return err
}

// find looks up the piece that a request names. It returns no piece if the status is not
// OK.
func (s *Server) find(r Request) (header, storage.Piece) {
	piece, err := s.config.Storage.Open(r.ID)
	h := header{status: http.StatusOK, segments: piece.Segments, size: piece.Size}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		h.status = http.StatusNotFound
	case errors.Is(err, storage.ErrPastEnd):
		h.status = http.StatusRequestedRangeNotSatisfiable
	case err != nil:
		h.status = http.StatusInternalServerError
	}
	if err != nil {
		return h, storage.Piece{}
	}
	var ok bool
	if h.length, ok = r.cut(piece.Size); !ok {
		h.status = http.StatusRequestedRangeNotSatisfiable
	}
	return h, piece
}

// send sends a part of a piece and returns how many octets the connection has accepted.
func send(ctx context.Context, to io.Writer, piece storage.Piece, offset, length int64, w *watch) (sent int64, err error) {
	var buffer []byte // for pieces that are not in memory
	for sent < length {
		part := piece.View(offset + sent)
		if len(part) == 0 {
			if buffer == nil {
				buffer = make([]byte, writeSize)
			}
			n, err := piece.ReadAt(buffer[:min(writeSize, length-sent)], offset+sent)
			if n == 0 {
				return sent, noEOF(err)
			}
			part = buffer[:n]
		}
		if ctx.Err() != nil {
			return sent, context.Cause(ctx)
		}
		w.wait()
		n, err := to.Write(part[:min(int64(len(part)), length-sent)])
		w.moved()
		sent += int64(n)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// URL returns the name of a request in logs.
func (r Request) URL() string {
	url := "media:" + r.Item
	if r.Resolution != storage.Plain {
		url += fmt.Sprintf("/%v/%d", r.Resolution, r.Segment)
	}
	if r.Offset > 0 || r.Length > 0 {
		url += fmt.Sprintf("?offset=%d&length=%d", r.Offset, r.Length)
	}
	return url
}

// Log returns the requests served so far, in order. A request is logged once its response
// has been passed to the connection completely, or has failed. Status is HTTP's, Protocol
// the transport's name.
func (s *Server) Log() []capture.ServerEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := slices.Clone(s.log)
	slices.SortStableFunc(entries, func(a, b capture.ServerEntry) int { return cmp.Compare(a.Start, b.Start) })
	return entries
}

// Close closes all listeners and connections without waiting for pending responses, and
// waits for their goroutines. It returns the error that has ended accepting, if one did.
func (s *Server) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	var open []io.Closer
	for c := range s.connections {
		open = append(open, c)
	}
	s.mu.Unlock()
	var errs []error
	for _, c := range append(open, s.listeners...) { // connections first: some notify the peer over the listener's socket
		if err := c.Close(); !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.serving.Wait()
	return errors.Join(append(errs, s.stopped)...)
}
