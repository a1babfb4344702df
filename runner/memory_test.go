package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wiretime/lab"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
)

// capturing is a job whose capture is expected to have so many octets.
func capturing(octets int64) *job { return &job{Job: workload.Job{Capture: octets}} }

// TestCapturesShareTheMemory starts loads side by side. Those whose captures do not fit into what the others leave go to
// the disk, and so do those that have outgrown their memory.
func TestCapturesShareTheMemory(t *testing.T) {
	const half = 100 << 20
	m, dir := newMemory(2*half), t.TempDir()
	place := func(j *job) (lab.CapturePlace, func()) {
		t.Helper()
		p, release, err := m.place(j, dir)
		if err != nil {
			t.Fatal(err)
		}
		return p, release
	}
	first, releaseFirst := place(capturing(20 << 20))
	if first.Disk != "" || first.Most != 60<<20 {
		t.Errorf("the first is kept in %+v", first)
	}
	if second, _ := place(capturing(20 << 20)); second.Disk != dir {
		t.Errorf("a second, which does not fit beside it, is kept in %+v", second)
	}
	if small, _ := place(capturing(1)); small.Disk != "" || small.Most != captureLeast {
		t.Errorf("a small one is kept in %+v", small)
	}
	releaseFirst()
	if third, _ := place(capturing(20 << 20)); third.Disk != "" {
		t.Errorf("one after the first is kept in %+v", third)
	}
	if p, _ := place(&job{outgrown: true}); p.Disk != dir {
		t.Errorf("one that has outgrown its memory is kept in %+v", p)
	}
	_, _, err := m.place(capturing(1<<60), dir)
	if !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), "--capture-memory") {
		t.Errorf("one that fits nowhere: %v", err)
	}
}

// TestGuestsShareTheMemory boots guests side by side. A guest waits for memory, however much its loads need, and leaves its
// captures on the disk if there is no memory for them, too.
func TestGuestsShareTheMemory(t *testing.T) {
	const half = 100 << 20
	m := newMemory(2 * half)
	fits, release, err := m.guest(t.Context(), []*job{capturing(10 << 20), capturing(10 << 20)})
	if err != nil || !fits {
		t.Fatalf("a guest of two small loads: %t, %v", fits, err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, _, err := m.guest(ended, []*job{capturing(half)}); !errors.Is(err, why) {
		t.Errorf("a large guest beside it: %v; want it to wait", err)
	}
	release()
	fits, release, err = m.guest(t.Context(), []*job{capturing(half)})
	if err != nil || fits {
		t.Errorf("a large guest alone: %t, %v", fits, err)
	}
	release()
}

// TestReadingIsBounded asks for the memory to read captures.
func TestReadingIsBounded(t *testing.T) {
	m := newMemory(2 * 100 << 20)
	for size, want := range map[int64]string{0: "", 50 << 20: "", 51 << 20: "raise --capture-memory to "} {
		release, err := m.read(size)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d octets: %v, want %q", size, err, want)
		}
		if err == nil {
			release()
		}
	}
	if err := m.check([]*job{capturing(1), capturing(50 << 20)}); err != nil {
		t.Error(err)
	}
	large := capturing(51 << 20)
	large.planned.Cell = study.NewCell(study.Pages(), map[study.Axis]string{study.AxisSite: "large"}, path(0, 0))
	if err := m.check([]*job{capturing(1), large}); err == nil || !strings.Contains(err.Error(), "large: read the capture") {
		t.Errorf("a plan with a load that cannot be read: %v", err)
	}
	if defaultMemory() < 1<<20 {
		t.Errorf("by default there are %d octets", defaultMemory())
	}
}
