// Package costtest holds what reads foreign bytes to costs in proportion to their number.
package costtest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Limit says what an input may cost: so much for each of its octets, beside a fixed amount.
type Limit struct {
	// Fixed is what any input may allocate, in octets, and PerOctet how much more for each of its octets. All that is
	// allocated counts, whether or not it is in use at the same time.
	Fixed, PerOctet int
	// Time is the processor time that each octet may take, beside a fixed quarter of a second.
	Time time.Duration
}

// tries is how often an input may exceed its processor time: a busy machine makes programs slower, since they lose the
// contents of the processor's caches to others.
const tries = 3

// Check runs f, which reads an input of so many octets, and fails the test if it costs more than the limit. It runs f
// again if it takes too much processor time. Neighbours do not count, since it measures the thread's own processor time;
// what f does in other goroutines does not count towards the time, and all goroutines' allocations do.
func Check(t testing.TB, octets int, limit Limit, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	allowed := time.Second/4 + time.Duration(octets)*limit.Time
	for try := 1; ; try++ {
		allocated, taken := cost(t, f)
		if most := uint64(limit.Fixed + octets*limit.PerOctet); allocated > most {
			t.Fatalf("an input of %d octets made the program allocate %d octets, more than %d", octets, allocated, most)
		}
		if taken <= allowed {
			return
		}
		if try == tries {
			t.Fatalf("an input of %d octets took %v of processor time, more than %v, %d times", octets, taken, allowed, tries)
		}
	}
}

func cost(t testing.TB, f func()) (allocated uint64, taken time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime(t)
	f()
	taken = processorTime(t) - began
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, taken
}

// processorTime returns the processor time that this thread has used.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal("read the thread's processor time: ", err)
	}
	return time.Duration(now.Nano())
}

// ProcessTime returns the processor time that this process has used, for benchmarks of what runs in several
// threads.
func ProcessTime(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal("read the process's processor time: ", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
