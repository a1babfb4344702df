package session

import (
	"crypto/tls"
	"sync"
)

// ticketsPerHost is how many TLS sessions Chromium keeps for a host, the newest
// ones.
const ticketsPerHost = 2

// tickets keeps TLS sessions like Chromium, and uses the newest first. Those of TLS 1.3 are
// used once (RFC 8446 appendix C.4), those of TLS 1.2 again and again. Sessions over TCP are stored separately for connections without
// credentials (net/ssl/ssl_client_session_cache.h). QUIC sessions are not, and a
// host's are all from one connection, the last that brought any
// (net/quic/quic_client_session_cache.cc).
type tickets struct {
	overQUIC bool
	reusable bool

	mu   sync.Mutex
	kept map[shelf]*sessions
}

type shelf struct {
	host      string
	anonymous bool
}

type sessions struct {
	by   *connTickets // QUIC: the connection that brought them
	list []*tls.ClientSessionState
}

func newTickets(overQUIC, reusable bool) *tickets {
	return &tickets{overQUIC: overQUIC, reusable: reusable, kept: map[shelf]*sessions{}}
}

// of returns the sessions for a new connection, which also stores the ones it
// receives.
func (t *tickets) of(o *origin) tls.ClientSessionCache {
	return &connTickets{t, shelf{o.host, o.anonymous && !t.overQUIC}}
}

// connTickets are the tickets as one connection sees them.
type connTickets struct {
	all *tickets
	at  shelf
}

// Get returns the newest session, and removes it unless it can be used again.
func (c *connTickets) Get(string) (*tls.ClientSessionState, bool) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	s := c.all.kept[c.at]
	if s == nil || len(s.list) == 0 {
		return nil, false
	}
	last := len(s.list) - 1
	state := s.list[last]
	if !c.all.reusable {
		s.list = s.list[:last]
	}
	return state, true
}

// Put stores a session. A nil state, by which crypto/tls rejects the session it got,
// removes it if Get has not.
func (c *connTickets) Put(_ string, state *tls.ClientSessionState) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	s := c.all.kept[c.at]
	if state == nil {
		if c.all.reusable && s != nil && len(s.list) > 0 {
			s.list = s.list[:len(s.list)-1]
		}
		return
	}
	if s == nil || c.all.overQUIC && s.by != c {
		s = &sessions{by: c}
		c.all.kept[c.at] = s
	}
	s.list = append(s.list, state)
	s.list = s.list[max(0, len(s.list)-ticketsPerHost):]
}
