package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"wiretime/artefact"
	"wiretime/guest"
	"wiretime/lab"
	"wiretime/store"
)

// guests is the pool of a run on the virtual clock, one guest per core.
type guests struct {
	run     *run
	host    *guest.Host
	batches []*batch
	workers []*worker
	ballast []byte
}

// ballast is how many octets of the heap are set aside and never touched, so they take no memory. The garbage collector runs
// when the heap has doubled. What is in use between two loads is so little that it would run several times per load.
const ballast = 32 << 20

func (r *run) openGuests(queue []*job) (pool, error) {
	host, err := guest.NewHost(r.Kernel, r.served)
	if err != nil {
		return nil, err
	}
	g := &guests{run: r, host: host, batches: batches(queue), ballast: make([]byte, ballast)}
	for core := range cores() {
		g.workers = append(g.workers, &worker{guests: g, core: core})
	}
	return g, nil
}

func (g *guests) close() error {
	runtime.KeepAlive(g.ballast)
	return g.host.Close()
}

// attempt runs the batches that have pending jobs in the first round, each in one guest. In
// later rounds each job has a guest of its own.
func (g *guests) attempt(ctx context.Context, round int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := g.boots(round)
	next := make(chan boot)
	var workers sync.WaitGroup
	for _, w := range g.workers[:min(len(g.workers), len(work))] {
		workers.Go(func() {
			for b := range next {
				if err := w.carryOut(ctx, b); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	for _, b := range work {
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

// boot is what one guest is booted for: an attempt of jobs of a batch.
type boot struct {
	batch   *batch
	jobs    []*job
	attempt int
}

// boots returns what guests are booted for in a round.
func (g *guests) boots(round int) (all []boot) {
	for _, b := range g.batches {
		waiting := pending(b.jobs)
		if round == 0 && len(waiting) > 0 {
			all = append(all, boot{b, b.jobs, 1})
		}
		if round > 0 {
			for _, jobs := range together(waiting) {
				all = append(all, boot{b, jobs, jobs[0].attempt})
			}
		}
	}
	return all
}

// worker boots one guest after the other on a core.
type worker struct {
	*guests
	core int
	lost *job // at which the last guest was lost, nil if that guest did its loads
}

// carryOut boots a guest. A guest that is lost says nothing about its loads, so a batch runs
// again as it was, and comes out as it would have. Only a load at which guests were lost as often as it
// may be attempted is left out, with the loads before it. A guest of a single job is not booted again: the job is
// attempted again in the next round. A session is, too: none of its loads can be made without those before it.
func (w *worker) carryOut(ctx context.Context, b boot) error {
	for len(pending(b.jobs)) > 0 {
		lost, err := w.do(ctx, b)
		if err != nil || lost == nil || b.attempt > 1 {
			return err
		}
		if lost.losses <= w.run.Options.Retries {
			continue
		}
		if s := lost.series; s != nil {
			lost = s.jobs[len(s.jobs)-1]
		} else if !lost.planned.Done {
			continue
		}
		b.jobs = b.jobs[slices.Index(b.jobs, lost)+1:]
	}
	return nil
}

// do boots a guest and ends the attempts that it makes, but for those that were kept before. It
// returns the job that the guest was lost at, nil if it was not lost.
func (w *worker) do(ctx context.Context, b boot) (at *job, err error) {
	r, done := w.run, 0
	orders := r.orders(b.jobs, b.attempt)
	fits, release, err := r.memory.guest(ctx, b.jobs)
	if err != nil {
		return nil, err
	}
	defer release()
	if !fits {
		if orders.Disk, err = r.keeper.ScratchDir(); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	r.turn(nil, b.jobs[0])
	defer func() { r.turn(b.jobs[min(done, len(b.jobs)-1)], nil) }()
	err = w.host.Run(ctx, r.machine(b.batch, b.jobs[0], b.attempt, w.core), orders, func(result guest.Result) error {
		j := b.jobs[done]
		done++
		r.labWorked()
		if done < len(b.jobs) {
			r.turn(j, b.jobs[done])
		}
		w.lost, j.losses = nil, 0
		if j.planned.Done || j.ran >= b.attempt {
			return nil
		}
		j.ran = b.attempt
		record := r.begin(j, started)
		record.Making = &store.Making{Programs: ProgramsOf(r.Programs, j.planned.Cell), Boot: b.jobs[0].planned.Index, Attempt: b.attempt}
		started = time.Now()
		return w.takeOver(j, record, result)
	})
	var lost *guest.Lost
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !errors.As(err, &lost) {
		return nil, err
	}
	at = b.jobs[done]
	at.losses++
	if at != w.lost { // a job at which guests are lost again and again counts once
		if err := r.labFailed(lost); err != nil {
			return nil, err
		}
	}
	w.lost = at
	if at.planned.Done || at.series != nil && at.ran >= b.attempt {
		return at, nil
	}
	if err := r.end(at, r.begin(at, started), nil, "", lost); err != nil || at.series == nil {
		return at, err
	}
	for _, j := range at.series.jobs {
		j.ran = b.attempt
	}
	return at, r.endSeries(at)
}

// takeOver moves the artefacts of an attempt from the guest's folder into the store, and ends it.
func (w *worker) takeOver(j *job, record store.LoadRecord, result guest.Result) error {
	if result.Failed != nil {
		return w.run.end(j, record, nil, "", result.Failed)
	}
	dir, err := w.run.keeper.StageDir(record.ID())
	if err != nil {
		return err
	}
	read, err := w.run.copyFiles(result.Dir, dir)
	if read != nil {
		defer read.release()
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return diskFull(record.ID(), err)
	case errors.Is(err, artefact.ErrUnfit):
		return w.run.end(j, record, nil, "", err)
	case err != nil:
		return err
	case read == nil: // there is no capture, which is an error that end will find
		return w.run.end(j, record, result.Record, dir, nil)
	}
	return w.run.endWith(j, record, result.Record, dir, read, nil)
}

// copyFiles copies the files of a folder, which a guest has left, into the store, and reads the capture among them. The
// caller calls release of the packets, unless they are nil.
func (r *run) copyFiles(from, to string) (read *packets, err error) {
	err = copyFolder(from, to, func(out *os.File, in io.Reader, octets int64) (err error) {
		if filepath.Base(out.Name()) == lab.CaptureFile {
			read, err = r.copyPackets(out, in, octets)
			return err
		}
		return copyWhole(out, in, octets)
	})
	return read, err
}

// copyFolder has the files of a folder copied to another, which may be on another disk. It follows no link.
func copyFolder(from, to string, do func(out *os.File, in io.Reader, octets int64) error) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(root, e.Name(), filepath.Join(to, e.Name()), do); err != nil {
			return err
		}
	}
	return nil
}

func copyWhole(out *os.File, in io.Reader, _ int64) error {
	_, err := io.Copy(out, in)
	return err
}

// copyFile has a file copied, which may be larger than memory. What the guest adds meanwhile is left out.
func copyFile(root *os.Root, name, to string, do func(out *os.File, in io.Reader, octets int64) error) error {
	in, err := artefact.OpenIn(root, name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(do(out, io.LimitReader(in, info.Size()), info.Size()), out.Close())
}
