package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage says what processes have used since they started.
type Usage struct {
	User, Kernel time.Duration // processor time
	// Resident is the processes' proportional share of what is in memory (PSS), in octets. Where
	// the kernel does not tell, it is what is resident, shared pages once for each process.
	Resident int64
	// Peak is the highest resident size of each process, added up, in octets.
	Peak int64
}

// ProcessorTime returns the processor time that processes and their descendants have used. The
// sum is exact to the nanosecond, and its division into user and kernel is the kernel's
// (proc_pid_stat(5)), in steps of 10 ms that are scaled to the sum. Processes that have ended
// are left out.
func ProcessorTime(pids ...int) (user, kernel time.Duration) {
	for _, pid := range tree(pids) {
		used, err := processorTime(pid)
		if err != nil {
			continue // it has just ended
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

// Used returns what processes and their descendants have used. It returns an error if the
// memory of one that runs cannot be read.
func Used(pids ...int) (Usage, error) {
	var u Usage
	u.User, u.Kernel = ProcessorTime(pids...)
	for _, pid := range tree(pids) {
		resident, peak, err := memory(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return u, fmt.Errorf("read the memory of process %d: %w", pid, err)
		}
		u.Resident, u.Peak = u.Resident+resident, u.Peak+peak
	}
	return u, nil
}

// tree returns processes and their descendants.
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

// divided returns a process's times in user mode and in the kernel, in clock ticks.
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

// memory returns what is resident of a process, and what was at most.
func memory(pid int) (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	resident, peak = kilobytes(status, "VmRSS:"), kilobytes(status, "VmHWM:")
	// Another user's process may refuse this.
	if rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); err == nil {
		resident = kilobytes(rollup, "Pss:")
	}
	return resident, peak, nil
}

// kilobytes returns a size from a list of names with sizes in kB, in octets; 0 if it is not there.
func kilobytes(list []byte, name string) int64 {
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// Available returns how many octets of memory programs may still take (MemAvailable of
// proc_meminfo(5)); 0 if the kernel does not tell.
func Available() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return kilobytes(text, "MemAvailable:")
}
