package machine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ClockWatch notices when the machine's clock (CLOCK_REALTIME) is set, by a person or by NTP. Clocks that NTP
// only makes faster or slower are not set.
type ClockWatch struct{ timer int }

// WatchClock starts to watch the clock. Call Stop in the end.
func WatchClock() (ClockWatch, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return ClockWatch{}, fmt.Errorf("watch the machine's clock: make a timer: %w", err)
	}
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: 1 << 33}} // the year 2242
	if err := unix.TimerfdSettime(timer, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil); err != nil {
		return ClockWatch{}, errors.Join(fmt.Errorf("watch the machine's clock: set a timer: %w", err), unix.Close(timer))
	}
	return ClockWatch{timer}, nil
}

// Stop ends the watch, and reports whether the clock was set since WatchClock, even if it was set back meanwhile
// (timerfd_create(2), on TFD_TIMER_CANCEL_ON_SET).
func (c ClockWatch) Stop() (set bool, err error) {
	var times [8]byte
	_, err = unix.Read(c.timer, times[:])
	set = errors.Is(err, unix.ECANCELED)
	if err = unix.Close(c.timer); err != nil {
		return set, fmt.Errorf("watch the machine's clock: close the timer: %w", err)
	}
	return set, nil
}
