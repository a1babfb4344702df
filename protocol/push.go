package protocol

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// push is a response that the server sends unrequested. It reaches the handler as a
// request of its own.
type push struct {
	refused atomic.Bool // the protocol or the client rejected it after all
}

// pushKey distinguishes a push from the requests of clients. If a client requests the
// very same URL at the very same moment, the two are swapped.
type pushKey struct {
	connection int64
	url        string
}

// pushes holds the pushes whose handler has yet to begin.
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

// take returns the push that a request stands for, or nil if a client sent it.
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

// push makes the server push a path, with its query, of the request's origin. It
// counts pushes that the protocol does not support or the client does not accept.
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
	// Package spdy copies the header of this request; its conditions do not apply to
	// the push.
	unconditional := &http.PushOptions{Header: http.Header{"If-None-Match": nil, "If-Modified-Since": nil}}
	if pusher.Push(k.url, unconditional) != nil {
		m.pushes.withdraw(k, one)
		m.unpushed.Add(1)
	}
}

// pusherOf finds the http.Pusher beneath the writers that wrap it.
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
