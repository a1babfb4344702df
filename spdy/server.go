package spdy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Server serves HTTP over SPDY. Its fields must not be changed once it serves.
type Server struct {
	// Handler answers the requests; nil is http.DefaultServeMux. A request's Proto
	// is "SPDY/3.1", and the like. Its ResponseWriter is an http.Flusher and, while
	// the client takes pushes, an http.Pusher; http.ResponseController sets its
	// deadlines. A handler names what is to be pushed with its response in a field
	// X-Associated-Content, too.
	Handler http.Handler
	// Config is that of every session. Its Accept is not used.
	Config Config
	// Versions are what Configure offers, the best first; nil for all.
	Versions []Version
	// ConnContext may add to the context of a connection's requests. For sessions
	// of Serve and ServeConn.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// ErrorLog is told of handlers that panic; nil for the log package's logger.
	ErrorLog *log.Logger

	mu       sync.Mutex
	closing  bool
	sessions []*Session // in order of their beginning
	serving  sync.WaitGroup
}

// Configure has an http.Server speak SPDY to those clients that choose it by ALPN
// in their TLS handshake, and HTTP/1.1 to the others. It is to be called before
// the http.Server serves. The http.Server's Handler, BaseContext and ConnContext
// apply; its Shutdown shuts down the sessions.
//
// SPDY was chosen by NPN once, which crypto/tls does not have: see the package's
// documentation.
func (s *Server) Configure(h *http.Server) error {
	if h.TLSConfig == nil {
		h.TLSConfig = new(tls.Config)
	}
	if h.TLSNextProto == nil {
		h.TLSNextProto = make(map[string]func(*http.Server, *tls.Conn, http.Handler))
	}
	var offered []string
	for _, v := range s.versions() {
		if v.String() == "" || v < V2 || v > V31 {
			return fmt.Errorf("spdy: configure the server: there is no %s", v)
		}
		offered = append(offered, v.String())
		h.TLSNextProto[v.String()] = func(hs *http.Server, c *tls.Conn, handler http.Handler) {
			ctx := context.Background()
			if b, ok := handler.(interface{ BaseContext() context.Context }); ok {
				ctx = b.BaseContext()
			}
			_ = s.serve(ctx, c, v, handler)
		}
	}
	h.TLSConfig.NextProtos = append(offered, slices.DeleteFunc(slices.Clone(h.TLSConfig.NextProtos), func(p string) bool {
		return slices.Contains(offered, p)
	})...)
	if !slices.Contains(h.TLSConfig.NextProtos, "http/1.1") {
		h.TLSConfig.NextProtos = append(h.TLSConfig.NextProtos, "http/1.1")
	}
	h.RegisterOnShutdown(func() { _ = s.Shutdown(context.Background()) })
	return nil
}

func (s *Server) versions() []Version {
	if s.Versions != nil {
		return s.Versions
	}
	return Versions()
}

// Serve speaks one version, without TLS or any other agreement, on each
// connection of a listener, until the listener is closed. It returns why.
func (s *Server) Serve(l net.Listener, v Version) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("spdy: accept connections: %w", err)
		}
		s.serving.Go(func() { _ = s.ServeConn(context.Background(), c, v) })
	}
}

// ServeConn speaks one version on a connection until the session has ended, and
// with it its handlers. It returns why it ended; nil if nothing went wrong.
func (s *Server) ServeConn(ctx context.Context, c net.Conn, v Version) error {
	if s.ConnContext != nil {
		ctx = s.ConnContext(ctx, c)
	}
	h := s.Handler
	if h == nil {
		h = http.DefaultServeMux
	}
	return s.serve(ctx, c, v, h)
}

func (s *Server) serve(ctx context.Context, c net.Conn, v Version, h http.Handler) error {
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.LocalAddr())
	ctx = context.WithValue(ctx, versionKey{}, v)
	cn := &serverConn{server: s, ctx: ctx, handler: h, version: v, remote: c.RemoteAddr().String()}
	if t, ok := c.(*tls.Conn); ok {
		if err := t.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("spdy: serve: %w", err)
		}
		state := t.ConnectionState()
		cn.tls = &state
	}
	config := s.Config
	config.Accept = cn.serve
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errors.Join(http.ErrServerClosed, c.Close())
	}
	session := NewServer(c, v, &config)
	s.sessions = append(s.sessions, session)
	s.mu.Unlock()
	err := session.Wait()
	s.mu.Lock()
	s.sessions = slices.DeleteFunc(s.sessions, func(x *Session) bool { return x == session })
	s.mu.Unlock()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

type versionKey struct{}

// RequestVersion is the version that a request came over, from the context of a
// request that a Server serves.
func RequestVersion(ctx context.Context) (Version, bool) {
	v, ok := ctx.Value(versionKey{}).(Version)
	return v, ok
}

func (s *Server) close() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	return slices.Clone(s.sessions)
}

// Shutdown lets each session finish its streams and ends it. When ctx is done
// first, it closes those that are left. It waits for their goroutines. Listeners
// are their owners' to close.
func (s *Server) Shutdown(ctx context.Context) error {
	var wait sync.WaitGroup
	sessions := s.close()
	errs := make([]error, len(sessions))
	for i, session := range sessions {
		wait.Go(func() { errs[i] = session.Shutdown(ctx) })
	}
	wait.Wait()
	s.serving.Wait()
	return errors.Join(errs...)
}

// Close closes each session. It waits for their goroutines. Listeners are their
// owners' to close, before it.
func (s *Server) Close() error {
	for _, session := range s.close() {
		_ = session.Close()
	}
	s.serving.Wait()
	return nil
}
