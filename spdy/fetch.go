package spdy

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// clientSession is a session of a Transport.
type clientSession struct {
	*Session
	transport *Transport
	origin    string // scheme, host and port
	tls       *tls.ConnectionState

	pushes []*pushedStream // not requested yet, oldest first; guarded by the session's lock
}

// pushedStream is a response that arrived before its request.
type pushedStream struct {
	url    string
	stream *Stream
	err    error         // why it is unusable
	claim  chan struct{} // closed when a request has taken it
	done   chan struct{} // closed when the request has finished
}

// ended reports whether no new streams can be opened.
func (s *clientSession) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.leaving
}

// roundTrip sends a request over one stream.
func (s *clientSession) roundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Method == "" || r.Method == http.MethodGet {
		if p := s.take(r.URL); p != nil {
			return s.receive(r, p.stream, true, func() { close(p.done) })
		}
	}
	hasBody := r.Body != nil && r.Body != http.NoBody
	priority := Middle
	if s.transport.Priority != nil {
		priority = s.transport.Priority(r)
	}
	fields := s.version.requestFields(r)
	add := func(name, value string) {
		if _, ok := valueOf(fields, name); !ok {
			fields = append(fields, Field{name, value})
		}
	}
	if hasBody && r.ContentLength > 0 {
		add("content-length", fmt.Sprint(r.ContentLength))
	} else if !hasBody && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
		add("content-length", "0")
	}
	if _, set := r.Header["User-Agent"]; !set {
		add("user-agent", "Go-spdy/1")
	}
	unzip := false
	if r.Header.Get("Accept-Encoding") == "" && r.Header.Get("Range") == "" && r.Method != http.MethodHead && !s.transport.DisableCompression {
		add("accept-encoding", "gzip")
		unzip = true
	}
	st, err := s.Open(ctx, fields, OpenOptions{Priority: priority, Fin: !hasBody})
	if err != nil {
		closeBody(r)
		return nil, err
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	if !hasBody {
		if trace != nil && trace.WroteRequest != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{})
		}
		return s.receive(r, st, unzip, func() {})
	}
	proceed := s.expect(st, r)
	if !s.spawn(func() { s.sendBody(st, r, proceed) }) {
		// The stream has ended with the session, and knows whether the server
		// may have processed it; the session does not.
		closeBody(r)
	}
	return s.receive(r, st, unzip, func() { closeBody(r) })
}

// expect returns a channel that is closed when the server asks for the body of
// a request that waits for this, or nil if the request does not wait.
func (s *clientSession) expect(st *Stream, r *http.Request) chan struct{} {
	if !strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return nil
	}
	proceed := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if interim(st.reply) {
		close(proceed)
	} else {
		st.interim = proceed
	}
	return proceed
}

