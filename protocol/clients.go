package protocol

import (
	"io"
	"sync"
)

// clients are the connections that a server has accepted and that are still open.
type clients struct {
	mu   sync.Mutex
	open map[io.Closer]chan struct{} // closed when the connection is gone
}

func (l *clients) came(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[io.Closer]chan struct{}{}
	}
	l.open[c] = make(chan struct{})
}

func (l *clients) went(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.open[c])
	delete(l.open, c)
}

// disconnect closes all connections and returns when they are gone.
func (l *clients) disconnect() {
	l.mu.Lock()
	open := make(map[io.Closer]chan struct{}, len(l.open))
	for c, gone := range l.open {
		open[c] = gone
	}
	l.mu.Unlock()
	for c := range open {
		_ = c.Close() // which may have happened in the meantime
	}
	for _, gone := range open {
		<-gone
	}
}
