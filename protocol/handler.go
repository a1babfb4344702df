package protocol

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/capture"
	"wiretime/spdy"
)

// meter counts what a handler writes, and keeps what an archive says of its answer.
type meter struct {
	http.ResponseWriter
	status   int // 0: it was not answered
	bytes    int64
	miss     bool
	near     string
	early    []string
	pushed   bool         // nobody has asked for it
	pushes   *pushes      // of the server
	unpushed atomic.Int64 // of what was to be pushed with it
}

// Unwrap is for http.ResponseController.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *meter) WriteHeader(status int) {
	if status >= http.StatusOK { // others come before the answer
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.ResponseWriter.Write(b)
	m.bytes += int64(n)
	return n, err
}

// connectionKey is where a connection's number is kept in its context.
type connectionKey struct{}

// serverLog writes down every request. It is also the server's clock.
type serverLog struct {
	protocol Protocol
	handler  http.Handler
	began    time.Time // anchors the monotonic clock in Unix time
	accepted atomic.Int64
	running  sync.WaitGroup

	pushes pushes

	mu     sync.Mutex
	since  int64 // requests that began before are left out
	served []servedRequest
}

// servedRequest is a request that has been answered, or cut off.
type servedRequest struct {
	capture.ServerEntry
	stream quic.StreamID
	trace  *connectionTrace // of its connection; nil but for QUIC
	push   *push            // nil but for one that nobody sent
}

func (s *servedRequest) entry() capture.ServerEntry {
	e := s.ServerEntry
	e.EarlyData = s.trace != nil && s.trace.tookEarly(s.stream)
	return e
}

func (l *serverLog) now() int64 { return l.began.UnixNano() + int64(time.Since(l.began)) }

// number gives a new connection its number.
func (l *serverLog) number(ctx context.Context) context.Context {
	return context.WithValue(ctx, connectionKey{}, l.accepted.Add(1))
}

// connection is the number of the connection that a request came over.
func connection(r *http.Request) int64 {
	number, _ := r.Context().Value(connectionKey{}).(int64)
	return number
}

func (l *serverLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.running.Add(1)
	defer l.running.Done()
	e := servedRequest{ServerEntry: capture.ServerEntry{
		Start: l.now(), Protocol: spoken(r), Method: r.Method,
		URL: l.protocol.Scheme + "://" + r.Host + r.URL.RequestURI(), Client: r.RemoteAddr,
	}}
	if body, ok := r.Body.(interface{ StreamID() quic.StreamID }); ok {
		e.stream = body.StreamID()
		e.trace, _ = r.Context().Value(traceKey{}).(*connectionTrace)
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		e.Server = local.String()
	}
	e.Connection = connection(r)
	e.push = l.pushes.take(e.Connection, e.URL)
	if r.TLS != nil {
		e.TLS, e.Cipher, e.Resumed = tls.VersionName(r.TLS.Version), tls.CipherSuiteName(r.TLS.CipherSuite), r.TLS.DidResume
	}
	m := &meter{ResponseWriter: w, status: http.StatusOK, pushes: &l.pushes, pushed: e.push != nil}
	l.handler.ServeHTTP(m, r)
	e.End, e.Status, e.BodyBytes, e.Miss, e.Near = l.now(), m.status, m.bytes, m.miss, m.near
	e.Early, e.Pushed, e.Unpushed = m.early, m.pushed, int(m.unpushed.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Start >= l.since {
		l.served = append(l.served, e)
	}
}

// spoken names the protocol that a request came over, as browsers do.
func spoken(r *http.Request) string {
	if v, ok := spdy.RequestVersion(r.Context()); ok {
		return v.String()
	}
	switch r.ProtoMajor {
	case 2:
		return "h2"
	case 3:
		return "h3"
	}
	return "http/1.1"
}
