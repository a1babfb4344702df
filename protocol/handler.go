package protocol

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/capture"
	"wiretime/spdy"
)

// missing is the body of a miss.
var missing = []byte("This URL is not in the site's archive.\n")

// Archive answers requests from what lookup finds, whatever protocol they came
// over. What it does not find is answered with 404 and marked as a miss in the
// server's log. A client that has the archived version already, by its ETag or
// Last-Modified, is told so with 304 (RFC 9110 section 13).
func Archive(lookup func(method, host, path string) (status int, header [][2]string, body []byte, ok bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, header, body, ok := lookup(r.Method, hostname(r.Host), r.URL.RequestURI())
		if !ok {
			if m, ok := w.(*meter); ok {
				m.miss = true
			}
			status, header, body = http.StatusNotFound, [][2]string{{"content-type", "text/plain; charset=utf-8"}}, missing
		}
		for _, field := range header {
			w.Header().Add(field[0], field[1])
		}
		if status == http.StatusOK && notModified(r, w.Header()) {
			status, body = http.StatusNotModified, nil
			leaveOutContent(w.Header())
		}
		if _, ok := w.Header()["Content-Type"]; !ok {
			// Servers guess it unless told not to.
			w.Header()["Content-Type"] = nil
		}
		if status != http.StatusNoContent && status != http.StatusNotModified {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead && status != http.StatusNotModified {
			// A client that has gone away is seen in the log's body size.
			_, _ = w.Write(body)
		}
	})
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// meter counts what a handler writes.
type meter struct {
	http.ResponseWriter
	status int
	bytes  int64
	miss   bool
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

	mu     sync.Mutex
	since  int64 // requests that began before are left out
	served []servedRequest
}

// servedRequest is a request that has been answered, or cut off.
type servedRequest struct {
	capture.ServerEntry
	stream quic.StreamID
	trace  *connectionTrace // of its connection; nil but for QUIC
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
	e.Connection, _ = r.Context().Value(connectionKey{}).(int64)
	if r.TLS != nil {
		e.TLS, e.Cipher, e.Resumed = tls.VersionName(r.TLS.Version), tls.CipherSuiteName(r.TLS.CipherSuite), r.TLS.DidResume
	}
	m := &meter{ResponseWriter: w, status: http.StatusOK}
	l.handler.ServeHTTP(m, r)
	e.End, e.Status, e.BodyBytes, e.Miss = l.now(), m.status, m.bytes, m.miss
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
