package runner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"wiretime/guest"
	"wiretime/store"
)

// Memory of a guest in octets, besides what its loads need (workload.Guest). Chromium crashes
// with half of it, and Java needs as much.
const (
	plainMemory   = 256 << 20
	programMemory = 1 << 30
)

// wallLimit is how long a guest may take for one load, in real time, before it counts as stuck.
// The slowest page loads take a few seconds, and a hundred times that where other programs
// compute on the guest's core. Some loads get more (workload.Guest).
const wallLimit = 3 * time.Minute

// batch is the loads of one boot. Which loads share one follows from the plan alone, never from
// how far a run has got, because what a browser does depends on the loads before. A batch that
// was interrupted runs again from its beginning, and what is in the store already is not kept
// twice.
type batch struct {
	number int // in the order of the plan, from 0; part of the guest's seed
	jobs   []*job
	work   time.Duration // that is expected of them
}

// full reports whether no further load may share the boot.
func (b *batch) full() bool {
	g := b.jobs[0].Guest
	return len(b.jobs) == g.Loads || g.Work > 0 && b.work >= g.Work
}

// supported are the jobs that a guest can do. What a guest cannot do shares no
// boot: that follows from the plan and the kernel, as batches must.
func (r *run) supported(queue []*job) []*job {
	return slices.DeleteFunc(slices.Clone(queue), func(j *job) bool { return r.unsupported(j) != "" })
}

// batches divides the jobs on the virtual clock among guests.
func batches(queue []*job) []*batch {
	var all []*batch
	open := map[string]*batch{} // by Guest.Boot
	for _, j := range queue {
		b := open[j.Guest.Boot]
		if b == nil || b.full() {
			b = &batch{number: len(all)}
			all = append(all, b)
			open[j.Guest.Boot] = b
		}
		b.jobs = append(b.jobs, j)
		b.work += j.Estimate.Duration
	}
	return all
}

// pending says whether a load of the batch needs an attempt. The first attempts
// are what batches are for; later ones have a guest of their own.
func (b *batch) pending() bool {
	for _, j := range b.jobs {
		if !j.planned.Done {
			return true
		}
	}
	return false
}

