package spdy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Transport is an http.RoundTripper over SPDY. It opens one session to each
// origin and keeps it (draft 3 section 3.1). It is safe for concurrent use; its
// fields must not be changed once it is used.
type Transport struct {
	// Versions are offered by ALPN to https origins, the best first; nil for all.
	Versions []Version
	// OnlySPDY makes requests fail if a server does not speak any of Versions;
	// otherwise HTTP/1.1 is offered too.
	OnlySPDY bool
	// Cleartext is the version that http origins are known to speak; 0 means
	// HTTP/1.1.
	Cleartext Version
	// TLSClientConfig is used for https origins. Its NextProtos is ignored.
	TLSClientConfig *tls.Config
	// DialContext opens connections; nil for net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Config is the configuration of every session. Its Accept and Persisted are
	// ignored. The session's window defaults to 16 MiB, since the caller of a
	// Transport may leave responses unread.
	Config Config
	// Priority returns the priority of a request; nil for Middle.
	Priority func(*http.Request) Priority
	// Push accepts what servers push, as the response to a later GET of the same
	// URL. Up to 100 pushes wait for that, a minute each, with 4 MiB together:
	// others are reset.
	Push bool
	// Persist keeps settings for servers that ask for it, and returns them on
	// the next session with the same origin and address (draft 3 section 2.6.4).
	// A server can recognise a client by them.
	Persist bool
	// Coalesce also uses a session for other https origins that its certificate
	// covers and that have its address.
	Coalesce bool
	// ExpectContinueTimeout is how long a request that expects 100-continue waits
	// before it sends its body: 0 for one second.
	ExpectContinueTimeout time.Duration
	// DisableCompression stops requests without Accept-Encoding from asking for
	// gzip.
	DisableCompression bool

	mu        sync.Mutex
	origins   map[string]*origin
	sessions  []*clientSession // in order of their start
	persisted map[string][]Setting
	http1     *http.Transport
	closed    bool
	running   sync.WaitGroup
}

// origin is a session that exists or is being opened.
type origin struct {
	ready   chan struct{} // closed when one of the others is set
	session *clientSession
	http1   bool // the origin speaks only HTTP/1.1
	err     error
}

// RoundTrip sends a request and returns the response with an unread body. A
// request that the server has certainly not processed is sent again, once, on
// another session.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.checkRequest(r); err != nil {
		closeBody(r)
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		session, err := t.session(r)
		if err != nil {
			closeBody(r)
			return nil, fmt.Errorf("spdy: %s %s: %w", r.Method, r.URL.Redacted(), err)
		}
		if session == nil {
			return t.fallback().RoundTrip(r)
		}
		response, err := session.roundTrip(r)
		if err == nil {
			return response, nil
		}
		again, ok := rewind(r)
		if attempt == 0 && ok && Unprocessed(err) && r.Context().Err() == nil {
			t.forget(session)
			r = again
			continue
		}
		return nil, fmt.Errorf("spdy: %s %s: %w", r.Method, r.URL.Redacted(), err)
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

func (t *Transport) checkRequest(r *http.Request) error {
	switch {
	case r.URL == nil || r.URL.Host == "":
		return errors.New("spdy: the request has no URL with a host")
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return fmt.Errorf("spdy: unsupported scheme %q, want http or https", r.URL.Scheme)
	}
	return nil
}

// rewind returns a request that can be sent again.
func rewind(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	again := *r
	again.Body = body
	return &again, true
}

// authority returns the host and port of a URL's origin.
func authority(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "http":
		return net.JoinHostPort(u.Hostname(), "80")
	case u.Scheme == "https":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "")
}

