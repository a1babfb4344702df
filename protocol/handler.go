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

// meter counts what a handler writes, and records what an archive says about its
// response.
type meter struct {
	http.ResponseWriter
	status   int // 0: not answered
	bytes    int64
	miss     bool
	near     string
	early    []string
	pushed   bool         // no client requested it
	pushes   *pushes      // the server's pushes
	unpushed atomic.Int64 // responses that should have been pushed with it but were not
	intake   *intake      // what a sink received; nil for requests without a sink
}

// Unwrap supports http.ResponseController.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *meter) WriteHeader(status int) {
	if status >= http.StatusOK { // interim responses come first
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.ResponseWriter.Write(b)
	m.bytes += int64(n)
	return n, err
}

// connectionKey is the context key of a connection's number.
type connectionKey struct{}

// serverLog records every request. It is also the server's clock.
type serverLog struct {
	protocol Protocol
	handler  http.Handler
	off      bool      // record nothing
	began    time.Time // anchors the monotonic clock in Unix time
	accepted atomic.Int64
	running  sync.WaitGroup

	pushes pushes

	mu     sync.Mutex
	since  int64 // earlier requests are left out
	served []servedRequest
}

// servedRequest is a request that was answered, or cut off.
type servedRequest struct {
	capture.ServerEntry
	stream quic.StreamID
	trace  *connectionTrace // of its connection; nil unless QUIC
	push   *push            // nil if a client sent the request
}

func (s *servedRequest) entry() capture.ServerEntry {
	e := s.ServerEntry
	e.EarlyData = s.trace != nil && s.trace.tookEarly(s.stream)
	return e
}

func (l *serverLog) now() int64 { return l.began.UnixNano() + int64(time.Since(l.began)) }

// at converts a time to ns since the Unix epoch.
func (l *serverLog) at(t time.Time) int64 { return l.began.UnixNano() + int64(t.Sub(l.began)) }

// number assigns a number to a new connection.
func (l *serverLog) number(ctx context.Context) context.Context {
	return context.WithValue(ctx, connectionKey{}, l.accepted.Add(1))
}

// connection returns the number of the connection that carried a request.
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
	if m.intake != nil {
		e.Received = m.intake.received(l)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off && e.Start >= l.since {
		l.served = append(l.served, e)
	}
}

// spoken names the protocol of a request in the way browsers do.
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
