package runner

import (
	"context"
	"errors"
	"syscall"
	"time"

	"wiretime/panics"
	"wiretime/station"
	"wiretime/workload"
)

// liveStation is the pool of a run on the live clock. Its loads share this machine's access to the network, so they are
// made one after the other.
type liveStation struct {
	run     *run
	queue   []*job
	station *station.Live
	lacking map[string]string // what sites have turned out not to offer, by cell
}

func (r *run) openLive(queue []*job) (pool, error) {
	s, err := r.openStation()
	return &liveStation{run: r, queue: queue, station: s, lacking: map[string]string{}}, err
}

func (r *run) openStation() (*station.Live, error) {
	c := r.Live
	c.Chromium, c.Firefox = r.Browsers.Chromium, r.Browsers.Firefox
	return station.OpenLive(c)
}

// attempt attempts each pending job once, in the order of the plan. What a cell's site does not offer is asked for once.
func (p *liveStation) attempt(ctx context.Context, _ int) error {
	for _, j := range pending(p.queue) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := p.carryOut(ctx, j)
		if err != nil {
			return err
		}
	}
	return nil
}

// carryOut makes one attempt at a load. Errors are those that end the run.
func (p *liveStation) carryOut(ctx context.Context, j *job) error {
	cell := j.planned.Cell.Key()
	if why, lacks := p.lacking[cell]; lacks {
		return p.run.keepUnsupported(j, why)
	}
	p.run.turn(nil, j)
	defer p.run.turn(j, nil)
	record := p.run.begin(j, time.Now())
	dir, err := p.run.keeper.StageDir(record.ID())
	if err != nil {
		return err
	}
	outcome, failed := load(ctx, j.Order(record.ID()), p.station, nil, dir)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(failed, syscall.ENOSPC):
		return diskFull(record.ID(), failed)
	case failed == nil:
		p.run.labWorked()
		if lacks, ok := errors.AsType[*workload.UnsupportedError](outcome.Common().LoadError); ok {
			p.lacking[cell] = lacks.Why
		}
		return p.run.end(j, record, outcome, dir, nil)
	}
	if err := p.run.end(j, record, nil, dir, failed); err != nil {
		return err
	}
	if panics.In(failed) != nil { // says nothing about the machine, but the station may have been left in any state
		return p.renew(failed)
	}
	return p.run.labFailed(failed)
}

// renew replaces the station after a panic. One whose load has not ended cannot be closed before the run ends.
func (p *liveStation) renew(failed error) error {
	if _, stuck := errors.AsType[*stuckError](failed); !stuck {
		if err := panics.Do(p.station.Close); err != nil {
			return err
		}
	}
	next, err := p.run.openStation()
	if err != nil {
		return err
	}
	p.station = next
	return nil
}

func (p *liveStation) close() error { return p.station.Close() }
