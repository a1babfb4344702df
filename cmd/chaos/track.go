package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sample is what a program holds at a moment: it and the one that it has started inside namespaces.
type sample struct {
	files, threads int
	memory         int // resident, in kB
}

// track is the samples of a program, one each second.
type track struct {
	name    string
	mu      sync.Mutex
	samples []sample
}

// minute is the number of samples in a minute.
const minute = 60

// window is the number of samples whose least values are compared: what a program holds for one load it
// gives back after it.
const window = 20

// A program may hold so much more at its end than after its first minute. A station starts browsers as
// loads need them, up to four, and each has four files. Go's runtime starts threads when
// all others are in system calls and keeps them, and gives memory back late.
const (
	moreFiles   = 16
	moreThreads = 16
	moreMemory  = 64 << 10 // kB
)

// track samples a run until the returned function is called. A run of more than a minute is kept.
func (w *world) track(name string, p *program) (stop func()) {
	t := &track{name: name}
	done := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-p.ended:
				return
			case <-tick.C:
			}
			id := p.Process.Pid
			if within := byKind(id)[inside]; len(within) > 0 {
				id = within[0].id
			}
			if s, ok := measure(id); ok {
				t.mu.Lock()
				t.samples = append(t.samples, s)
				t.mu.Unlock()
			}
		}
	})
	return func() {
		close(done)
		sampling.Wait()
		if len(t.samples) > minute+window {
			w.tracks = append(w.tracks, t)
		}
	}
}

func measure(id int) (s sample, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(id))
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return s, false
	}
	threads, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil {
		return s, false
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return s, false
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &s.memory); err != nil {
		return s, false
	}
	s.files, s.threads = len(files), len(threads)
	return s, true
}

// least returns the least of each value in some samples.
func least(samples []sample) sample {
	low := samples[0]
	for _, s := range samples {
		low = sample{min(low.files, s.files), min(low.threads, s.threads), min(low.memory, s.memory)}
	}
	return low
}

// ends returns what the program held after its first minute and at its end.
func (t *track) ends() (first, last sample) {
	return least(t.samples[minute-window : minute]), least(t.samples[len(t.samples)-window:])
}

// grown says what the program has more of than after its first minute, "" if nothing.
func (t *track) grown() string {
	first, last := t.ends()
	var more []string
	for _, v := range []struct {
		what               string
		first, last, limit int
	}{{"open files", first.files, last.files, moreFiles}, {"threads", first.threads, last.threads, moreThreads}, {"kB of memory", first.memory, last.memory, moreMemory}} {
		if v.last > v.first+v.limit {
			more = append(more, fmt.Sprintf("%d %s after a minute and %d at the end", v.first, v.what, v.last))
		}
	}
	return strings.Join(more, ", ")
}
