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
	"wiretime/protocol"
	"wiretime/station"
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
	s.config.Authority, err = protocol.OpenAuthority(r.Store.AuthorityDir())
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
	for _, j := range pending(p.queue) {
		share := min(j.Estimate.Share()*room, budget.whole)
		if err := budget.take(ctx, share); err != nil {
			break
		}
		running.Go(func() {
			err := p.carryOut(ctx, j)
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

// carryOut makes one attempt. Errors are those that end the run.
func (p *stations) carryOut(ctx context.Context, j *job) error {
	record := p.run.begin(j, time.Now())
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	dir, err := p.run.Store.StageDir(record.ID())
	if err != nil {
		return errors.Join(err, s.Close())
	}
	place, release, err := p.run.memory.place(j, dir)
	if err != nil {
		return errors.Join(fmt.Errorf("load %s: %w", record.ID(), err), s.Close())
	}
	s.Lab().KeepCapture(place)
	outcome, failed := j.Order(record.ID()).RunOn(ctx, s, p.run.served[j.served()], dir)
	release()
	j.outgrown = j.outgrown || errors.Is(failed, lab.ErrOutgrown)
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), s.Close())
	}
	if errors.Is(failed, syscall.ENOSPC) {
		return errors.Join(diskFull(record.ID(), failed), s.Close())
	}
	if err := p.give(s, failed); err != nil {
		return err
	}
	return p.run.end(j, record, outcome, dir, failed)
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
