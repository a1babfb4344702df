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
)

// pool is the stations of a run on the real clock.
type pool struct {
	run    *run
	config station.Config

	mu       sync.Mutex
	free     []*station.Station
	failures int // of stations, in a row
}

// maxStationFailures is how many loads in a row may fail for the station's sake
// before the run is given up: then it is the machine, not the load.
const maxStationFailures = 5

// runReal runs the jobs in order, side by side as far as the budget allows.
func (r *run) runReal(ctx context.Context, queue []*job) (err error) {
	if len(queue) == 0 {
		return nil
	}
	p := &pool{run: r, config: r.station}
	if p.config.Authority, err = protocol.OpenAuthority(r.Store.AuthorityDir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	budget := newBudget(realCores())
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	defer running.Wait()
	for _, j := range queue {
		share := j.estimate.share()
		if err := budget.take(ctx, share); err != nil {
			return err
		}
		running.Go(func() {
			if err := p.untilFinal(ctx, j, budget, share); err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// realCores is how many cores loads on the real clock may keep busy.
func realCores() float64 { return float64(runtime.NumCPU()) * loadShare }

// untilFinal attempts a job until an attempt is valid or there is no further
// one. A load that was late beside others is repeated with the machine to
// itself. It gives back the share of the budget that it was started with.
func (p *pool) untilFinal(ctx context.Context, j *job, budget *budget, share float64) error {
	for {
		final, err := p.attempt(ctx, j)
		budget.give(share)
		if final || err != nil {
			return err
		}
		j.attempt++
		share = budget.whole
		if err := budget.take(ctx, share); err != nil {
			return err
		}
	}
}

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
	if back := p.give(s, err); back != nil {
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
	record, err := s.Load(ctx, r.order(j, id), j.site, dir)
	if err != nil {
		return nil, err
	}
	return measure(j, record, dir)
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
		return fmt.Errorf("%d loads in a row failed for the lab's sake, %w; the last: %w", p.failures, errGivenUp, failed)
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
