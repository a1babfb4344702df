package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go/http3"

	"wiretime/capture"
	"wiretime/panics"
	"wiretime/spdy"
	"wiretime/window"
)

// ServerConfig says what to serve, how and where.
type ServerConfig struct {
	Protocol Protocol
	// Hosts maps each origin's host to its address. The server listens on each
	// address.
	Hosts   map[string]netip.Addr
	Handler http.Handler
	CA      *Authority
	// KeyLog receives the TLS secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// Resume makes the server issue session tickets (RFC 8446 section 4.6.1) and
	// resume their sessions.
	Resume bool
	// EarlyData makes it accept 0-RTT data in a resumed session (RFC 9001
	// section 4.6). It requires Resume, and works with HTTP/3 only.
	EarlyData bool
	// Fallback is empty or "h2". With "h2", an HTTP/3 server also serves that row
	// on the same addresses.
	Fallback string
	// Unlogged turns the server's log off.
	Unlogged bool
	// TLS12 makes the server speak TLS 1.2 instead of 1.3 to every client; not over HTTP/3.
	TLS12 bool
	// PlainHeaders makes a SPDY server send its headers uncompressed, and EqualTurns has it ignore the client's priorities.
	PlainHeaders, EqualTurns bool
	// Windows are the server's flow-control windows over Protocol; nil for the stack's default, which a
	// fallback always has.
	Windows *window.Receiver
	// Listen and ListenPacket open the server's sockets.
	Listen       func(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
}

// Server serves the origins of one site over one protocol.
type Server struct {
	config    ServerConfig
	ticketKey [32]byte
	log       *serverLog
	tcp       *http.Server
	quic      *http3.Server
	sockets   []net.PacketConn
	clients   clients
	serving   panics.Group
	lost      atomic.Int64
	announced announcements
}

// Serve starts a server, which is ready when Serve returns. A fresh server for
// every load shares no connection, ticket or key with the previous one.
func Serve(ctx context.Context, c ServerConfig) (*Server, error) {
	guard := panics.From(ctx)
	s := &Server{config: c, serving: panics.Group{Guard: guard}, log: &serverLog{protocol: c.Protocol, off: c.Unlogged, handler: guard.Handler(c.Handler), began: time.Now()}}
	if c.Resume {
		_, _ = rand.Read(s.ticketKey[:]) // never fails
	}
	err := c.check()
	if err == nil {
		err = c.Protocol.serve(ctx, s, c.Protocol)
	}
	if err == nil && c.Fallback != "" {
		var row Protocol
		if row, err = Lookup(c.Fallback); err == nil {
			err = row.serve(ctx, s, row)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve %s: %w", c.Protocol.Name, err), s.Close())
	}
	return s, nil
}

// check returns what is invalid in a configuration.
func (c *ServerConfig) check() error {
	quic := c.Protocol.Transport == "udp"
	switch {
	case c.TLS12 && quic:
		return errors.New("QUIC requires TLS 1.3 (RFC 9001 section 4.2)")
	case (c.PlainHeaders || c.EqualTurns) && !strings.HasPrefix(c.Protocol.Name, "spdy/"):
		return errors.New("only SPDY can do without header compression or priorities")
	case c.EarlyData && !quic:
		return errors.New("early data is supported over HTTP/3 only")
	case c.EarlyData && !c.Resume:
		return errors.New("early data requires resumable sessions")
	case c.Fallback != "" && (c.Fallback != "h2" || !quic):
		return fmt.Errorf("invalid fallback %q: only h3 has a fallback, which is h2", c.Fallback)
	}
	return nil
}

// addresses returns where the server listens, each address once.
func (s *Server) addresses(port int) []string {
	var all []netip.Addr
	for _, a := range s.config.Hosts {
		all = append(all, a)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	var out []string
	for _, a := range slices.Compact(all) {
		out = append(out, net.JoinHostPort(a.String(), strconv.Itoa(port)))
	}
	return out
}

// concurrentRequests is how many requests one connection may have in flight. It
// is net/http's default for HTTP/2; 100, the default of quic-go and of the SPDY
// servers of the time, would hold back pages with more resources over those
// protocols only.
const concurrentRequests = 250

// tls returns the server's side of a row's handshake: one version of TLS only, one
// protocol only, and session tickets only on request: otherwise every
// connection makes a full handshake. Tickets contain the session, so the server
// stores none.
func (s *Server) tls(row Protocol) *tls.Config {
	version := uint16(tls.VersionTLS13)
	if s.config.TLS12 {
		version = tls.VersionTLS12
	}
	c := &tls.Config{
		MinVersion:             version,
		MaxVersion:             version,
		NextProtos:             []string{row.ALPN},
		SessionTicketsDisabled: !s.config.Resume,
		KeyLogWriter:           s.config.KeyLog,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			// crypto/tls accepts clients that offer an h2 server no protocol, or
			// http/1.1. (For an HTTP/1.1 server, offering none is right.)
			if row.ALPN != "http/1.1" && !slices.Contains(hello.SupportedProtos, row.ALPN) {
				return nil, fmt.Errorf("the client offers %q instead of %s", hello.SupportedProtos, row.ALPN)
			}
			if _, ok := s.config.Hosts[hello.ServerName]; !ok {
				return nil, fmt.Errorf("the site has no host %q", hello.ServerName)
			}
			return s.config.CA.Certificate(hello.ServerName)
		},
	}
	if s.config.Resume {
		// Every listener copies the configuration, and each copy would generate its
		// own key.
		c.SetSessionTicketKeys([][32]byte{s.ticketKey})
	}
	return c
}

// serveTCP serves HTTP/1.1 and HTTP/2 with net/http, and SPDY on connections that
// net/http accepts.
func serveTCP(ctx context.Context, s *Server, p Protocol) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(p.Spoken == "http/1.1")
	protocols.SetHTTP2(p.ALPN == "h2")
	s.tcp = &http.Server{
		Handler: s.log, Protocols: protocols,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: concurrentRequests},
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return s.log.number(ctx) },
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.serving.Add(1)
				s.clients.came(tcpClient{c})
			case http.StateClosed:
				s.clients.went(tcpClient{c})
				s.serving.Done()
			}
		},
		// Clients report the handshakes that they abort.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	if p.ALPN != "" {
		s.tcp.TLSConfig = s.tls(p)
	}
	w := s.config.Windows
	if p.Name != s.config.Protocol.Name {
		w = nil
	}
	if w != nil {
		windows := w.ServerHTTP2()
		windows.MaxConcurrentStreams = concurrentRequests
		s.tcp.HTTP2 = &windows
	}
	if v, ok := spdy.ParseVersion(p.ALPN); ok {
		server := &spdy.Server{Versions: []spdy.Version{v}, ErrorLog: s.tcp.ErrorLog, Config: spdy.Config{
			MaxStreams: concurrentRequests, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1,
		}}
		server.Config.EqualTurns = s.config.EqualTurns
		if s.config.PlainHeaders {
			server.Config.Compression = spdy.CompressNone
		}
		if w != nil {
			server.Config.Window, server.Config.AnswerSettings = w.SPDY(), w.Answers
		}
		if err := server.Configure(s.tcp); err != nil {
			return err
		}
	}
	for _, address := range s.addresses(p.Port) {
		listener, err := s.config.Listen(ctx, "tcp4", address)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", address, err)
		}
		s.serving.Go(func() {
			// Serve always returns an error, and only after closing.
			if p.ALPN == "" {
				_ = s.tcp.Serve(listener)
			} else {
				_ = s.tcp.ServeTLS(listener, "", "")
			}
		})
	}
	return nil
}

