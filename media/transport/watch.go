package transport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultPatience is how long a side waits for its peer to move: what quic-go
// waits on a silent connection, and as long over all transports, as the kernel's
// TCP would wait for a quarter of an hour and pion's SCTP for good.
const DefaultPatience = 30 * time.Second

// ErrSilent says that the other side has not moved for as long as this one has
// patience.
var ErrSilent = errors.New("the other side is silent")

// watch calls late, once, when this side has waited for the other for as long as
// patience. It costs one timer that fires once in that time at most, not one for
// each octet.
type watch struct {
	patience time.Duration
	late     func(error)
	began    time.Time
	since    atomic.Int64 // when the waiting began, in ns since began; less than 0 while nobody waits

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

// wait says that this side begins to wait for the other, moved that it has moved.
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
