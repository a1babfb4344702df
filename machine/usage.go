package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage holds what processes have used since they started.
type Usage struct {
	User, Kernel time.Duration // processor time
	// Resident is the proportional set size of the processes (PSS) in octets. Where the kernel does not
	// report it, Resident is their resident set size, which counts a shared page once for each process.
	Resident int64
	// Peak is the sum of the processes' peak resident set sizes in octets (VmHWM).
	Peak int64
}

// ProcessorTime returns the processor time that the processes and their descendants have used. The sum is
// exact to the nanosecond. The kernel reports its split into user and kernel time in steps of 10 ms
// (proc_pid_stat(5)), and ProcessorTime scales both to the sum. Processes that have ended are left out.
func ProcessorTime(pids ...int) (user, kernel time.Duration) {
	for _, pid := range tree(pids) {
		used, err := processorTime(pid)
		if err != nil {
			continue // the process has just ended
		}
		inUser, inKernel := divided(pid)
		share := 0.0
		if all := inUser + inKernel; all > 0 {
			share = float64(inKernel) / float64(all)
		}
		k := time.Duration(share * float64(used))
		kernel, user = kernel+k, user+time.Duration(used)-k
	}
	return user, kernel
}

// Used returns what the processes and their descendants have used. Processes that have ended are left
// out. It returns an error if the memory of a running process cannot be read.
func Used(pids ...int) (Usage, error) {
	var u Usage
	u.User, u.Kernel = ProcessorTime(pids...)
	for _, pid := range tree(pids) {
		resident, peak, err := memory(pid)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the process has just ended
		}
		if err != nil {
			return u, fmt.Errorf("read the memory of process %d: %w", pid, err)
		}
		u.Resident, u.Peak = u.Resident+resident, u.Peak+peak
	}
	return u, nil
}

// tree returns the processes and their descendants.
func tree(pids []int) (all []int) {
	children := childrenByParent()
	for next := pids; len(next) > 0; {
		all = append(all, next...)
		var further []int
		for _, pid := range next {
			further = append(further, children[pid]...)
		}
		next = further
	}
	return all
}

// divided returns a process's times in user mode and in the kernel, in clock ticks; 0 if it has ended.
func divided(pid int) (user, kernel int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	const utime = 11 // of the fields after the name; stime follows
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < utime+2 {
		return 0, 0
	}
	user, _ = strconv.ParseInt(fields[utime], 10, 64)
	kernel, _ = strconv.ParseInt(fields[utime+1], 10, 64)
	return user, kernel
}

// memory returns the resident and the peak resident set size of a process in octets.
func memory(pid int) (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	resident, peak = kilobytes(status, "VmRSS:"), kilobytes(status, "VmHWM:")
	// The kernel may refuse this for another user's process.
	if rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); err == nil {
		resident = kilobytes(rollup, "Pss:")
	}
	return resident, peak, nil
}

// kilobytes returns the size with the given name from a list of sizes in kB, in octets; 0 if the list lacks it.
func kilobytes(list []byte, name string) int64 {
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// Available returns how many octets of memory programs can still allocate (MemAvailable of
// proc_meminfo(5)); 0 if the kernel does not report it.
func Available() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return kilobytes(text, "MemAvailable:")
}
