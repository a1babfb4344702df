package machine

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticks are the times since boot of all processors that this process may use, in
// hundredths of a second (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq,
// steal. nil: the kernel does not say.
type ticks []int64

const (
	tickIdle   = 3
	tickIOWait = 4
	tickSteal  = 7
	tickKinds  = 8 // guest time, which follows, is part of user time
)

// tick is the unit of /proc/stat: USER_HZ is 100 on every architecture of Go's.
const tick = 10 * time.Millisecond

func readTicks() ticks {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	return parseTicks(string(text), allowed.IsSet)
}

// parseTicks adds up the lines of the processors that are wanted; nil if there is none,
// or one that cannot be read.
func parseTicks(text string, wanted func(cpu int) bool) ticks {
	var sum ticks
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		number, is := strings.CutPrefix(fields[0], "cpu")
		cpu, err := strconv.Atoi(number)
		if !is || err != nil || !wanted(cpu) {
			continue // not one processor's, or another's
		}
		if len(fields) < 1+tickKinds {
			return nil
		}
		if sum == nil {
			sum = make(ticks, tickKinds)
		}
		for i := range sum {
			n, err := strconv.ParseInt(fields[1+i], 10, 64)
			if err != nil {
				return nil
			}
			sum[i] += n
		}
	}
	return sum
}

// unusedSince is the time in which the processors had nothing to do.
func (t ticks) unusedSince(before ticks) time.Duration {
	if t == nil || before == nil {
		return 0
	}
	return tick * time.Duration(t[tickIdle]+t[tickIOWait]-before[tickIdle]-before[tickIOWait])
}

// stealSince is the time that the hypervisor took; -1 if that is not known.
func (t ticks) stealSince(before ticks) time.Duration {
	if t == nil || before == nil {
		return -1
	}
	return tick * time.Duration(t[tickSteal]-before[tickSteal])
}
