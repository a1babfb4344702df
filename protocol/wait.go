package protocol

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// wait waits for d, or until the context ends, and then returns its cause. Go's timers
// fire on a whole millisecond of the poller, up to one millisecond late. This one is
// the kernel's, and as exact as the clock.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("create a timer: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	defer timer.Close()
	set := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(fd, 0, &set, nil); err != nil {
		return fmt.Errorf("set a timer to %v: %w", d, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = timer.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var rang [8]byte
	if _, err := timer.Read(rang[:]); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return fmt.Errorf("wait for a timer: %w", err)
	}
	return nil
}
