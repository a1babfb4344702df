package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a kernel timer. Go's own timers are up to a millisecond late, because the runtime
// sleeps in whole milliseconds.
type alarm struct{ file *os.File }

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}, fmt.Errorf("make a timer: %w", err)
	}
	return alarm{os.NewFile(uintptr(fd), "timer")}, nil
}

// wait returns at a moment, or when ctx has ended.
func (a alarm) wait(ctx context.Context, until time.Time) error {
	left := max(time.Until(until), 1) // 0 would stop the timer
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var times [8]byte // how often it has gone off
	if _, err := a.file.Read(times[:]); err != nil && ctx.Err() == nil {
		return fmt.Errorf("wait for a timer: %w", err)
	}
	return nil
}

func (a alarm) close() error { return a.file.Close() }
