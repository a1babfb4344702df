package ui

import (
	"sync"
	"time"
)

const (
	// mostCached is how many octets of answers are kept.
	mostCached = 64 << 20
	// share is how much longer an answer is good, while the store changes, than it took to make: a page that follows a run takes
	// a twentieth of a processor at most from the run.
	share = 20
)

// cache keeps answers that take long to make, in JSON.
type cache struct {
	mu      sync.Mutex
	answers map[string]cached
	octets  int
}

type cached struct {
	version int64 // of the store
	made    time.Time
	took    time.Duration
	body    encoded
}

// of returns the answer of that name, if it still holds for a version of the store.
func (c *cache) of(name string, version int64) (encoded, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers[name]
	return a.body, ok && (a.version == version || time.Since(a.made) < share*a.took)
}

// keep adds an answer. When there are too many, all others go: what is asked for again is soon made again.
func (c *cache) keep(name string, version int64, work effort, body encoded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.octets += len(body) - len(c.answers[name].body)
	if c.answers == nil || c.octets > mostCached {
		c.answers, c.octets = map[string]cached{}, len(body)
	}
	c.answers[name] = cached{version, time.Now(), work.took(), body}
}
