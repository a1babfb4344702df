package record

import (
	"fmt"

	"github.com/chromedp/cdproto/target"

	"wiretime/loader/browser"
)

// FullError says which limit of its size a recording has reached.
type FullError struct{ limit string }

func (e *FullError) Error() string { return e.limit }

// limits are what a log may hold.
type limits struct {
	requests int               // WebSockets included
	bodies   int64             // octets
	full     func(cause error) // is called when one is exceeded
}

// maxReported is how many octets the browser may report in events for each request that the recording may have.
const maxReported = 32 << 10

// count counts an event, and reports whether it is to be handled: a log that is full needs no more.
func (l *log) count(event any, octets int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch event.(type) {
	case *target.EventAttachedToTarget:
		l.targets++
	case *target.EventDetachedFromTarget:
		l.targets--
	}
	l.octets += int64(octets)
	l.limit()
	return !l.full
}

// limit ends the recording if it exceeds a limit. The caller holds the lock.
func (l *log) limit() {
	reported := int64(l.limits.requests) * maxReported
	var exceeded string
	switch {
	case l.full:
		return
	case len(l.requests)+len(l.sockets) >= l.limits.requests:
		exceeded = fmt.Sprintf("the page made %d requests (record more with --max-requests)", l.limits.requests)
	case l.bodies > l.limits.bodies:
		exceeded = fmt.Sprintf("the page's bodies have more than %d octets (record more with --max-size)", l.limits.bodies)
	case l.targets > browser.MaxTargets:
		exceeded = fmt.Sprintf("the page had more than %d frames and workers at the same time", browser.MaxTargets)
	case l.octets > reported:
		exceeded = fmt.Sprintf("the browser reported more than %d octets about the page (it may report more with a higher --max-requests)", reported)
	default:
		return
	}
	l.full = true
	l.limits.full(&FullError{exceeded})
}