// session finds or opens the session for a request. It returns nil if the
// origin speaks HTTP/1.1.
func (t *Transport) session(r *http.Request) (*clientSession, error) {
	if r.URL.Scheme == "http" && t.Cleartext == 0 {
		if t.OnlySPDY {
			return nil, errors.New("the version of http origins is unknown: set Cleartext")
		}
		return nil, nil
	}
	trace := httptrace.ContextClientTrace(r.Context())
	address := authority(r.URL)
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(address)
	}
	key := r.URL.Scheme + "://" + address
	for {
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil, fmt.Errorf("the transport: %w", ErrClosed)
		}
		o := t.origins[key]
		reused := o != nil
		if o != nil && o.session != nil && o.session.ended() {
			o, reused = nil, false
		}
		if o == nil {
			if t.origins == nil {
				t.origins = make(map[string]*origin)
			}
			o = &origin{ready: make(chan struct{})}
			t.origins[key] = o
			// The first request's cancellation must not affect the others that
			// wait.
			ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
			t.running.Go(func() {
				defer cancel()
				t.open(ctx, key, r.URL, o)
			})
			stop := context.AfterFunc(r.Context(), func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				if o.session == nil && !o.http1 {
					cancel()
				}
			})
			t.mu.Unlock()
			defer stop()
		} else {
			t.mu.Unlock()
		}
		select {
		case <-o.ready:
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
		if o.err != nil {
			if reused && errors.Is(o.err, context.Canceled) {
				continue // the request that opened it was cancelled
			}
			return nil, o.err
		}
		if trace != nil && trace.GotConn != nil && o.session != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: o.session.Conn(), Reused: reused})
		}
		return o.session, nil
	}
}

// open opens the session of an origin.
func (t *Transport) open(ctx context.Context, key string, u *url.URL, o *origin) {
	session, http1, err := t.dial(ctx, key, u)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed && session != nil {
		_ = session.Close()
		session, err = nil, ErrClosed
	}
	o.session, o.http1, o.err = session, http1, err
	if err != nil && t.origins[key] == o {
		delete(t.origins, key)
	}
	close(o.ready)
}

func (t *Transport) versions() []Version {
	if t.Versions != nil {
		return t.Versions
	}
	return Versions()
}

// dial opens a connection and the session on it.
func (t *Transport) dial(ctx context.Context, key string, u *url.URL) (*clientSession, bool, error) {
	address := authority(u)
	if t.Coalesce && u.Scheme == "https" {
		if s := t.coalesce(ctx, u.Hostname(), u.Port()); s != nil {
			return s, false, nil
		}
	}
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, false, err
	}
	v := t.Cleartext
	if u.Scheme == "https" {
		secure, err := t.handshake(ctx, conn, u.Hostname())
		if err != nil {
			return nil, false, errors.Join(err, conn.Close())
		}
		protocol := secure.ConnectionState().NegotiatedProtocol
		var ok bool
		if v, ok = ParseVersion(protocol); !ok || !slices.Contains(t.versions(), v) {
			if t.OnlySPDY {
				return nil, false, errors.Join(fmt.Errorf("the server chose %q from %v", protocol, t.versions()), secure.Close())
			}
			// The connection could carry HTTP/1.1, but net/http opens its own.
			return nil, true, secure.Close()
		}
		conn = secure
	}
	return t.begin(conn, v, key), false, nil
}

func (t *Transport) handshake(ctx context.Context, conn net.Conn, host string) (*tls.Conn, error) {
	config := &tls.Config{}
	if t.TLSClientConfig != nil {
		config = t.TLSClientConfig.Clone()
	}
	config.ServerName = cmp.Or(config.ServerName, host)
	config.NextProtos = nil
	for _, v := range t.versions() {
		config.NextProtos = append(config.NextProtos, v.String())
	}
	if !t.OnlySPDY {
		config.NextProtos = append(config.NextProtos, "http/1.1")
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	secure := tls.Client(conn, config)
	err := secure.HandshakeContext(ctx)
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secure.ConnectionState(), err)
	}
	return secure, err
}

