package runner

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"wiretime/lab"
	"wiretime/store"
)

// memory hands out the memory that the captures of all loads together may take: one half to loads that run, for captures
// and for what guests need of them, the other to captures that are read afterwards. One that needs more than that half is read
// alone, as long as it needs no more than the whole. Its unit is an octet. What does not fit
// while a load runs goes to the store's disk.
type memory struct {
	half    int64
	running *semaphore.Weighted
	reading *semaphore.Weighted
}

func newMemory(whole int64) *memory {
	half := max(whole/2, 1)
	return &memory{half, semaphore.NewWeighted(half), semaphore.NewWeighted(half)}
}

// defaultMemory returns half of the memory that is available now, and no more than twice what the folder for captures may
// take.
func defaultMemory() int64 {
	most := available() / 2
	var fs unix.Statfs_t
	if err := unix.Statfs(lab.Scratch, &fs); err == nil {
		most = min(most, int64(fs.Bavail)*fs.Bsize)
	}
	return most
}

// fallbackMemory is what counts as available where the system does not say.
const fallbackMemory = 1 << 30

// available returns how many octets of memory programs may still take (proc_meminfo(5), and the limit of the control group).
func available() int64 {
	most := int64(fallbackMemory)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 || fields[0] != "MemAvailable:" {
				continue
			}
			if kilobytes, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				most = kilobytes << 10
			}
		}
	}
	if limit, err := number("/sys/fs/cgroup/memory.max"); err == nil {
		used, _ := number("/sys/fs/cgroup/memory.current")
		most = min(most, max(limit-used, 0))
	}
	return most
}

func number(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// Room that is set aside for a capture in memory: several times what is expected, since losses and pages that load things
// again add to it.
const (
	captureSlack = 3
	captureLeast = 16 << 20
)

// place says where the capture of an attempt is kept while the load runs: in memory if there is room, else in a folder on
// the store's disk. The function that it returns gives the memory back.
func (m *memory) place(j *job, dir string) (lab.CapturePlace, func(), error) {
	if room := max(captureSlack*j.Capture, captureLeast); !j.outgrown && m.running.TryAcquire(room) {
		return lab.CapturePlace{Most: room}, func() { m.running.Release(room) }, nil
	}
	// The disk holds the capture twice for a moment: without and with the keys.
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return lab.CapturePlace{}, nil, fmt.Errorf("find the room on the store's disk: %w", err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < 2*j.Capture {
		return lab.CapturePlace{}, nil, fmt.Errorf("%w: a capture of some %s fits neither into memory, of which loads may take %s (--capture-memory), nor, twice, on the store's disk, which has %s left",
			store.ErrDiskFull, megabytes(j.Capture), megabytes(m.half), megabytes(free))
	}
	return lab.CapturePlace{Disk: dir}, func() {}, nil
}

// guest waits until there is memory for what a guest needs for the captures of its jobs, which it carries out one by one:
// packets are in its emulator, in the capture and in the file with the keys. Then it says whether what the jobs leave on
// the host fits into memory as well. The function that it returns gives the memory back.
func (m *memory) guest(ctx context.Context, jobs []*job) (fits bool, release func(), err error) {
	var largest, leave int64
	for _, j := range jobs {
		largest, leave = max(largest, j.Capture), leave+j.Capture
	}
	taken := min(3*largest, m.half)
	if err := m.running.Acquire(ctx, taken); err != nil {
		return false, nil, context.Cause(ctx)
	}
	if fits = m.running.TryAcquire(leave); fits {
		taken += leave
	}
	return fits, func() { m.running.Release(taken) }, nil
}

// readingCost is how many times its size a capture may take in memory while a load is judged: its packets, what their
// headers say, and what connections carried. A capture of 263 MB took 925 MB.
const readingCost = 4

// check makes sure, before anything is measured, that there will be memory for reading the captures of jobs.
func (m *memory) check(jobs []*job) error {
	for _, j := range jobs {
		if err := m.reads(j.Capture); err != nil {
			return fmt.Errorf("run load %d of the plan, of %s: %w", j.planned.Index, j.planned.Cell.Subject(), err)
		}
	}
	return nil
}

// reads makes sure that there is memory for reading a capture of so many octets.
func (m *memory) reads(octets int64) error {
	if need := readingCost * octets; need > 2*m.half {
		return fmt.Errorf("read the capture: with some %s it takes %s of memory, more than the %s that captures may take; raise --capture-memory to %d",
			megabytes(octets), megabytes(need), megabytes(2*m.half), need/1e6+1)
	}
	return nil
}

// read waits until there is memory for reading a capture of so many octets. The function that it returns gives the memory
// back.
func (m *memory) read(octets int64) (func(), error) {
	if err := m.reads(octets); err != nil {
		return nil, err
	}
	need := min(readingCost*octets, m.half) // a larger one is read alone
	// Whoever has such memory needs nothing else and will give it back, so no context is needed.
	_ = m.reading.Acquire(context.Background(), need)
	return func() { m.reading.Release(need) }, nil
}

func megabytes(octets int64) string { return fmt.Sprintf("%d MB", (octets+1e6-1)/1e6) }
