package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"wiretime/terminal"
)

// requestLog is where requests are logged, a line each.
type requestLog struct {
	mu sync.Mutex
	w  io.Writer // nil for none
}

func (l *requestLog) write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w != nil {
		// Clients need not wait for a reader of the log.
		_, _ = fmt.Fprintln(l.w, line)
	}
}

// logged logs each request that its handler has answered.
type logged struct {
	handler http.Handler
	log     *requestLog
}

func (l logged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	m := &meter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		l.log.write(fmt.Sprintf("%-9s %s %s %d %d B %.1f ms", spoken(r), terminal.Line(r.Method), terminal.Line(r.URL.RequestURI()), m.status, m.octets,
			float64(time.Since(began))/float64(time.Millisecond)))
	}()
	l.handler.ServeHTTP(m, r)
}

// spoken returns the name of the protocol of a request.
func spoken(r *http.Request) string {
	switch {
	case r.ProtoMajor == 3 && r.Proto == "HTTP/3.0":
		return "h3"
	case r.ProtoMajor == 2 && r.Proto == "HTTP/2.0":
		return "h2"
	}
	name := strings.ToLower(r.Proto)
	if r.TLS != nil && strings.HasPrefix(name, "http/") {
		name = "https" + strings.TrimPrefix(name, "http")
	}
	return name
}

// meter counts what a handler writes.
type meter struct {
	http.ResponseWriter
	status int
	octets int64
}

func (m *meter) WriteHeader(status int) {
	if status >= 200 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.ResponseWriter.Write(b)
	m.octets += int64(n)
	return n, err
}

// Unwrap supports http.ResponseController.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
