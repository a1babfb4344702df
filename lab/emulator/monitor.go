package emulator

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// stopMonitor stops the thread with which a process's Go runtime watches the other threads
// (sysmon). That thread wakes at least every 10 ms while a thread is in a raw system call,
// and after every other system call. In virtual time, where waiting costs nothing, these
// wake-ups were three quarters of all system calls. A process that waits for packets does
// not need what the monitor does: retaking processors from threads that block or compute
// for long, and polling the network meanwhile.
//
// The monitor stays stopped while the calling thread, its tracer, lives; the caller must be
// locked to it. A process cannot trace itself, so the two of a lab trace each other.
// stopMonitor returns the monitor's thread number.
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

// monitor returns the number of the monitor thread, the first that a Go runtime starts,
// before any code of the program runs.
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
