package session

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"wiretime/spdy"
)

// mostPushes is how many pushes of a connection may be under way or wait for a request, as in Chromium
// (kMaxConcurrentPushedStreams). Package spdy limits their octets.
const mostPushes = 1000

// pushes holds the responses that a SPDY server has pushed.
type pushes struct {
	mu    sync.Mutex
	all   []*pushed                // not taken by a request, in order of arrival
	noted map[*spdy.Stream]*pushed // not accepted yet
}

type pushed struct {
	url    string
	stream *spdy.Stream
	done   chan struct{} // closed once the request that took it has finished
	status spdy.Status   // why it is refused; 0: not refused
	why    error
}

// take returns the push for a request, and removes it; nil if there is none.
func (p *pushes) take(r *http.Request) *pushed {
	if r.Method != http.MethodGet {
		return nil
	}
	for {
		found := p.remove(r.URL.String())
		// A push that has been cancelled is requested again. Its stream is asked without p's lock, which is taken while
		// the SPDY session's is held.
		if found == nil || found.stream.Err() == nil {
			return found
		}
		close(found.done)
	}
}

// remove removes the push of a URL; nil if there is none.
func (p *pushes) remove(url string) *pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.all, func(q *pushed) bool { return q.url == url })
	if i < 0 {
		return nil
	}
	found := p.all[i]
	p.all = slices.Delete(p.all, i, i+1)
	return found
}

// arrived records a stream that the server has opened before anything after it is read,
// since that may contain the reference to it. A push without a URL of this origin, or of
// a URL already pushed, will be refused.
func (s *spdyConn) arrived(stream *spdy.Stream) {
	p := &pushed{stream: stream, done: make(chan struct{})}
	url, ok := s.pushedURL(stream.Fields())
	p.url = url
	s.pushes.mu.Lock()
	defer s.pushes.mu.Unlock()
	switch {
	case !ok:
		p.status, p.why = spdy.ProtocolError, errors.New("the pushed URL does not belong to this origin")
	case slices.ContainsFunc(s.pushes.all, func(q *pushed) bool { return q.url == url }):
		p.status, p.why = spdy.RefusedStream, errors.New("the URL has already been pushed")
	case len(s.pushes.all) >= mostPushes:
		p.status, p.why = spdy.RefusedStream, fmt.Errorf("%d pushes wait for a request already", mostPushes)
	default:
		s.pushes.all = append(s.pushes.all, p)
	}
	if s.pushes.noted == nil {
		s.pushes.noted = map[*spdy.Stream]*pushed{}
	}
	s.pushes.noted[stream] = p
}

// accept keeps a stream until a request has taken it or the connection ends, or refuses
// it.
func (s *spdyConn) accept(stream *spdy.Stream) {
	s.pushes.mu.Lock()
	p := s.pushes.noted[stream]
	delete(s.pushes.noted, stream)
	s.pushes.mu.Unlock()
	if p.why != nil {
		stream.Reset(p.status, p.why)
		return
	}
	select {
	case <-p.done:
	case <-s.session.Done():
	}
}

// pushedURL returns the URL of a pushed stream (draft 3 section 3.3.1; version 2
// has the whole URL in one field). It must belong to the origin that the
// connection was opened for.
func (s *spdyConn) pushedURL(fields []spdy.Field) (string, bool) {
	u := &url.URL{}
	path := ""
	for _, f := range fields {
		switch f.Name {
		case pseudo(s.version, "scheme"):
			u.Scheme = f.Value
		case pseudo(s.version, "host"):
			u.Host = f.Value
		case pseudo(s.version, "path"):
			path = f.Value
		}
	}
	reference, err := url.Parse(path)
	if err != nil || path == "" {
		return "", false
	}
	u = u.ResolveReference(reference)
	return u.String(), u.Scheme == s.conn.row.Scheme && u.Host == s.conn.origin.authority
}
