package capture

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// UnixOffset is what to add to CLOCK_MONOTONIC, which the kernel's timers and
// the browser count in, to get the time since the Unix epoch, in ns. It is the
// best of a few tries, as the two clocks can only be read in turn: good to a
// microsecond.
func UnixOffset() int64 {
	best, offset := int64(math.MaxInt64), int64(0)
	for range 16 {
		before := time.Now()
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		if took := int64(time.Since(before)); took < best {
			best, offset = took, before.UnixNano()+took/2-t.Nano()
		}
	}
	return offset
}