// sendBody sends a request's body and trailer.
func (s *clientSession) sendBody(st *Stream, r *http.Request, proceed chan struct{}) {
	defer r.Body.Close()
	trace := httptrace.ContextClientTrace(r.Context())
	err := func() error {
		if proceed != nil {
			timer := time.NewTimer(cmp.Or(s.transport.ExpectContinueTimeout, time.Second))
			defer timer.Stop()
			select {
			case <-proceed:
			case <-timer.C:
			case <-st.replied:
				// The server has answered without the body.
				return st.CloseWrite()
			}
		}
		buf := chunks.Get().(*chunk)
		defer chunks.Put(buf)
		left := r.ContentLength
		for {
			n, err := r.Body.Read(buf.data[:])
			if left -= int64(n); r.ContentLength > 0 && left < 0 {
				return fmt.Errorf("the request's body is longer than its ContentLength of %d", r.ContentLength)
			}
			if n > 0 {
				if _, err := st.Write(buf.data[:n]); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		if r.ContentLength > 0 && left > 0 {
			return fmt.Errorf("the request's body is %d octets shorter than its ContentLength", left)
		}
		return st.SendTrailer(s.version.appendHeader(nil, r.Trailer))
	}()
	if err != nil {
		st.Reset(Cancel, err)
	}
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// receive waits for the response on a stream. It calls done when the response
// has been read or abandoned.
func (s *clientSession) receive(r *http.Request, st *Stream, unzip bool, done func()) (*http.Response, error) {
	ctx := r.Context()
	fields, err := st.Reply(ctx)
	if err != nil {
		if ctx.Err() != nil {
			st.Reset(Cancel, context.Cause(ctx))
		}
		done()
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	w, err := s.version.response(fields, r)
	if err != nil {
		err = &StreamError{StreamID: st.id, Status: ProtocolError, Cause: err.Error()}
		st.Reset(ProtocolError, err)
		done()
		return nil, err
	}
	w.TLS = s.tls
	body := &responseBody{st: st, w: w, done: done}
	body.stop = func() bool { return true }
	if ctx.Done() != nil {
		body.stop = context.AfterFunc(ctx, func() { st.Reset(Cancel, context.Cause(ctx)) })
	}
	w.Body = body
	st.s.mu.Lock()
	empty := st.remoteDone && st.received == 0
	st.s.mu.Unlock()
	if empty {
		_, err := body.Read(nil)
		if errors.Is(err, io.EOF) {
			w.Body = http.NoBody
		}
		if r.Method != http.MethodHead {
			w.ContentLength = 0
		}
		return w, nil
	}
	if unzip && strings.EqualFold(w.Header.Get("Content-Encoding"), "gzip") {
		w.Header.Del("Content-Encoding")
		w.Header.Del("Content-Length")
		w.ContentLength, w.Uncompressed = -1, true
		w.Body = &gunzip{body: body}
	}
	return w, nil
}

// responseBody reads what arrives on a stream.
type responseBody struct {
	st   *Stream
	w    *http.Response
	stop func() bool
	once sync.Once
	done func()
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.st.Read(p)
	if errors.Is(err, io.EOF) {
		b.st.s.version.addTrailer(&b.w.Trailer, b.st.Trailer())
		b.end()
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.end()
	return nil
}

// end abandons what has not arrived, and what has not been sent.
func (b *responseBody) end() {
	b.once.Do(func() {
		b.stop()
		_ = b.st.Close()
		b.done()
	})
}

// gunzip decompresses a body.
type gunzip struct {
	body *responseBody
	z    *gzip.Reader
	err  error
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.body)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}

func (g *gunzip) Close() error { return g.body.Close() }

// Limits on how long and how many pushes wait for their requests.
const (
	pushWait = time.Minute
	mostPush = 100
)

// register makes a stream that the server has opened findable before anything
// after it is read, since that may cause a request for it. The caller holds the
// session's lock.
func (s *clientSession) register(st *Stream) {
	st.unclaimed = true
	target, err := s.pushedURL(st)
	switch {
	case err != nil:
	case len(s.pushes) >= mostPush:
		err = errors.New("too many pushes")
	case slices.ContainsFunc(s.pushes, func(q *pushedStream) bool { return q.url == target }):
		err = errors.New("the URL has already been pushed")
	}
	s.pushes = append(s.pushes, &pushedStream{
		url: target, stream: st, err: err, claim: make(chan struct{}), done: make(chan struct{}),
	})
}

// pushed keeps a registered stream until a request takes it.
func (s *clientSession) pushed(st *Stream) {
	s.mu.Lock()
	i := slices.IndexFunc(s.pushes, func(q *pushedStream) bool { return q.stream == st })
	if i < 0 {
		// A request came first.
		done := st.claimed
		s.mu.Unlock()
		select {
		case <-done:
		case <-s.Done():
		}
		return
	}
	p := s.pushes[i]
	s.mu.Unlock()
	if p.err != nil {
		s.drop(p)
		st.Reset(ProtocolError, p.err)
		return
	}
	timer := time.NewTimer(pushWait)
	defer timer.Stop()
	select {
	case <-p.claim:
	case <-timer.C:
	case <-s.Done():
	}
	s.drop(p)
	select {
	case <-p.claim:
		select {
		case <-p.done:
		case <-s.Done():
		}
	default:
	}
}

func (s *clientSession) drop(p *pushedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes = slices.DeleteFunc(s.pushes, func(q *pushedStream) bool { return q == p })
}

// take finds the push for a URL, and takes it.
func (s *clientSession) take(u *url.URL) *pushedStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pushes) == 0 {
		return nil
	}
	url := resource(u)
	for i, p := range s.pushes {
		if p.url == url && p.err == nil && p.stream.err == nil {
			s.pushes = slices.Delete(s.pushes, i, i+1)
			p.stream.unclaimed, p.stream.claimed = false, p.done
			close(p.claim)
			return p
		}
	}
	return nil
}

// resource returns a URL in the form in which pushes are compared with requests.
func resource(u *url.URL) string { return u.Scheme + "://" + authority(u) + u.RequestURI() }

// pushedURL returns the URL of a pushed stream. It must belong to an origin of
// the session (draft 3 section 3.3).
func (s *clientSession) pushedURL(st *Stream) (string, error) {
	v, n := st.s.version, st.s.version.names()
	var scheme, host, path string
	for _, f := range st.Fields() {
		switch f.Name {
		case n.scheme:
			scheme = f.Value
		case n.host:
			host = f.Value
		case n.path:
			path = f.Value
		}
	}
	if path == "" || v != V2 && (scheme == "" || host == "") {
		return "", fmt.Errorf("SYN_STREAM: the push has no URL (%s)", v.cite("3.3.2"))
	}
	if !strings.Contains(path, "://") {
		path = scheme + "://" + host + path
	}
	u, err := url.Parse(path)
	if err != nil {
		return "", fmt.Errorf("SYN_STREAM: invalid URL of the push: %w", err)
	}
	if origin := u.Scheme + "://" + authority(u); origin != s.origin {
		return "", fmt.Errorf("SYN_STREAM: a session with %s must not push for %s (%s)", s.origin, origin, v.cite("3.3"))
	}
	return resource(u), nil
}
