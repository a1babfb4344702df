package protocol

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"

	"wiretime/capture"
	"wiretime/spdy"
)

// ServerConfig says what to serve, how and where.
type ServerConfig struct {
	Protocol Protocol
	// Hosts gives the address of each origin's host. The server listens on
	// each address.
	Hosts   map[string]netip.Addr
	Handler http.Handler
	CA      *Authority
	// KeyLog receives the TLS secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// Listen and ListenPacket open the server's sockets.
	Listen       func(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
}

// Server serves the origins of one site over one protocol.
type Server struct {
	config  ServerConfig
	log     *serverLog
	tcp     *http.Server
	quic    *http3.Server
	sockets []net.PacketConn
	serving sync.WaitGroup
	lost    atomic.Int64
}

// Serve starts a server. It is ready when Serve returns. A server of its own
// for every load knows no connection, ticket or key of the load before.
func Serve(ctx context.Context, c ServerConfig) (*Server, error) {
	s := &Server{config: c, log: &serverLog{protocol: c.Protocol, handler: c.Handler, began: time.Now()}}
	if err := c.Protocol.serve(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("serve %s: %w", c.Protocol.Name, err), s.Close())
	}
	return s, nil
}

// addresses are where the server listens, each once.
func (s *Server) addresses() []string {
	var all []netip.Addr
	for _, a := range s.config.Hosts {
		all = append(all, a)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	var out []string
	for _, a := range slices.Compact(all) {
		out = append(out, net.JoinHostPort(a.String(), strconv.Itoa(s.config.Protocol.Port)))
	}
	return out
}

// concurrentRequests is how many requests one connection may have under way.
// It is net/http's default for HTTP/2; 100, quic-go's own and what SPDY's servers
// allowed, would hold back a page of more resources over those alone.
const concurrentRequests = 250

// tls is the server's side of the handshake: TLS 1.3 alone, one protocol alone,
// and no session tickets, so that every connection makes the whole handshake.
func (s *Server) tls() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{s.config.Protocol.ALPN},
		SessionTicketsDisabled: true,
		KeyLogWriter:           s.config.KeyLog,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			// crypto/tls lets clients pass that offer a server of h2 nothing, or
			// http/1.1. (To a server of HTTP/1.1, offering nothing is right.)
			if alpn := s.config.Protocol.ALPN; alpn != "http/1.1" && !slices.Contains(hello.SupportedProtos, alpn) {
				return nil, fmt.Errorf("the client offers %q, not %s", hello.SupportedProtos, alpn)
			}
			if _, ok := s.config.Hosts[hello.ServerName]; !ok {
				return nil, fmt.Errorf("the site has no host %q", hello.ServerName)
			}
			return s.config.CA.Certificate(hello.ServerName)
		},
	}
}

// serveTCP serves HTTP/1.1 and HTTP/2 with net/http, and SPDY on connections that
// net/http accepts.
func serveTCP(ctx context.Context, s *Server) error {
	p := s.config.Protocol
	protocols := new(http.Protocols)
	protocols.SetHTTP1(p.Spoken == "http/1.1")
	protocols.SetHTTP2(p.ALPN == "h2")
	s.tcp = &http.Server{
		Handler: s.log, Protocols: protocols,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: concurrentRequests},
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return s.log.number(ctx) },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.serving.Add(1)
			case http.StateClosed:
				s.serving.Done()
			}
		},
		// Handshakes that clients break off are theirs to report.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	if p.ALPN != "" {
		s.tcp.TLSConfig = s.tls()
	}
	if v, ok := spdy.ParseVersion(p.ALPN); ok {
		server := &spdy.Server{Versions: []spdy.Version{v}, ErrorLog: s.tcp.ErrorLog, Config: spdy.Config{
			MaxStreams: concurrentRequests, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1,
		}}
		if err := server.Configure(s.tcp); err != nil {
			return err
		}
	}
	for _, address := range s.addresses() {
		listener, err := s.config.Listen(ctx, "tcp4", address)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", address, err)
		}
		s.serving.Go(func() {
			// Serve always returns an error, and closing is the only way to one.
			if p.ALPN == "" {
				_ = s.tcp.Serve(listener)
			} else {
				_ = s.tcp.ServeTLS(listener, "", "")
			}
		})
	}
	return nil
}

// serveQUIC serves HTTP/3 with quic-go.
func serveQUIC(ctx context.Context, s *Server) error {
	s.quic = &http3.Server{
		Handler:     advertise(s.log),
		TLSConfig:   http3.ConfigureTLSConfig(s.tls()),
		QUICConfig:  &quic.Config{Tracer: s.trace, MaxIncomingStreams: concurrentRequests},
		ConnContext: func(ctx context.Context, _ *quic.Conn) context.Context { return s.log.number(ctx) },
		Logger:      slog.New(slog.DiscardHandler),
	}
	for _, address := range s.addresses() {
		socket, err := s.config.ListenPacket(ctx, "udp4", address)
		if err != nil {
			return fmt.Errorf("listen on %s/udp: %w", address, err)
		}
		s.sockets = append(s.sockets, socket)
		s.serving.Go(func() { _ = s.quic.Serve(socket) })
	}
	return nil
}

// advertise has every response say that the origin speaks HTTP/3 (RFC 7838,
// RFC 9114 section 3.1.1), as servers of it do. A browser that was told to use
// HTTP/3 needs no telling, but Chromium only learns from it that the server
// obeys priorities; until then it keeps no more than ten images under way, and
// a page of many takes up to four times as long.
func advertise(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"; ma=86400`)
		h.ServeHTTP(w, r)
	})
}

// trace listens to what quic-go says of a connection.
func (s *Server) trace(context.Context, bool, quic.ConnectionID) qlogwriter.Trace {
	return lossCounter{&s.lost}
}

// lossCounter counts the packets that quic-go declares lost (RFC 9002 section
// 6.1), probes for the path's MTU left out: those are meant to be lost.
type lossCounter struct{ lost *atomic.Int64 }

func (c lossCounter) AddProducer() qlogwriter.Recorder { return c }

func (c lossCounter) RecordEvent(e qlogwriter.Event) {
	if lost, ok := e.(qlog.PacketLost); ok && !lost.IsMTUProbePacket {
		c.lost.Add(1)
	}
}

func (c lossCounter) Close() error { return nil }

// Log returns what has been served so far, in the order of the requests. A
// request is in it once its handler has returned.
func (s *Server) Log() []capture.ServerEntry {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	entries := slices.Clone(s.log.entries)
	slices.SortStableFunc(entries, func(a, b capture.ServerEntry) int { return cmp.Compare(a.Start, b.Start) })
	return entries
}

// LostPackets is how many packets the server has declared lost, -1 where the
// kernel knows and the server does not (TCP).
func (s *Server) LostPackets() int {
	if s.quic == nil {
		return -1
	}
	return int(s.lost.Load())
}

// Close closes all listeners and connections, without waiting for requests under
// way to be answered, and waits for their goroutines.
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
	s.serving.Wait()
	s.log.running.Wait()
	return errors.Join(errs...)
}
