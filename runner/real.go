package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"wiretime/protocol"
	"wiretime/station"
	"wiretime/store"
	"wiretime/workload"
)

// pool is the stations of a run on the real clock.
type pool struct {
	run    *run
	config station.Config

	mu       sync.Mutex
	free     []*station.Station
	failures int // of stations, in a row
}

// maxStationFailures is how many stations may fail in a row before the run stops. That many
// failures are the machine's fault, not a load's.
const maxStationFailures = 5

// runReal runs the jobs in order, side by side as far as the budget allows, and then
// again, with more room, those that were late or failed.
func (r *run) runReal(ctx context.Context, queue []*job) (err error) {
	if len(queue) == 0 {
		return nil
	}
	p := &pool{run: r, config: r.station}
	if p.config.Authority, err = protocol.OpenAuthority(r.Store.AuthorityDir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for room := 1.0; len(queue) > 0; room *= moreRoom {
		if queue, err = p.attemptAll(ctx, queue, room); err != nil {
			return err
		}
	}
	return nil
}

// moreRoom is how many times the room of their last attempt late loads are given.
const moreRoom = 8

// attemptAll attempts each job once, room times as far apart as loads may be, and
// returns those that need another attempt, in their order.
func (p *pool) attemptAll(ctx context.Context, queue []*job, room float64) (again []*job, err error) {
	budget := newBudget(realCores())
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	unfinished := make([]bool, len(queue))
	for i, j := range queue {
		share := min(j.Estimate.Share()*room, budget.whole)
		if err := budget.take(ctx, share); err != nil {
			break
		}
		running.Go(func() {
			final, err := p.attempt(ctx, j)
			budget.give(share)
			unfinished[i] = !final
			if err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	for i, j := range queue {
		if unfinished[i] {
			j.attempt++
			again = append(again, j)
		}
	}
	return again, context.Cause(ctx)
}

// realCores is how many cores loads on the real clock may keep busy.
func realCores() float64 { return float64(runtime.NumCPU()) * loadShare }

// attempt runs one load, keeps it, and says whether it was the last attempt.
// Errors are those that end the run.
func (p *pool) attempt(ctx context.Context, j *job) (final bool, err error) {
	record := p.run.begin(j)
	if why := p.run.unsupported(j); why != "" {
		return true, p.run.keepUnsupported(j, record, why)
	}
	s, err := p.take(ctx)
	if err != nil {
		return false, err
	}
	measured, err := p.run.load(ctx, s, j, record.ID())
	if ctx.Err() != nil {
		return false, errors.Join(context.Cause(ctx), p.give(s, nil))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return false, errors.Join(fmt.Errorf("load %s: %w: %w", record.ID(), store.ErrDiskFull, err), s.Close())
	}
	failed := err
	if errors.Is(err, workload.ErrLabIntact) {
		failed = nil
	}
	if back := p.give(s, failed); back != nil {
		return false, back
	}
	if err != nil {
		record.Validity, record.Reason = store.Failed, err.Error()
	} else {
		p.run.judge(&record, measured)
	}
	record.Wall = time.Since(record.Started)
	return record.Final || record.Validity == store.Valid, p.run.keep(j, record)
}

// load runs one load in a station. Its artefacts are in the store's staged folder
// for id.
func (r *run) load(ctx context.Context, s *station.Station, j *job, id string) (*measured, error) {
	dir, err := r.Store.StageDir(id)
	if err != nil {
		return nil, err
	}
	record, err := s.Load(ctx, j.Order(id), r.served[j.served()], dir)
	if err != nil {
		return nil, err
	}
	return r.measure(j, record, dir)
}

// take returns a station that is free, or a new one.
func (p *pool) take(ctx context.Context) (*station.Station, error) {
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

// give makes a station free again, or takes it apart if it failed.
func (p *pool) give(s *station.Station, failed error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failed == nil {
		p.failures = 0
		p.free = append(p.free, s)
		return nil
	}
	p.failures++
	if err := s.Close(); err != nil {
		return fmt.Errorf("take a lab apart: %w", err)
	}
	if p.failures >= maxStationFailures {
		return fmt.Errorf("%w: the lab failed %d times in a row; the last time: %w", errGivenUp, p.failures, failed)
	}
	return nil
}

func (p *pool) close() error {
	var errs []error
	for _, s := range p.free {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
