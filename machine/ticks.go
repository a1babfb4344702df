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
// steal. It is nil if the kernel does not report them.
type ticks []int64

const (
	tickIdle   = 3
	tickIOWait = 4
	tickSteal  = 7
	tickKinds  = 8 // guest time, which follows, is part of user time
)

// tick is the unit of /proc/stat: USER_HZ is 100 on every architecture that Go
// supports.
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

// parseTicks adds up the lines of the wanted processors. It returns nil if there is
// none, or if one cannot be read.
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
			continue // the total, or a processor that is not wanted
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

// unusedSince returns how long the processors were idle.
func (t ticks) unusedSince(before ticks) time.Duration {
	if t == nil || before == nil {
		return 0
	}
	return tick * time.Duration(t[tickIdle]+t[tickIOWait]-before[tickIdle]-before[tickIOWait])
}

// stealSince returns the time that the hypervisor took, or -1 if unknown.
func (t ticks) stealSince(before ticks) time.Duration {
	if t == nil || before == nil {
		return -1
	}
	return tick * time.Duration(t[tickSteal]-before[tickSteal])
}
