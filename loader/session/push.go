package session

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"wiretime/spdy"
)

// pushes are the answers that a SPDY server has sent before they were asked for.
type pushes struct {
	mu    sync.Mutex
	all   []*pushed                // that no request has taken, in the order in which they came
	noted map[*spdy.Stream]*pushed // that nobody has accepted yet
}

type pushed struct {
	url    string
	stream *spdy.Stream
	done   chan struct{} // closed once a request has taken it and is through with it
	status spdy.Status   // why it is refused; 0: it is not
	why    error
}

// take finds what was pushed for a request, and takes it; nil if there is nothing.
func (p *pushes) take(r *http.Request) *pushed {
	if r.Method != http.MethodGet {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.all, func(q *pushed) bool { return q.url == r.URL.String() })
	if i < 0 {
		return nil
	}
	found := p.all[i]
	p.all = slices.Delete(p.all, i, i+1)
	return found
}

// arrived notes a stream that the server has opened, before what comes behind it is read:
// that may be what has it asked for. What has no URL of this origin, or is there already,
// is to be refused.
func (s *spdyConn) arrived(stream *spdy.Stream) {
	p := &pushed{stream: stream, done: make(chan struct{})}
	url, ok := s.pushedURL(stream.Fields())
	p.url = url
	s.pushes.mu.Lock()
	defer s.pushes.mu.Unlock()
	switch {
	case !ok:
		p.status, p.why = spdy.ProtocolError, errors.New("what is pushed has no URL of this origin")
	case slices.ContainsFunc(s.pushes.all, func(q *pushed) bool { return q.url == url }):
		p.status, p.why = spdy.RefusedStream, errors.New("it is pushed already")
	default:
		s.pushes.all = append(s.pushes.all, p)
	}
	if s.pushes.noted == nil {
		s.pushes.noted = map[*spdy.Stream]*pushed{}
	}
	s.pushes.noted[stream] = p
}

// accept keeps a stream that has arrived until a request has taken it or the connection
// ends, or refuses it.
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

// pushedURL is what a pushed stream answers for (draft 3 section 3.3.1; version 2
// has the whole URL in one field). It has to be of the origin that the connection
// was opened for.
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
