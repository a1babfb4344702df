package emulator

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// becomeUrgent requests the most punctual scheduling that the machine grants this user. The
// owner may improve it from outside by making the process real-time.
func becomeUrgent() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	priority := struct{ priority int32 }{10}
	_, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	if e == 0 || unix.Setpriority(unix.PRIO_PROCESS, 0, -15) == nil {
		return
	}
	slice := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: 100_000}
	// Older kernels have no configurable slices; then the default remains.
	_ = unix.SchedSetAttr(0, slice, 0)
}

// scheduling describes how the kernel schedules this thread.
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

// runQueueWait returns how long this thread has been runnable but not running, in ns: the
// second figure of schedstat (Linux, Documentation/scheduler/sched-stats).
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

// occupation determines whether the thread is ever idle.
type occupation struct {
	since int64 // when the window began
	idle  int64 // ns of the window spent waiting
	tired bool  // a window of this path had too little of it
}

const (
	occupationWindow = 100_000_000 // ns
	// waited is the shortest stay in ppoll that counts as waiting; the call itself takes less.
	waited = 5_000 // ns
	// leastIdle is the share of a window that the thread must spend waiting.
	leastIdle = 0.15
	// restBelow is the share below which the loop rests, so that it has time to wait.
	restBelow = 0.3
)

// note records one stay in ppoll. Linux takes the processor from real-time threads for 50
// ms of every second unless they leave it idle for a twentieth (sched_rt_runtime_us), and
// on a path of 1 Gbit/s there is always a packet to move. A thread without idle time rests
// between deliveries; one that has none all the same gives up real-time scheduling for the load and competes with its nice value.
func (o *occupation) note(before, after int64) {
	if after-before > waited {
		o.idle += after - before
	}
	if length := after - o.since; length > occupationWindow {
		share := float64(o.idle) / float64(length)
		if o.since != 0 && o.tired && share < leastIdle {
			normal := struct{ priority int32 }{0}
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&normal)))
		}
		o.tired = o.tired || o.since != 0 && share < restBelow
		o.since, o.idle = after, 0
	}
}
