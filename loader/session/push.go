package session

import (
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"

	"wiretime/spdy"
)

// pushes are the answers that a SPDY server has sent before they were asked for.
type pushes struct {
	mu  sync.Mutex
	all []*pushed // in the order in which they came
}

type pushed struct {
	url    string
	stream *spdy.Stream
	done   chan struct{} // closed once a request has taken it and is through with it
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

// catchUp lets streams be noted that were pushed before what is about to be read,
// since that may be what has them asked for.
func (p *pushes) catchUp() { runtime.Gosched() }

// accept keeps a stream that the server has opened until a request has taken it or
// the connection ends. What has no URL of this origin, or is there already, is
// refused.
func (s *spdyConn) accept(stream *spdy.Stream) {
	p := &pushed{stream: stream, done: make(chan struct{})}
	var ok bool
	if p.url, ok = s.pushedURL(stream.Fields()); !ok {
		stream.Reset(spdy.ProtocolError, errors.New("what is pushed has no URL of this origin"))
		return
	}
	s.pushes.mu.Lock()
	twice := slices.ContainsFunc(s.pushes.all, func(q *pushed) bool { return q.url == p.url })
	if !twice {
		s.pushes.all = append(s.pushes.all, p)
	}
	s.pushes.mu.Unlock()
	if twice {
		stream.Reset(spdy.RefusedStream, errors.New("it is pushed already"))
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
