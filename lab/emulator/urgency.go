package emulator

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// becomeUrgent asks for the most punctual scheduling that the machine grants to
// this user. Its owner may do better, and make it real-time from outside.
func becomeUrgent() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	priority := struct{ priority int32 }{10}
	_, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	if e == 0 || unix.Setpriority(unix.PRIO_PROCESS, 0, -15) == nil {
		return
	}
	slice := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: 100_000}
	// An older kernel has no slices to choose: then the default has to do.
	_ = unix.SchedSetAttr(0, slice, 0)
}

// scheduling says how the kernel schedules this thread.
func scheduling() string {
	a, err := unix.SchedGetAttr(0, 0)
	switch {
	case err != nil:
		return "unknown"
	case a.Policy == unix.SCHED_FIFO:
		return fmt.Sprintf("real-time (SCHED_FIFO %d)", a.Priority)
	case a.Nice != 0:
		return fmt.Sprintf("normal, nice %d", a.Nice)
	}
	return fmt.Sprintf("normal, slice %v", time.Duration(a.Runtime))
}

// runQueueWait is how long this thread has been ready but not running, in ns:
// the second figure of schedstat (Linux, Documentation/scheduler/sched-stats).
func runQueueWait() int64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var ran, waited int64
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		return 0
	}
	return waited
}

// occupation finds out whether the thread is ever idle.
type occupation struct {
	since int64 // when the window began
	idle  int64 // ns of it spent waiting
}

const (
	occupationWindow = 100_000_000 // ns
	// waited is the shortest stay in ppoll that counts as waiting: less is what
	// the call itself takes.
	waited = 5_000 // ns
	// leastIdle is the share of a window that the thread must have waited.
	leastIdle = 0.15
)

// note takes one stay in ppoll into account. Linux takes the processor from
// real-time threads for 50 ms of every second unless they leave it a twentieth
// (sched_rt_runtime_us), and on a path of a gigabit per second there is always
// a packet to move. A thread that has no rest gives real time up for the load
// and competes with its nice value.
func (o *occupation) note(before, after int64) {
	if after-before > waited {
		o.idle += after - before
	}
	if length := after - o.since; length > occupationWindow {
		if o.since != 0 && float64(o.idle) < leastIdle*float64(length) {
			normal := struct{ priority int32 }{0}
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&normal)))
		}
		o.since, o.idle = after, 0
	}
}
