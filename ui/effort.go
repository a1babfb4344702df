package ui

import (
	"time"

	"golang.org/x/sys/unix"
)

// effort is a piece of work that began. Waiting, such as for the disk or on a busy machine, is no part of it.
type effort struct {
	began     time.Time
	processor time.Duration // that the process had used by then
}

func begin() effort { return effort{time.Now(), processorTime()} }

// took returns how much processor time the work took, at most as much as has passed.
func (e effort) took() time.Duration { return min(time.Since(e.began), processorTime()-e.processor) }

// processorTime returns how much processor time the process has used.
func processorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // it cannot fail for one's own process
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