// Log returns what has been served so far, in the order of the requests. A request
// appears once its handler has returned, and so does a push unless it was rejected.
func (s *Server) Log() []capture.ServerEntry {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	entries := make([]capture.ServerEntry, 0, len(s.log.served))
	for i := range s.log.served {
		if e := &s.log.served[i]; e.push == nil || !e.push.refused.Load() {
			entries = append(entries, e.entry())
		}
	}
	slices.SortStableFunc(entries, func(a, b capture.ServerEntry) int { return cmp.Compare(a.Start, b.Start) })
	return entries
}

// StartLog restarts the log and the count of LostPackets: earlier requests and
// losses are not part of them. Connections keep their numbers.
func (s *Server) StartLog() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.served, s.log.since = nil, s.log.now()
	s.lost.Store(0)
}

// LostPackets returns how many packets the server has declared lost, or -1 over
// TCP, where only the kernel knows.
func (s *Server) LostPackets() int {
	if s.quic == nil {
		return -1
	}
	return int(s.lost.Load())
}

// Disconnect closes the connections of all clients, as a server does after a long
// idle time, and returns when they are gone. The server keeps listening. Clients see
// TLS's close_notify and TCP's FIN, and a reset if they do not close their end soon;
// or QUIC's CONNECTION_CLOSE with H3_NO_ERROR. Requests in flight are cut off.
func (s *Server) Disconnect() { s.clients.disconnect() }

// Close closes all listeners and connections without waiting for requests in
// flight, and waits for their goroutines.
func (s *Server) Close() error {
	var errs []error
	if s.tcp != nil {
		errs = append(errs, s.tcp.Close())
	}
	if s.quic != nil {
		errs = append(errs, s.quic.Close())
	}
	for _, socket := range s.sockets {
		if err := socket.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.clients.wait()
	s.serving.Wait()
	s.log.running.Wait()
	return errors.Join(errs...)
}
