package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/store"
)

// harm runs one trial after the other, and does harm to each, until the time is up.
func (w *world) harm(ctx context.Context, duration time.Duration) error {
	deadline := time.Now().Add(duration)
	stopServing, err := w.serve(ctx)
	if err != nil {
		return err
	}
	defer stopServing()
	references := map[string]measured{}
	all := trials()
	for round := 0; time.Now().Before(deadline) && ctx.Err() == nil; round++ {
		t := all[round%len(all)]
		if _, known := references[t.name]; t.virtual && !known {
			if references[t.name], err = w.reference(ctx, t); err != nil {
				return err
			}
		}
		// In every other cycle the runner survives, so that it grows old.
		h := harmer{world: w, spareRunner: round/len(all)%2 == 1, until: deadline, repeat: 1}
		if h.spareRunner {
			h.repeat = 4
		}
		got, err := h.run(ctx, t)
		if err != nil {
			return err
		}
		if t.virtual && !h.spareRunner {
			w.compare(t.name, got, references[t.name])
		}
	}
	return ctx.Err()
}

// killVirtualRuns kills processes of runs on the virtual clock so many times. The runs are those of one process each, or campaigns.
func (w *world) killVirtualRuns(ctx context.Context, kills int, campaigns bool) error {
	t := trials()[0]
	t.text = longer(t.text, 3)
	if campaigns {
		t.name, t.text = "campaign, virtual clock", strings.Replace(t.text, "keep: median", "keep: all", 1)
	}
	want, err := w.reference(ctx, t)
	if err != nil {
		return err
	}
	for w.counts.sum(killed) < kills && ctx.Err() == nil {
		h := harmer{world: w, kills: kills, until: time.Now().Add(24 * time.Hour), campaign: campaigns}
		got, err := h.run(ctx, t)
		if err != nil {
			return err
		}
		w.compare(t.name, got, want)
	}
	return ctx.Err()
}

// harmer does harm to one run.
type harmer struct {
	*world
	kills       int // only kill, until it has been done so often; 0: harm of all kinds
	spareRunner bool
	campaign    bool // the run is divided among workers, over a NATS server in the coordinator's process
	until       time.Time
	repeat      int // times the trial's repeats
}

// mostStarts is how often a run may be started before it is given up as never finishing.
const mostStarts = 2000

// run runs a trial until its store has all loads, whatever is done to it meanwhile.
func (h harmer) run(ctx context.Context, t trial) (m measured, err error) {
	dir := h.path("disk", "store")
	if h.repeat > 1 {
		t.text = longer(t.text, h.repeat)
	}
	file, err := h.write(t)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for starts := 1; ; starts++ {
		if starts > mostStarts {
			return m, fmt.Errorf("%s: not finished after %d starts", t.name, mostStarts)
		}
		args := []string{"run", file, "--resume", "--store", dir, "--wait", "0"}
		if h.campaign {
			args = []string{"campaign", "run", file, "--resume", "--store", dir, "--workers", "3", "--checks", "10"}
		}
		p, err := h.start(args...)
		if err != nil {
			return m, err
		}
		tracked := h.track(t.name, p)
		harmed := h.disturb(ctx, p)
		<-p.ended
		tracked()
		h.settle(h.served()...)
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		h.counts.add(exits, how(p), 1)
		whole, err := complete(dir)
		switch {
		case whole:
			h.say("%s: complete after %d starts", t.name, starts)
			return h.open(t.name, dir)
		case err != nil:
			return m, err
		case !harmed:
			return m, fmt.Errorf("%s: the run ended by itself with exit code %d: %s", t.name, p.code(), p.said)
		}
	}
}

// complete reports whether a store's run is finished. A run may have been killed before it had made the store.
func complete(dir string) (bool, error) {
	st, err := store.Open(dir, store.Read)
	if errors.Is(err, store.ErrNotStore) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer st.Close()
	runs, err := st.Runs()
	if err != nil || len(runs) == 0 {
		return false, err
	}
	_, unfinished, err := st.UnfinishedRun()
	return !unfinished, err
}

