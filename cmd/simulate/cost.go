package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/runner"
)

// processorTime returns what this process has used.
func processorTime() (time.Duration, error) {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// watch times the phases of a campaign.
type watch struct {
	began time.Time
	used  time.Duration
}

func newWatch() *watch {
	w := &watch{}
	w.lap()
	return w
}

// lap returns what the phase since the last call has cost.
func (w *watch) lap() (p phase) {
	now := time.Now()
	used, _ := processorTime() // it fails only for a wrong argument
	p = phase{now.Sub(w.began), used - w.used}
	w.began, w.used = now, used
	return p
}

// mostMemory returns the most octets that this process has had in memory.
func mostMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/self/status does not say how much memory was used")
}

// describe notes how large a store is, and what the figures were measured with.
func (o *outcome) describe(dir string) error {
	o.Version, o.On = runner.Version(), fmt.Sprintf("%s, %d cores", time.Now().Format(time.DateOnly), runtime.NumCPU())
	return filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if filepath.Dir(file) == dir {
			o.Store += info.Size()
		} else {
			o.Files += info.Size()
		}
		return nil
	})
}
