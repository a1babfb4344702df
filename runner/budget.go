package runner

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"wiretime/workload"
)

// loadShare is the part of the machine that loads may keep busy on average. The rest keeps
// packets punctual when several loads compute at the same moment.
const loadShare = 0.5

// work returns what a load adds to the duration of a run that always has enough loads to keep
// its cores busy, if the load takes that long.
func work(e workload.Estimate, took time.Duration, cores float64) time.Duration {
	return time.Duration(float64(took) * min(e.Share(), cores) / cores)
}

// budget hands out shares of the machine in the order of the requests, so that loads start in the
// plan's order and none waits for ever.
type budget struct {
	whole   float64 // in cores
	permits *semaphore.Weighted
}

// permit is the smallest share: a thousandth of a core.
const permit = 1e-3

func newBudget(whole float64) *budget {
	return &budget{whole, semaphore.NewWeighted(int64(whole / permit))}
}

func (b *budget) permitsFor(share float64) int64 {
	return int64(min(share, b.whole) / permit)
}

// take waits until a share is free. A share larger than the whole counts as the whole.
func (b *budget) take(ctx context.Context, share float64) error {
	if err := b.permits.Acquire(ctx, b.permitsFor(share)); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// give returns a share that take took.
func (b *budget) give(share float64) { b.permits.Release(b.permitsFor(share)) }

// pace estimates how long the rest of a run will take from how long its loads took so far.
type pace struct {
	planned, done int
	waiting       map[*job]bool
	took          map[string][]time.Duration // by cell
}

func newPace(queue []*job, planned int) *pace {
	p := &pace{planned: planned, done: planned - len(queue), waiting: map[*job]bool{}, took: map[string][]time.Duration{}}
	for _, j := range queue {
		p.waiting[j] = true
	}
	return p
}

// note adds an attempt, and returns how the run stands after it.
func (p *pace) note(j *job, took time.Duration, final bool) (done, planned int, remaining time.Duration) {
	p.took[j.planned.Cell.Key()] = append(p.took[j.planned.Cell.Key()], took)
	if final {
		delete(p.waiting, j)
		p.done++
	}
	// Loads that run side by side fill the machine: each needs its share for its time.
	for w := range p.waiting {
		remaining += work(w.Estimate, p.expected(w), w.cores)
	}
	return p.done, p.planned, remaining
}

// expected returns the mean time that the cell's loads took so far, or the estimate if none has run.
func (p *pace) expected(j *job) time.Duration {
	seen := p.took[j.planned.Cell.Key()]
	if len(seen) == 0 {
		return j.Estimate.Duration
	}
	var sum time.Duration
	for _, d := range seen {
		sum += d
	}
	return sum / time.Duration(len(seen))
}
