// Package serve serves a folder or a site over every web protocol at once, on loopback
// ports, with certificates of its own, as a target for trying out clients.
package serve

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
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/protocol"
	"wiretime/spdy"
	"wiretime/window"
)

// loopback is the only address on which it listens.
const loopback = "127.0.0.1"

// Any is the name of the row whose protocol ALPN decides.
const Any = "any by ALPN"

// row is one way of serving.
type row struct {
	name string
	// alpn are the protocols offered in the TLS handshake, the preferred one first;
	// none without TLS.
	alpn []string
	quic bool
}

func rows() []row {
	all := []row{{name: "http/1.1"}, {name: "https/1.1", alpn: []string{"http/1.1"}}}
	// The oldest SPDY comes first, as in all tables.
	for _, v := range slices.Backward(spdy.Versions()) {
		all = append(all, row{name: v.String(), alpn: []string{v.String()}})
	}
	all = append(all, row{name: "h2", alpn: []string{"h2"}}, row{name: "h3", alpn: []string{"h3"}, quic: true})
	any := row{name: Any, alpn: []string{"h2"}}
	for _, v := range spdy.Versions() {
		any.alpn = append(any.alpn, v.String())
	}
	any.alpn = append(any.alpn, "http/1.1")
	return append(all, any)
}

// Ports returns how many consecutive ports are used, starting at Config.Port.
func Ports() int { return len(rows()) }

// Config says what to serve, and where.
type Config struct {
	Handler http.Handler
	// Clear answers requests without TLS; nil means Handler.
	Clear http.Handler
	// Host is the name in URLs and in the certificate; empty means localhost.
	Host string
	// Others are further names that requests may name as their host and whose pages may
	// send requests; names and addresses of loopback always may. "null" is the origin of
	// sandboxed frames and the like. A port after a name is ignored.
	Others []string
	// CA issues the certificate.
	CA *protocol.Authority
	// Port is the first of Ports ports; 0 means free ones.
	Port int
	// Limits protect the server from its clients.
	Limits Limits
	// Window sets the server's flow-control windows over the protocols to which it applies; nil for
	// the default of each protocol's stack.
	Window *window.Setting
	// Requests receives a line for each request when it is answered.
	Requests io.Writer
}

// Server is a running server, made by Start.
type Server struct {
	endpoints []Endpoint
	limits    Limits
	window    *window.Setting
	clients   *connections
	servers   []*http.Server
	spdy      []*spdy.Server
	quic      *http3.Server
	socket    net.PacketConn
	serving   sync.WaitGroup
}

// Endpoint is where one protocol is served.
type Endpoint struct {
	// Protocol is the protocol's name, or Any.
	Protocol string
	// URL is the folder's URL, such as https://localhost:8443/.
	URL string
	// Address is the listener's address, such as 127.0.0.1:8443.
	Address string
}

// Endpoints returns the endpoints in the order of their ports.
func (s *Server) Endpoints() []Endpoint { return s.endpoints }

// Start starts a server, which is ready when Start returns.
func Start(ctx context.Context, c Config) (*Server, error) {
	c.Host = cmp.Or(c.Host, "localhost")
	if net.ParseIP(bare(c.Host)) != nil {
		return nil, fmt.Errorf("serve as %s: certificates are issued for names, not for addresses", c.Host)
	}
	names, err := c.certificates()
	if err != nil {
		return nil, err
	}
	s := &Server{limits: c.Limits.withDefaults(), window: c.Window}
	requests := &requestLog{w: c.Requests}
	s.clients = &connections{most: s.limits.Connections, open: map[*connection]bool{}, full: sync.OnceFunc(func() {
		requests.write(fmt.Sprintf("%d connections are open (--max-connections): closing idle ones for new ones", s.limits.Connections))
	})}
	allowed := newHosts(append([]string{c.Host}, c.Others...))
	facing := func(h http.Handler) http.Handler {
		return limited{handler: logged{handler: guarded{handler: h, hosts: allowed}, log: requests}, stall: s.limits.Stall}
	}
	secure, open := facing(c.Handler), facing(c.Handler)
	if c.Clear != nil {
		open = facing(c.Clear)
	}
	for i, r := range rows() {
		handler := secure
		if len(r.alpn) == 0 {
			handler = open
		}
		port := 0
		if c.Port != 0 {
			port = c.Port + i
		}
		service := service{r, net.JoinHostPort(loopback, strconv.Itoa(port)), handler, names}
		var at net.Addr
		if r.quic {
			at, err = s.overQUIC(ctx, service)
		} else {
			at, err = s.overTCP(ctx, service)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve %s: %w", r.name, err), s.close())
		}
		s.add(r, c.Host, at)
	}
	return s, nil
}

// certificates holds the certificates of all names.
type certificates struct {
	first string
	all   map[string]*tls.Certificate
}

