package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Meter reads how much processor time a load's programs got, and how much
// others took meanwhile.
type Meter struct {
	// Programs are the processes that carry out the load together with their
	// descendants. This process always counts, but not its other descendants: they may
	// be working on another load.
	Programs []int
	// Awake is the PID of the KeepAwake process, or 0.
	Awake int
}

// Reading is the state of a Meter at one moment.
type Reading struct {
	at     int64 // CLOCK_MONOTONIC, ns
	own    map[int]int64
	waited map[int]int64 // by thread; nil if the kernel does not tell
	awake  int64         // ns; -1: no such process
	ticks  ticks
}

// Taken says who used the processors between two readings.
type Taken struct {
	Elapsed    time.Duration // between the readings
	Processors int           // number of processors
	Own        time.Duration // processor time of the load's programs
	// Others is the time, summed over all processors, that was neither idle nor used
	// by the load's programs: other programs, the kernel's own threads, the
	// hypervisor (steal).
	Others time.Duration
	Steal  time.Duration // the hypervisor's part of Others; in steps of 10 ms
	// Waited is how long threads of the load's programs were runnable without a
	// processor, summed over threads: they may have waited for each other. It is -1
	// if the kernel has no schedstat.
	Waited time.Duration
}

// Read takes a reading. It costs some milliseconds, so call it before a load and
// after, never during it.
func (m Meter) Read() Reading {
	r := Reading{own: map[int]int64{}, waited: map[int]int64{}, awake: -1}
	for _, pid := range m.processes() {
		if used, err := processorTime(pid); err == nil {
			r.own[pid] = used
		}
		addWaits(r.waited, pid)
	}
	if len(r.waited) == 0 {
		r.waited = nil
	}
	if m.Awake != 0 {
		if used, err := processorTime(m.Awake); err == nil {
			r.awake = used
		}
	}
	r.ticks, r.at = readTicks(), monotonic()
	return r
}

// Since returns what happened between an earlier reading and this one.
func (r Reading) Since(before Reading) Taken {
	t := Taken{Elapsed: time.Duration(r.at - before.at), Processors: runtime.NumCPU(), Waited: -1}
	for pid, used := range r.own {
		t.Own += time.Duration(used - before.own[pid])
	}
	if r.waited != nil && before.waited != nil {
		t.Waited = 0
		for thread, waited := range r.waited {
			t.Waited += time.Duration(waited - before.waited[thread])
		}
	}
	unused := r.ticks.unusedSince(before.ticks)
	t.Steal = max(0, r.ticks.stealSince(before.ticks))
	if r.awake >= 0 && before.awake >= 0 {
		unused += time.Duration(r.awake - before.awake)
	}
	t.Others = max(0, time.Duration(t.Processors)*t.Elapsed-t.Own-unused)
	return t
}

// processes returns the load's processes.
func (m Meter) processes() []int {
	own := []int{os.Getpid()}
	children := childrenByParent()
	for next := m.Programs; len(next) > 0; {
		var further []int
		for _, pid := range next {
			further = append(further, children[pid]...)
		}
		own, next = append(own, next...), further
	}
	return own
}

func childrenByParent() map[int][]int {
	children := map[int][]int{}
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is sound
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		if pid, parent, err := parseStat(string(text)); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// parseStat reads a process's number and its parent's (proc_pid_stat(5)). Its
// name stands between them in parentheses and may contain anything.
func parseStat(text string) (pid, parent int, err error) {
	start, rest, _ := strings.Cut(text, " ")
	if pid, err = strconv.Atoi(start); err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, errors.New("too few fields")
	}
	parent, err = strconv.Atoi(fields[1])
	return pid, parent, err
}

// processorTime returns the time in ns that all threads of a process have used,
// including those that have ended. Where the kernel accounts for steal
// (CONFIG_PARAVIRT_TIME_ACCOUNTING), stolen time is not part of it.
func processorTime(pid int) (int64, error) {
	const sched = 2 // CPUCLOCK_SCHED of linux/posix-timers.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, err
	}
	return t.Nano(), nil
}

// addWaits records how long each thread of a process was runnable without a
// processor.
func addWaits(waits map[int]int64, pid int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return // it has just ended
	}
	for _, t := range threads {
		text, err := os.ReadFile(filepath.Join(dir, t.Name(), "schedstat"))
		if err != nil {
			continue
		}
		if waited, err := parseSchedstat(string(text)); err == nil {
			id, _ := strconv.Atoi(t.Name()) // a thread's number
			waits[id] = waited
		}
	}
}

// parseSchedstat reads how long a thread was runnable without a processor, in
// ns: the second figure of its schedstat (Linux,
// Documentation/scheduler/sched-stats).
func parseSchedstat(text string) (int64, error) {
	var ran, waited int64
	if _, err := fmt.Sscan(text, &ran, &waited); err != nil {
		return 0, err
	}
	return waited, nil
}

// Shift returns how much longer the load can have taken because of others, at most.
// Programs take turns on all processors, so a load loses one processor's share of the
// others' time; it cannot lose more than its threads waited. Steal stops a running thread,
// so it counts in full.
func (t Taken) Shift() time.Duration {
	steal := min(t.Steal, t.Others)
	shift := (t.Others-steal)/time.Duration(t.Processors) + steal
	if t.Waited >= 0 {
		shift = min(shift, t.Waited+steal)
	}
	return min(shift, t.Elapsed)
}
