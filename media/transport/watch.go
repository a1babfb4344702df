package transport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultPatience is how long a side waits for progress of its peer: quic-go's idle
// timeout, for all transports alike, since the kernel's TCP would wait for a quarter of an
// hour and pion's SCTP forever.
const DefaultPatience = 30 * time.Second

// ErrSilent says that the other side made no progress within the timeout.
var ErrSilent = errors.New("the other side made no progress")

// watch calls late once if this side has waited for the other for as long as patience. It
// uses one timer that fires at most once per patience, not one per octet.
type watch struct {
	patience time.Duration
	late     func(error)
	began    time.Time
	since    atomic.Int64 // when the wait began, in ns since began; negative while not waiting

	mu    sync.Mutex
	timer *time.Timer // nil once it is over
}

// newWatch makes a watch that is waiting.
func newWatch(patience time.Duration, late func(error)) *watch {
	w := &watch{patience: patience, late: late, began: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(patience, w.look)
	return w
}

// wait marks the start of a wait for the other side, moved its progress.
func (w *watch) wait()  { w.since.Store(int64(time.Since(w.began))) }
func (w *watch) moved() { w.since.Store(-1) }

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	left := w.patience
	if since := w.since.Load(); since >= 0 {
		left -= time.Since(w.began) - time.Duration(since)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.timer = nil
	w.late(fmt.Errorf("%w for %v", ErrSilent, w.patience))
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
