package emulator

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// stopMonitor stops the thread by which the Go runtime of a process watches the
// others (sysmon). It wakes at least every 10 ms while a thread is in a raw
// system call, and after each of the others; in virtual time, where waiting costs
// nothing, these wake-ups were three quarters of all system calls. What it is
// for, a process that waits for packets can do without: taking a processor from
// a thread that blocks or computes for long, and polling the network meanwhile.
//
// The thread is stopped for as long as the calling one, which must be locked to
// its goroutine, lives: that is its tracer. A process cannot trace itself, so the
// two of a lab do it for each other. Its number is returned.
func stopMonitor(pid int) (tid int, err error) {
	tid, err = monitor(pid)
	if err != nil {
		return 0, fmt.Errorf("find the monitor thread of process %d: %w", pid, err)
	}
	if err := unix.PtraceSeize(tid); err != nil {
		return 0, fmt.Errorf("trace thread %d: %w", tid, err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return 0, fmt.Errorf("stop thread %d: %w", tid, err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return 0, fmt.Errorf("wait for thread %d to stop: status %#x, %w", tid, status, err)
	}
	return tid, nil
}

// monitor is the number of the monitor thread: the first that a Go runtime
// starts, before any code of the program runs.
func monitor(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	threads := make([]int, 0, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			return 0, err
		}
		if tid != pid {
			threads = append(threads, tid)
		}
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("it has one thread only")
	}
	return slices.Min(threads), nil
}
