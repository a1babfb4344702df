package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// WaitUntil waits for a moment of the machine's clock (CLOCK_REALTIME). It returns at once if the moment has passed, also
// because the clock was set or the machine was suspended meanwhile. It returns early, with set, when the clock is
// set before the moment, or when the machine resumes (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). When ctx ends, it returns
// the cause.
func WaitUntil(ctx context.Context, t time.Time) (set bool, err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false, fmt.Errorf("wait until %v: make a timer: %w", t, err)
	}
	timer := os.NewFile(uintptr(fd), "timerfd") // of Go's poller, as it does not block
	defer timer.Close()
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, t.UnixNano()))} // 0 would switch the timer off
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &at, nil); err != nil {
		return false, fmt.Errorf("wait until %v: set a timer: %w", t, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = timer.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var times [8]byte
	_, err = timer.Read(times[:])
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, unix.ECANCELED):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("wait until %v: %w", t, err)
	}
	return false, nil
}

// Asleep returns for how long the machine has been suspended since it was started: how far CLOCK_BOOTTIME is ahead of
// CLOCK_MONOTONIC.
func Asleep() (time.Duration, error) {
	monotonic, err := read(unix.CLOCK_MONOTONIC)
	if err != nil {
		return 0, err
	}
	boot, err := read(unix.CLOCK_BOOTTIME)
	return max(0, boot-monotonic), err
}

// Booted returns when the machine was started, as its clock has it now; zero if that is unknown.
func Booted() time.Time {
	since, err := read(unix.CLOCK_BOOTTIME)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Round(0).Add(-since)
}

func read(clock int32) (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", clock, err)
	}
	return time.Duration(now.Nano()), nil
}
