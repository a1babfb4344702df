package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"syscall"
	"time"

	"wiretime/lab"
	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/workload"
)

// stations is the pool of a run on the real clock.
type stations struct {
	run    *run
	queue  []*job
	config station.Config

	mu   sync.Mutex
	free []*station.Station
}

func (r *run) openStations(queue []*job) (pool, error) {
	s := &stations{run: r, queue: queue, config: r.station}
	var err error
	s.config.Authority, err = protocol.NewAuthority()
	return s, err
}

// moreRoom is the factor by which the room of a disturbed or failed load grows with each attempt.
const moreRoom = 8

// attempt attempts each pending job once, in order and side by side as far as the budget allows, with
// more room in later rounds.
func (p *stations) attempt(ctx context.Context, round int) error {
	budget, room := newBudget(realCores()), math.Pow(moreRoom, float64(round))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	for _, jobs := range together(pending(p.queue)) {
		share := min(jobs[0].Estimate.Share()*room, budget.whole)
		if err := budget.take(ctx, share); err != nil {
			break
		}
		running.Go(func() {
			err := p.carryOut(ctx, jobs)
			budget.give(share)
			if err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// realCores returns how many cores loads on the real clock may keep busy.
func realCores() float64 { return float64(runtime.NumCPU()) * loadShare }

// carryOut makes one attempt at a load, or at all loads of a session, on one station. Errors are those that end
// the run.
func (p *stations) carryOut(ctx context.Context, jobs []*job) error {
	started := time.Now()
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		last := i == len(jobs)-1
		gone, err := p.carryOutOn(ctx, s, j, p.run.begin(j, started), last)
		if err != nil {
			if !gone {
				err = errors.Join(err, s.Close())
			}
			return err
		}
		if gone && !last {
			return p.run.endSeries(j)
		}
		started = time.Now()
	}
	return nil
}

// carryOutOn makes one attempt at a load on a station. last says that no load of the same session follows. gone says that
// the station is no longer the caller's to use or to close: after the last load, and after a load that failed.
func (p *stations) carryOutOn(ctx context.Context, s *station.Station, j *job, record store.LoadRecord, last bool) (gone bool, err error) {
	p.run.turn(nil, j)
	defer p.run.turn(j, nil)
	dir, err := p.run.keeper.StageDir(record.ID())
	if err != nil {
		return true, errors.Join(err, s.Close())
	}
	place, release, err := p.run.memory.place(j, dir)
	if err != nil {
		return true, errors.Join(fmt.Errorf("load %s: %w", record.ID(), err), s.Close())
	}
	s.Lab().KeepCapture(place)
	outcome, failed := load(ctx, j.Order(record.ID()), s, p.run.served[j.served()], dir)
	release()
	if stuck, is := errors.AsType[*stuckError](failed); is {
		return true, p.run.end(j, record, nil, dir, stuck) // and without the station, which cannot be closed
	}
	j.outgrown = j.outgrown || errors.Is(failed, lab.ErrOutgrown)
	if ctx.Err() != nil {
		return true, errors.Join(context.Cause(ctx), s.Close())
	}
	if panics.In(failed) != nil { // says nothing about the lab, of which it may have left anything
		return true, p.run.end(j, record, nil, dir, errors.Join(failed, panics.Do(s.Close)))
	}
	if errors.Is(failed, syscall.ENOSPC) {
		return true, errors.Join(diskFull(record.ID(), failed), s.Close())
	}
	if gone = last || failed != nil; gone {
		if err := p.give(s, failed); err != nil {
			return true, err
		}
	}
	return gone, p.run.end(j, record, outcome, dir, failed)
}

// stuckError says that a load has not ended although a goroutine of it panicked.
type stuckError struct{ panicked *panics.Panic }

func (e *stuckError) Error() string {
	return fmt.Sprintf("%v; the load had not ended %v later, and its lab is left as it is until the run ends", e.panicked, panics.Patience)
}

func (e *stuckError) Unwrap() error { return e.panicked }

// load carries an order out on a station. The error is a *stuckError if a panic has left the load waiting for ever.
func load(ctx context.Context, o workload.Order, s workload.Station, page *site.Site, dir string) (workload.Outcome, error) {
	type result struct {
		outcome workload.Outcome
		failed  error
	}
	ended := make(chan result, 2)
	go func() {
		var r result
		r.failed = panics.Run(ctx, func(ctx context.Context) (err error) {
			r.outcome, err = o.RunOn(ctx, s, page, dir)
			return err
		}, func(panicked *panics.Panic) { ended <- result{failed: &stuckError{panicked}} })
		ended <- r
	}()
	r := <-ended
	return r.outcome, r.failed
}

// take returns a free station, or a new one.
func (p *stations) take(ctx context.Context) (*station.Station, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return station.Open(ctx, p.config)
}

// give makes a station free again after a load, or closes it if the load has broken its lab.
func (p *stations) give(s *station.Station, failed error) error {
	if failed == nil || errors.Is(failed, workload.ErrLabIntact) || errors.Is(failed, lab.ErrOutgrown) {
		p.run.labWorked()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, s)
		return nil
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("take a lab apart: %w", err)
	}
	return p.run.labFailed(failed)
}

func (p *stations) close() error {
	var errs []error
	for _, s := range p.free {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