// begin starts a session.
func (t *Transport) begin(conn net.Conn, v Version, key string) *clientSession {
	config := t.Config
	config.Window.Session = cmp.Or(config.Window.Session, 16<<20)
	s := &clientSession{transport: t, origin: key}
	if c, ok := conn.(*tls.Conn); ok {
		state := c.ConnectionState()
		s.tls = &state
	}
	begun := make(chan struct{})
	defer close(begun)
	config.Accept, config.Arrived, config.Persisted = nil, nil, nil
	if t.Push {
		config.Arrived = s.register
		config.Accept = func(st *Stream) {
			<-begun
			s.pushed(st)
		}
	}
	place := key + " " + conn.RemoteAddr().String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Persist {
		config.Persisted = t.persisted[place]
	}
	t.running.Add(1)
	config.ended = func() {
		go func() {
			defer t.running.Done()
			<-begun
			t.ended(s, place)
		}()
	}
	s.Session = NewClient(conn, v, &config)
	t.sessions = append(t.sessions, s)
	return s
}

// ended forgets a session that has ended, once its goroutines have.
func (t *Transport) ended(s *clientSession, place string) {
	_ = s.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions = slices.DeleteFunc(t.sessions, func(x *clientSession) bool { return x == s })
	for k, o := range t.origins {
		if o.session == s {
			delete(t.origins, k)
		}
	}
	if t.Persist {
		if t.persisted == nil {
			t.persisted = make(map[string][]Setting)
		}
		t.persisted[place] = s.Persisted()
	}
}

// coalesce finds a session that may be used for another host.
func (t *Transport) coalesce(ctx context.Context, host, port string) *clientSession {
	t.mu.Lock()
	sessions := slices.Clone(t.sessions)
	t.mu.Unlock()
	if len(sessions) == 0 {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil
	}
	for _, s := range sessions {
		c, ok := s.Conn().(*tls.Conn)
		if !ok || s.ended() {
			continue
		}
		ip, p, err := net.SplitHostPort(c.RemoteAddr().String())
		state := c.ConnectionState()
		if err != nil || p != cmp.Or(port, "443") || !slices.Contains(addresses, ip) || len(state.PeerCertificates) == 0 {
			continue
		}
		if state.PeerCertificates[0].VerifyHostname(host) == nil {
			return s
		}
	}
	return nil
}

// forget makes the next request open a new session.
func (t *Transport) forget(s *clientSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, o := range t.origins {
		if o.session == s {
			delete(t.origins, k)
		}
	}
}

// fallback returns the transport for origins that speak HTTP/1.1.
func (t *Transport) fallback() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.http1 == nil {
		config := &tls.Config{}
		if t.TLSClientConfig != nil {
			config = t.TLSClientConfig.Clone()
		}
		config.NextProtos = nil
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		t.http1 = &http.Transport{
			DialContext: t.DialContext, TLSClientConfig: config, Protocols: protocols, DisableCompression: t.DisableCompression,
			ExpectContinueTimeout: cmp.Or(t.ExpectContinueTimeout, time.Second),
		}
	}
	return t.http1
}

// CloseIdleConnections ends the sessions without streams. Others end with their
// last stream.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	sessions, http1 := slices.Clone(t.sessions), t.http1
	t.mu.Unlock()
	if http1 != nil {
		http1.CloseIdleConnections()
	}
	for _, s := range sessions {
		s.mu.Lock()
		s.leave()
		s.mu.Unlock()
	}
}

// Close ends all sessions and waits for their goroutines. Requests in flight,
// and later ones, fail with ErrClosed.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	sessions := slices.Clone(t.sessions)
	t.mu.Unlock()
	t.CloseIdleConnections()
	for _, s := range sessions {
		_ = s.Close()
	}
	t.running.Wait()
	return nil
}

// Sessions returns the open sessions in the order in which they were opened.
func (t *Transport) Sessions() []*Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*Session
	for _, s := range t.sessions {
		all = append(all, s.Session)
	}
	return all
}

var _ io.Closer = (*Transport)(nil)
