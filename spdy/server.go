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
	"syscall"
	"time"
)

// Server serves HTTP over SPDY. Its fields must not be changed while it serves.
type Server struct {
	// Handler answers the requests; nil is http.DefaultServeMux. A request's Proto
	// is "SPDY/3.1" or the like. Its ResponseWriter is an http.Flusher and, if the
	// client accepts pushes, an http.Pusher; http.ResponseController sets its
	// deadlines. A handler may also name what to push in a field
	// X-Associated-Content.
	Handler http.Handler
	// Config is the configuration of every session. Its Accept is ignored.
	Config Config
	// Versions are the versions that Configure offers, the best first; nil for
	// all.
	Versions []Version
	// ConnContext may extend the context of a connection's requests, in sessions
	// of Serve and ServeConn.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// MaxConns is how many connections Serve accepts at a time; others wait in the listener's
	// backlog. 0 means no limit.
	MaxConns int
	// ErrorLog receives panics of handlers and errors of accepting connections; nil for the log
	// package's logger.
	ErrorLog *log.Logger

	mu       sync.Mutex
	closing  bool
	sessions []*Session // in order of their start
	serving  sync.WaitGroup
}

// Configure makes an http.Server speak SPDY with clients that choose it by ALPN
// in their TLS handshake, and HTTP/1.1 with the others. Call it before the
// http.Server serves. The http.Server's Handler, BaseContext and ConnContext
// apply, and its ReadTimeout to each request; its Shutdown shuts down the sessions.
//
// SPDY was originally negotiated by NPN, which crypto/tls does not have: see the
// package documentation.
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
			return fmt.Errorf("spdy: configure the server: unknown %s", v)
		}
		offered = append(offered, v.String())
		h.TLSNextProto[v.String()] = func(hs *http.Server, c *tls.Conn, handler http.Handler) {
			ctx := context.Background()
			if b, ok := handler.(interface{ BaseContext() context.Context }); ok {
				ctx = b.BaseContext()
			}
			_ = s.serve(ctx, c, v, handler, hs.ReadTimeout)
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

// Serve speaks one version, without TLS or negotiation, on each connection of a
// listener, until the listener is closed or fails. It returns the cause. If the
// system runs out of descriptors or memory, Serve logs that and tries again after a
// pause of 5 ms to 1 s, as net/http does.
func (s *Server) Serve(l net.Listener, v Version) error {
	var slots chan struct{} // nil: no limit
	if s.MaxConns > 0 {
		slots = make(chan struct{}, s.MaxConns)
	}
	var pause time.Duration
	for {
		if slots != nil {
			slots <- struct{}{}
		}
		c, err := accept(l, func(err error) {
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.printf("spdy: accept connections: %v; trying again in %v", err, pause)
			time.Sleep(pause)
		})
		if err != nil {
			return fmt.Errorf("spdy: accept connections: %w", err)
		}
		pause = 0
		s.serving.Go(func() {
			_ = s.ServeConn(context.Background(), c, v)
			if slots != nil {
				<-slots
			}
		})
	}
}

// accept accepts a connection. It calls temporary after each error that may pass.
func accept(l net.Listener, temporary func(error)) (net.Conn, error) {
	for {
		c, err := l.Accept()
		passes, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err)
		short := errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
		// The error of a closed listener claims to be temporary.
		if err == nil || errors.Is(err, net.ErrClosed) || !short && !(ok && passes.Temporary()) {
			return c, err
		}
		temporary(err)
	}
}

func (s *Server) printf(format string, a ...any) {
	if s.ErrorLog != nil {
		s.ErrorLog.Printf(format, a...)
		return
	}
	log.Printf(format, a...)
}

// ServeConn speaks one version on a connection until the session and its
// handlers have ended. It returns why the session ended, or nil if nothing went
// wrong.
func (s *Server) ServeConn(ctx context.Context, c net.Conn, v Version) error {
	if s.ConnContext != nil {
		ctx = s.ConnContext(ctx, c)
	}
	h := s.Handler
	if h == nil {
		h = http.DefaultServeMux
	}
	return s.serve(ctx, c, v, h, 0)
}

// serve serves a connection whose requests must arrive completely within readTimeout; 0 means no
// limit.
func (s *Server) serve(ctx context.Context, c net.Conn, v Version, h http.Handler, readTimeout time.Duration) error {
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.LocalAddr())
	ctx = context.WithValue(ctx, versionKey{}, v)
	cn := &serverConn{server: s, ctx: ctx, handler: h, version: v, remote: c.RemoteAddr().String(), readTimeout: readTimeout}
	if t, ok := c.(*tls.Conn); ok {
		if err := s.handshake(ctx, t); err != nil {
			return errors.Join(fmt.Errorf("spdy: serve: %w", err), t.NetConn().Close())
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

// handshake makes a TLS handshake, unless that was done before, within the sessions' ReadTimeout.
func (s *Server) handshake(ctx context.Context, c *tls.Conn) error {
	if limit := s.Config.withDefaults().ReadTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return c.HandshakeContext(ctx)
}

type versionKey struct{}

// RequestVersion returns the version of a request's session, from the context
// of a request that a Server serves.
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

// Shutdown lets each session finish its streams, then ends it. If ctx ends
// first, it closes the remaining sessions. It waits for their goroutines. The
// owners of listeners close them.
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

// Close closes each session and waits for their goroutines. The owners of
// listeners close them first.
func (s *Server) Close() error {
	for _, session := range s.close() {
		_ = session.Close()
	}
	s.serving.Wait()
	return nil
}
