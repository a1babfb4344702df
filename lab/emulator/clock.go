package emulator

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// anchor relates Go's clock to CLOCK_MONOTONIC, in which the timer counts. Both are the
// same clock, but package time reads it without a system call and only yields differences.
var anchor = newAnchor()

type anchored struct {
	moment    time.Time
	monotonic int64
}

func newAnchor() anchored {
	best, a := int64(math.MaxInt64), anchored{}
	for range 16 {
		before := time.Now()
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		if took := int64(time.Since(before)); took < best {
			best, a = took, anchored{moment: before, monotonic: t.Nano() - took/2}
		}
	}
	return a
}

// now reads CLOCK_MONOTONIC in ns.
func now() int64 { return anchor.monotonic + int64(time.Since(anchor.moment)) }
