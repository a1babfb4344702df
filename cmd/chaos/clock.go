package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/english"
)

// jumpCommand is the first argument of the helper process that sets the machine's clock.
const jumpCommand = "jump-clock"

// startJumping starts that process outside the namespaces. It ends, and sets the clock right, when the
// returned file is closed, which the kernel does when this program ends, however it ends.
func startJumping(int) *os.File {
	theirs, ours, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos: the clock is left alone:", err)
		return nil
	}
	c := exec.Command("/proc/self/exe", jumpCommand)
	c.Stdin, c.Stderr = theirs, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos: the clock is left alone:", err)
	}
	_ = theirs.Close()
	return ours
}

// jumpClock sets the machine's clock wrong by up to an hour, for up to three seconds at a time, until
// held is closed. What is right follows from the monotonic clock.
func jumpClock(held io.Reader) {
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, held)
		close(released)
	}()
	right := time.Now() // has a reading of the monotonic clock
	set := func(off time.Duration) error {
		now := right.Add(time.Since(right) + off)
		return unix.ClockSettime(unix.CLOCK_REALTIME, new(unix.NsecToTimespec(now.UnixNano())))
	}
	times := 0
	for off := time.Duration(0); ; {
		wait := time.Duration(rand.Int64N(int64(3 * time.Second)))
		if off == 0 {
			wait *= 10
		}
		select {
		case <-released:
			_ = set(0)
			fmt.Fprintf(os.Stderr, "The clock was set wrong %s, and is right again.\n", english.Count(times, "time"))
			return
		case <-time.After(wait):
		}
		if off != 0 {
			off = 0
		} else {
			off = time.Duration(rand.Int64N(int64(2*time.Hour))) - time.Hour
			times++
		}
		if err := set(off); err != nil {
			fmt.Fprintln(os.Stderr, "chaos: set the clock:", err)
			return
		}
	}
}