// disturb does harm to a run now and then until it has ended. It reports whether it has done any.
func (h harmer) disturb(ctx context.Context, p *program) (harmed bool) {
	for {
		pause := time.Duration(h.random.Int64N(int64(4 * time.Second)))
		if h.kills > 0 {
			pause /= 4
		}
		if h.campaign { // it needs some seconds to start
			pause *= 3
		}
		over := time.Now().After(h.until) || h.kills > 0 && h.counts.sum(killed) >= h.kills
		if over {
			pause = 15 * time.Minute // it is left alone
		}
		select {
		case <-p.ended:
			return harmed
		case <-ctx.Done():
			_ = syscall.Kill(p.Process.Pid, syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(2 * patience):
				h.wrong("the run did not end after SIGTERM")
				_ = syscall.Kill(p.Process.Pid, syscall.SIGKILL)
			}
			return true
		case <-time.After(pause):
		}
		if over {
			h.wrong("the run did not end in %v: %s", pause, p.lastLine())
			_ = syscall.Kill(p.Process.Pid, syscall.SIGKILL)
			return true
		}
		if h.once(p) {
			harmed = true
		}
	}
}

// once does harm of one kind.
func (h harmer) once(p *program) bool {
	choice := h.random.IntN(10)
	if h.kills > 0 {
		choice = 0
	}
	lasting := 100*time.Millisecond + time.Duration(h.random.Int64N(int64(2*time.Second)))
	switch {
	case choice < 6:
		return h.signal(p, syscall.SIGKILL, 0)
	case choice < 8:
		return h.signal(p, syscall.SIGSTOP, lasting)
	case choice < 9 && !h.spareRunner: // a full disk ends a run
		return h.fillDisk(lasting)
	}
	return h.takeMemory(lasting)
}

// signal kills a process of a random kind, or stops it for a while.
func (h harmer) signal(p *program, s syscall.Signal, lasting time.Duration) bool {
	divided := byKind(p.Process.Pid)
	if h.spareRunner && s == syscall.SIGKILL {
		delete(divided, outside)
		delete(divided, inside)
	}
	var there []string
	for _, kind := range kinds {
		if len(divided[kind]) > 0 {
			there = append(there, kind)
		}
	}
	select {
	case <-p.ended: // its number may be another's
		return false
	default:
	}
	if len(there) == 0 {
		return false
	}
	kind := there[h.random.IntN(len(there))]
	target := divided[kind][h.random.IntN(len(divided[kind]))]
	if err := syscall.Kill(target.id, s); err != nil {
		return false // it has just ended
	}
	if s == syscall.SIGKILL {
		h.counts.add(killed, kind, 1)
		if n := h.counts.sum(killed); n%50 == 0 {
			h.say("%d processes killed", n)
		}
		return true
	}
	h.counts.add(stopped, kind, 1)
	time.Sleep(lasting)
	_ = syscall.Kill(target.id, syscall.SIGCONT) // it may have been killed by the program
	return true
}

// fillDisk fills the disk of the stores for a while.
func (h harmer) fillDisk(lasting time.Duration) bool {
	name := h.path("disk", "filler")
	file, err := os.Create(name)
	if err != nil {
		return false
	}
	for piece := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(piece)
	}
	for err = nil; err == nil; { // to the last octet
		_, err = file.Write(make([]byte, 512))
	}
	h.counts.add(filled, "for stores", 1)
	time.Sleep(lasting)
	_ = file.Close()
	if err := os.Remove(name); err != nil {
		h.wrong("%v", err)
	}
	return true
}

// takeMemory takes a quarter of the memory that is free for a while.
func (h harmer) takeMemory(lasting time.Duration) bool {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return false
	}
	size := int(info.Freeram) * int(info.Unit) / 4
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return false
	}
	h.counts.add(taken, "a quarter of what was free", 1)
	time.Sleep(lasting)
	_ = unix.Munmap(memory)
	return true
}

// how tells how a run ended.
func how(p *program) string {
	status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return "killed"
	case slices.Contains([]int{0, 130, 137}, p.code()):
		return map[int]string{0: "0: complete", 130: "130: interrupted", 137: "137: the runner inside was killed"}[p.code()]
	}
	return fmt.Sprint(p.code())
}
