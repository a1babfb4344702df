package protocol

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// push is a response that the server sends without being asked. It comes to the handler
// as a request of its own, like any other.
type push struct {
	refused atomic.Bool // the protocol or the client did not take it after all
}

// pushKey is what a push can be told by from what clients ask for. One that asks for the
// very same at the very same moment is taken for it, and the push for the request.
type pushKey struct {
	connection int64
	url        string
}

// pushes are those whose handler has yet to begin.
type pushes struct {
	mu  sync.Mutex
	all map[pushKey][]*push
}

func (p *pushes) announce(k pushKey) *push {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[pushKey][]*push{}
	}
	one := &push{}
	p.all[k] = append(p.all[k], one)
	return one
}

// take finds the push that a request is; nil if it is none.
func (p *pushes) take(connection int64, url string) *push {
	k := pushKey{connection, url}
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.all[k]
	if len(waiting) == 0 {
		return nil
	}
	p.all[k] = waiting[1:]
	return waiting[0]
}

func (p *pushes) withdraw(k pushKey, one *push) {
	one.refused.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[k] = slices.DeleteFunc(p.all[k], func(other *push) bool { return other == one })
}

// push has the server push a path of the request's origin, with its query. What the
// protocol has no way for, or the client does not want, is counted.
func (m *meter) push(r *http.Request, path string) {
	pusher, ok := pusherOf(m.ResponseWriter)
	if !ok {
		m.unpushed.Add(1)
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	k := pushKey{connection(r), scheme + "://" + r.Host + path}
	one := m.pushes.announce(k)
	// Package spdy gives it the header of this request; its conditions are not those.
	unconditional := &http.PushOptions{Header: http.Header{"If-None-Match": nil, "If-Modified-Since": nil}}
	if pusher.Push(k.url, unconditional) != nil {
		m.pushes.withdraw(k, one)
		m.unpushed.Add(1)
	}
}

// pusherOf finds who pushes behind whatever else a handler's writer does.
func pusherOf(w http.ResponseWriter) (http.Pusher, bool) {
	for {
		if p, ok := w.(http.Pusher); ok {
			return p, true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, false
		}
		w = u.Unwrap()
	}
}
