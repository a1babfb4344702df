package spdy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
)

// mostParked is how much pushed data a client keeps, in octets, before anything has begun to read it. It is less than
// half of the session windows in use: with more parked, a window updated by halves might never be updated again.
const mostParked = 4 << 20

var errParked = fmt.Errorf("the server pushes more than %d octets that nothing has requested", mostParked)

// park counts octets of a pushed stream that nobody has begun to read, and cancels it if they are too many.
func (s *Session) park(st *Stream, n int) {
	if s.parked += n; s.parked > mostParked {
		s.reset(st, Cancel, errParked)
	}
}

// unpark no longer counts the octets of a stream that somebody reads.
func (st *Stream) unpark() {
	if st.parked {
		st.parked = false
		st.s.parked -= st.buffer.length
	}
}

// Push implements http.Pusher. It returns once the client has been told of the
// resource, which is when the handler has begun to respond to it: only then may
// anything be written that makes the client want it (draft 3 section 3.3.1).
func (w *responseWriter) Push(target string, o *http.PushOptions) error {
	if w.pushed != nil || w.request == nil {
		return errors.New("spdy: push: a pushed response cannot push")
	}
	method, header := "GET", http.Header(nil)
	if o != nil {
		header = o.Header
		if o.Method != "" {
			method = o.Method
		}
	}
	if method != http.MethodGet {
		return fmt.Errorf("spdy: push %s: the method must be GET (%s)", target, w.conn.version.cite("3.3.1"))
	}
	return w.push(target, min(w.st.priority+1, Lowest), header)
}

func (w *responseWriter) push(target string, priority Priority, header http.Header) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("spdy: push: %w", err)
	}
	scheme := "http"
	if w.conn.tls != nil {
		scheme = "https"
	}
	base := &url.URL{Scheme: scheme, Host: w.request.Host, Path: w.request.URL.Path}
	u = base.ResolveReference(u)
	if u.Host != base.Host || u.Scheme != scheme {
		return fmt.Errorf("spdy: push %s: its origin differs from that of %s", target, base)
	}
	if w.request.Context().Err() != nil {
		return fmt.Errorf("spdy: push %s: %w", target, context.Cause(w.request.Context()))
	}
	// A push inherits the header of the request that it belongs to (section 3.3).
	h := w.request.Header.Clone()
	maps.Copy(h, header)
	for _, key := range []string{"Content-Length", "Content-Type", "Expect"} {
		h.Del(key)
	}
	opened := make(chan error, 1)
	p := &pushedURL{url: u, priority: priority, parent: w.st, opened: opened}
	r := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, RequestURI: u.RequestURI(),
		Host: u.Host, Header: h, Body: http.NoBody, Proto: w.conn.version.proto(), ProtoMajor: 1, ProtoMinor: 1,
		RemoteAddr: w.conn.remote, TLS: w.conn.tls,
	}
	ctx, cancel := context.WithCancelCause(w.conn.ctx)
	p.cancel = cancel
	pw := &responseWriter{conn: w.conn, request: r.WithContext(ctx), header: make(http.Header), pushed: p}
	w.st.s.handlers.Go(func() {
		defer cancel(nil)
		defer func() {
			if pw.st != nil {
				_ = pw.st.Close()
			}
		}()
		w.conn.run(pw, pw.request)
	})
	select {
	case err := <-opened:
		return err
	case <-w.request.Context().Done():
		cancel(context.Cause(w.request.Context()))
		return fmt.Errorf("spdy: push %s: %w", target, context.Cause(w.request.Context()))
	}
}

// pushedURL is a URL to push.
type pushedURL struct {
	url      *url.URL
	priority Priority
	parent   *Stream
	opened   chan error
	cancel   context.CancelCauseFunc
}

// open opens the stream of a pushed response. Its SYN_STREAM carries the URL and
// the response's header.
func (p *pushedURL) open(w *responseWriter, fields []Field, fin bool) error {
	v := w.conn.version
	n := v.names()
	// Some clients need the method too.
	all := []Field{{n.host, p.url.Host}, {n.method, "GET"}, {n.path, p.url.RequestURI()}, {n.scheme, p.url.Scheme}}
	if v == V2 {
		all = []Field{{"host", p.url.Host}, {"method", "GET"}, {"url", p.url.String()}, {"scheme", p.url.Scheme}}
	}
	st, err := p.parent.s.Open(context.Background(), append(all, fields...), OpenOptions{
		Priority: p.priority, Fin: fin, Unidirectional: true, Associated: p.parent, NoWait: true,
	})
	if err == nil {
		w.st = st
		st.s.mu.Lock()
		st.onFail = p.cancel
		st.s.mu.Unlock()
	}
	p.opened <- err
	return err
}