// Names returns the names of the certificates that CA must be able to issue.
func (c Config) Names() []string {
	var names []string
	for _, host := range append([]string{cmp.Or(c.Host, "localhost")}, c.Others...) {
		if name := bare(host); net.ParseIP(name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c Config) certificates() (certificates, error) {
	names := c.Names()
	k := certificates{names[0], map[string]*tls.Certificate{}}
	for _, name := range names {
		certificate, err := c.CA.Certificate(name)
		if err != nil {
			return k, err
		}
		k.all[name] = certificate
	}
	return k, nil
}

// choose returns the certificate of the name that a client requests, or else the
// first.
func (k certificates) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := k.all[strings.ToLower(hello.ServerName)]; certificate != nil {
		return certificate, nil
	}
	return k.all[k.first], nil
}

func (s *Server) add(r row, host string, at net.Addr) {
	_, port, _ := net.SplitHostPort(at.String()) // a listener's address has a port
	scheme := "https"
	if len(r.alpn) == 0 {
		scheme = "http"
	}
	s.endpoints = append(s.endpoints, Endpoint{
		Protocol: r.name, URL: scheme + "://" + net.JoinHostPort(host, port) + "/", Address: at.String(),
	})
}

// security returns the server's side of the handshake.
func (r row) security(names certificates) *tls.Config {
	return &tls.Config{
		GetCertificate: names.choose, NextProtos: slices.Clone(r.alpn),
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			// crypto/tls itself refuses clients that offer other protocols, but accepts
			// those that offer none, and those that offer an h2 server http/1.1.
			offered := hello.SupportedProtos
			lets := len(offered) == 0 || slices.Contains(r.alpn, "h2") && slices.Contains(offered, "http/1.1")
			good := slices.Contains(r.alpn, "http/1.1") || slices.ContainsFunc(offered, func(p string) bool { return slices.Contains(r.alpn, p) })
			if lets && !good {
				return nil, fmt.Errorf("the client offers %q instead of %s", offered, r.name)
			}
			return nil, nil
		},
	}
}

// service is a row that is served at an address.
type service struct {
	row
	address string
	handler http.Handler
	names   certificates
}

func (s *Server) overTCP(ctx context.Context, v service) (net.Addr, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(len(v.alpn) == 0 || slices.Contains(v.alpn, "http/1.1"))
	protocols.SetHTTP2(slices.Contains(v.alpn, "h2"))
	server := &http.Server{
		Handler: v.handler, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0), ConnContext: s.clients.overTCP,
		ReadHeaderTimeout: s.limits.Head, IdleTimeout: s.limits.Idle, MaxHeaderBytes: s.limits.HeadBytes,
	}
	if w := s.receiver("h2"); w != nil {
		windows := w.ServerHTTP2()
		server.HTTP2 = &windows
	}
	if err := s.addSPDY(server, v.row); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", v.address)
	if err != nil {
		return nil, err
	}
	listener = limitedListener{listener, s.clients}
	s.servers = append(s.servers, server)
	if len(v.alpn) > 0 {
		// net/http and package spdy append to the list of protocols in their
		// configuration.
		server.TLSConfig = v.security(v.names)
		listener = tls.NewListener(listener, v.security(v.names))
	}
	// Serve always returns an error, and only after closing.
	s.serving.Go(func() { _ = server.Serve(listener) })
	return listener.Addr(), nil
}

// receiver returns how the server receives over a protocol, or nil if the setting does not apply to the
// protocol.
func (s *Server) receiver(protocol string) *window.Receiver {
	if s.window == nil {
		return nil
	}
	r, err := s.window.Over(protocol)
	if err != nil {
		return nil
	}
	return &r
}

// addSPDY makes the server speak the SPDY versions that the row offers.
func (s *Server) addSPDY(server *http.Server, r row) error {
	var versions []spdy.Version
	for _, name := range r.alpn {
		if v, ok := spdy.ParseVersion(name); ok {
			versions = append(versions, v)
		}
	}
	if versions == nil {
		return nil
	}
	speaker := &spdy.Server{Versions: versions, Config: spdy.Config{
		MaxHeaderBytes: s.limits.HeadBytes, IdleTimeout: s.limits.Idle, ReadTimeout: s.limits.Stall, WriteTimeout: s.limits.Stall,
	}}
	if w := s.receiver("spdy/3.1"); w != nil {
		speaker.Config.Window, speaker.Config.AnswerSettings = w.SPDY(), w.Answers
	}
	if err := speaker.Configure(server); err != nil {
		return err
	}
	s.spdy = append(s.spdy, speaker)
	return nil
}

func (s *Server) overQUIC(ctx context.Context, v service) (net.Addr, error) {
	socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", v.address)
	if err != nil {
		return nil, err
	}
	s.socket = socket
	// quic-go lets a whole handshake take twice the idle timeout.
	config := &quic.Config{HandshakeIdleTimeout: s.limits.Head / 2, MaxIdleTimeout: s.limits.Idle, Allow0RTT: true}
	if w := s.receiver("h3"); w != nil {
		w.SetQUIC(config)
	}
	s.quic = &http3.Server{
		Handler: v.handler, TLSConfig: http3.ConfigureTLSConfig(v.security(v.names)), Logger: slog.New(slog.DiscardHandler),
		ConnContext: s.clients.overQUIC, MaxHeaderBytes: s.limits.HeadBytes, IdleTimeout: s.limits.Idle, QUICConfig: config,
	}
	s.serving.Go(func() { _ = s.quic.Serve(socket) })
	return socket.LocalAddr(), nil
}

// Shutdown accepts no new requests and waits until those in flight are
// answered. If ctx ends first, it aborts them and returns an error.
func (s *Server) Shutdown(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(s.servers)+len(s.spdy)+1)
	for i, server := range s.servers {
		all.Go(func() { errs[i] = server.Shutdown(ctx) })
	}
	for i, server := range s.spdy {
		all.Go(func() { errs[len(s.servers)+i] = server.Shutdown(ctx) })
	}
	all.Go(func() { errs[len(errs)-1] = s.quic.Shutdown(ctx) })
	all.Wait()
	closing := s.close()
	if ctx.Err() != nil {
		return errors.Join(fmt.Errorf("abort the requests in flight: %w", ctx.Err()), closing)
	}
	return errors.Join(append(errs, closing)...)
}

// close closes all listeners and connections, and waits for their goroutines.
func (s *Server) close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	for _, server := range s.spdy {
		errs = append(errs, server.Close())
	}
	if s.quic != nil {
		errs = append(errs, s.quic.Close())
	}
	if s.socket != nil {
		if err := s.socket.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.serving.Wait()
	return errors.Join(errs...)
}
