package capture

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// UnixOffset returns the difference in ns between the Unix epoch's clock and
// CLOCK_MONOTONIC, in which the kernel's timers and the browser count. The two
// clocks can only be read one after the other, so it takes the best of a few
// tries, good to a microsecond.
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
