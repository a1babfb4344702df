package machine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Punctuality is how late a machine wakes a thread that sleeps until a given
// moment, as the emulator does.
type Punctuality struct {
	P50, P99, Worst time.Duration // lateness of the wake-ups
	// Steal is the share of all processors' time, 0 to 1, that the hypervisor
	// gave to others; negative if the kernel does not report it.
	Steal float64
	// RealTime reports whether the thread had real-time priority, as the emulator
	// has when root starts it.
	RealTime bool
}

// String writes the figures for people.
func (p Punctuality) String() string {
	text := fmt.Sprintf("wake-ups are late by %s ms (p50), %s ms (p99), %s ms (worst)", inMS(p.P50), inMS(p.P99), inMS(p.Worst))
	if p.Steal >= 0 {
		text += fmt.Sprintf("; steal %.1f %%", 100*p.Steal)
	}
	return text
}

func inMS(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1e3, 'f', 2, 64) }

// interval is how long the thread sleeps at a time. A page's packets are
// milliseconds apart.
const interval = 2 * time.Millisecond

// Measure sleeps 2 ms at a time, with the most urgent scheduling that this user
// may have, and measures how late the machine wakes it. The error is ctx's cause,
// or a failure of the kernel's timers.
func Measure(ctx context.Context, during time.Duration) (Punctuality, error) {
	type outcome struct {
		p   Punctuality
		err error
	}
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread's priority ends with the goroutine
		p, err := measure(ctx, during)
		done <- outcome{p, err}
	}()
	o := <-done
	return o.p, o.err
}

func measure(ctx context.Context, during time.Duration) (Punctuality, error) {
	p := Punctuality{RealTime: becomeRealTime()}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return p, fmt.Errorf("measure the machine's punctuality: create a timer: %w", err)
	}
	defer unix.Close(timer)
	before := readTicks()
	late := make([]time.Duration, 0, during/interval)
	for end := monotonic() + int64(during); monotonic() < end; {
		if ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		due := monotonic() + int64(interval)
		if err := sleepUntil(timer, due); err != nil {
			return p, fmt.Errorf("measure the machine's punctuality: %w", err)
		}
		late = append(late, time.Duration(monotonic()-due))
	}
	slices.Sort(late)
	p.P50, p.P99, p.Worst = quantile(late, 0.5), quantile(late, 0.99), late[len(late)-1]
	p.Steal = readTicks().stealSince(before).Seconds() / during.Seconds() / float64(runtime.NumCPU())
	return p, nil
}

// quantile returns the nearest-rank quantile of a sorted slice that is not
// empty.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// sleepUntil uses raw system calls, which do not give the processor back to Go's
// scheduler.
func sleepUntil(timer int, due int64) error {
	set := unix.ItimerSpec{Value: unix.NsecToTimespec(due)}
	if _, _, e := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(timer), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&set)), 0, 0, 0); e != 0 {
		return fmt.Errorf("set a timer: %w", e)
	}
	var rings [8]byte
	for {
		_, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(timer), uintptr(unsafe.Pointer(&rings[0])), 8)
		if e == 0 {
			return nil
		}
		if e != unix.EINTR {
			return fmt.Errorf("wait for a timer: %w", e)
		}
	}
}

// becomeRealTime requests the emulator's real-time priority for this thread.
func becomeRealTime() bool {
	priority := struct{ priority int32 }{10}
	_, _, e := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	return e == 0
}

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