// runVirtual runs the batches that have pending loads, one guest per core. It
// boots nothing for loads that no guest can do.
func (r *run) runVirtual(ctx context.Context, queue []*job) (err error) {
	for _, j := range queue {
		if why := r.unsupported(j); why != "" && !j.planned.Done {
			if err := r.keepUnsupported(j, r.begin(j), why); err != nil {
				return err
			}
		}
	}
	var pending []*batch
	for _, b := range batches(r.supported(queue)) {
		if b.pending() {
			pending = append(pending, b)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	host, err := guest.NewHost(r.Kernel, r.served)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *batch)
	var workers sync.WaitGroup
	for core := range min(cores(), len(pending)) {
		workers.Go(func() {
			g := &guests{run: r, host: host, core: core}
			for b := range next {
				if err := g.carryOut(ctx, b); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	for _, b := range pending {
		select {
		case next <- b:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// guests boots one guest after the other on a core.
type guests struct {
	run      *run
	host     *guest.Host
	core     int
	failures int  // of loads in a row: one at which guests are lost again and again counts once
	lost     *job // the last of them
}

// carryOut runs a batch, then the further attempts that its loads need, each in a
// guest of its own. A guest that is lost says nothing about its loads, so its batch
// is run again as it was, and comes out as it would have; only what has been lost as
// often as may be is left out.
func (g *guests) carryOut(ctx context.Context, b *batch) error {
	for jobs := b.jobs; len(jobs) > 0; {
		lost, err := g.boot(ctx, b, jobs, 1)
		if err != nil {
			return err
		}
		if lost == nil {
			break
		}
		if lost.planned.Done {
			jobs = jobs[slices.Index(jobs, lost)+1:]
		}
	}
	for _, j := range b.jobs {
		for !j.planned.Done {
			if _, err := g.boot(ctx, b, []*job{j}, j.attempt); err != nil {
				return err
			}
		}
	}
	return nil
}

// boot runs jobs in one guest and keeps those that still need it. It returns the
// one that the guest was lost at, if it was.
func (g *guests) boot(ctx context.Context, b *batch, jobs []*job, attempt int) (at *job, err error) {
	r, done := g.run, 0
	started := time.Now()
	err = g.host.Run(ctx, r.machine(b, jobs[0], attempt, g.core), r.orders(jobs, attempt), func(result guest.Result) error {
		j := jobs[done]
		done++
		g.failures, g.lost = 0, nil
		if j.planned.Done || j.ran >= attempt {
			return nil // kept before
		}
		j.ran = attempt
		record := r.begin(j)
		record.Started = started
		started = time.Now()
		return r.keepResult(j, record, result)
	})
	var lost *guest.Lost
	if err == nil || !errors.As(err, &lost) || ctx.Err() != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	at = jobs[done]
	if at != g.lost {
		g.failures++
	}
	if g.lost = at; g.failures >= maxStationFailures {
		return nil, fmt.Errorf("%w: guests were lost at %d loads in a row; the last: %w", errGivenUp, g.failures, lost)
	}
	if at.planned.Done {
		return at, nil
	}
	record := r.begin(at)
	record.Started, record.Wall = started, time.Since(started)
	record.Validity, record.Reason = store.Failed, lost.Error()
	return at, r.finish(at, record)
}

// keepResult judges what a guest has left of a load, and keeps it.
func (r *run) keepResult(j *job, record store.LoadRecord, result guest.Result) error {
	if result.Failed != nil {
		record.Validity, record.Reason = store.Failed, result.Failed.Error()
	} else {
		dir, err := r.Store.StageDir(record.ID())
		if err != nil {
			return err
		}
		err = moveFiles(result.Dir, dir)
		if errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("load %s: %w: %w", record.ID(), store.ErrDiskFull, err)
		}
		if err != nil {
			return err
		}
		m, err := r.measure(j, result.Record, dir)
		if err != nil {
			return err
		}
		r.judge(&record, m)
	}
	record.Wall = time.Since(record.Started)
	return r.finish(j, record)
}

// finish keeps an attempt and notes whether the load needs another.
func (r *run) finish(j *job, record store.LoadRecord) error {
	if err := r.keep(j, record); err != nil {
		return err
	}
	j.attempt++
	j.planned.Done = record.Final || record.Validity == store.Valid
	return nil
}

// moveFiles moves a folder's files to another that may be on another disk.
func moveFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file, which may be larger than memory.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// orders is what a guest is to do for these jobs.
func (r *run) orders(jobs []*job, attempt int) guest.Batch {
	first := jobs[0].Guest
	b := guest.Batch{Station: r.station, Programs: first.Programs}
	b.Station.Lab.Virtual, b.Station.Lab.Unblocked = true, !b.Programs
	if !first.Browser {
		b.Station.Chromium = ""
	}
	for _, j := range jobs {
		id := loadID(j, attempt)
		b.Loads = append(b.Loads, guest.Load{ID: id, Seed: loadSeed(r.Seed, j.planned.Index, attempt), Site: j.served(), Order: j.Order(id)})
	}
	return b
}

// machine is what the guest is given that attempts loads of batch b, beginning with
// first.
func (r *run) machine(b *batch, first *job, attempt, core int) guest.Machine {
	m := guest.Machine{
		Seed: bootSeed(r.Seed, b.number, first.planned.Index, attempt), Memory: plainMemory, CPU: core, Limit: wallLimit,
	}
	var most int64
	for _, j := range b.jobs {
		if j.Guest.Programs {
			m.Memory = programMemory
		}
		most, m.Limit = max(most, j.Guest.Memory), max(m.Limit, wallLimit+j.Guest.Longer)
	}
	m.Memory += most
	return m
}

func loadID(j *job, attempt int) string {
	return store.LoadRecord{Planned: j.planned, Attempt: attempt}.ID()
}

// bootSeed follows from what the guest is booted for.
func bootSeed(study uint64, batch, first, attempt int) uint64 {
	return seedOf(study, uint64(batch), uint64(first), uint64(attempt))
}

// loadSeed follows from the place of a load in the plan.
func loadSeed(study uint64, index, attempt int) uint64 {
	return seedOf(study, uint64(index), uint64(attempt))
}

func seedOf(parts ...uint64) uint64 {
	var b []byte
	for _, v := range parts {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
