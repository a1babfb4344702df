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
	remaining     time.Duration
	cells         map[string]*cellPace
}

// cellPace is the pace of one cell's loads.
type cellPace struct {
	took    time.Duration // by all attempts so far
	noted   int           // attempts
	waiting map[need]int  // loads, by what they need
}

// need is what a load is estimated to take of the machine.
type need struct {
	workload.Estimate
	cores float64
}

func newPace(queue []*job, planned int) *pace {
	p := &pace{planned: planned, done: planned - len(queue), cells: map[string]*cellPace{}}
	for _, j := range queue {
		p.cell(j).waiting[need{j.Estimate, j.cores}]++
	}
	for _, c := range p.cells {
		p.remaining += c.remaining()
	}
	return p
}

func (p *pace) cell(j *job) *cellPace {
	key := j.planned.Cell.Key()
	if p.cells[key] == nil {
		p.cells[key] = &cellPace{waiting: map[need]int{}}
	}
	return p.cells[key]
}

// note adds an attempt, and returns how the run stands after it.
func (p *pace) note(j *job, took time.Duration, final bool) (done, planned int, remaining time.Duration) {
	c := p.cell(j)
	p.remaining -= c.remaining()
	c.took += took
	c.noted++
	if final && j.series == nil {
		c.waiting[need{j.Estimate, j.cores}]--
		p.done++
	}
	p.remaining += c.remaining()
	if final && j.series != nil {
		p.finish(j.series.jobs)
	}
	return p.done, p.planned, p.remaining
}

// finish notes that no load of a session needs a further attempt.
func (p *pace) finish(jobs []*job) {
	for _, j := range jobs {
		c := p.cell(j)
		p.remaining -= c.remaining()
		c.waiting[need{j.Estimate, j.cores}]--
		p.done++
		p.remaining += c.remaining()
	}
}

// remaining estimates what the cell's waiting loads will take. Loads that run side by side fill the machine: each needs its
// share for its time, which is the mean of those that have run, or the estimate if none has.
func (c *cellPace) remaining() (sum time.Duration) {
	for n, loads := range c.waiting {
		each := n.Duration
		if c.noted > 0 {
			each = c.took / time.Duration(c.noted)
		}
		sum += time.Duration(loads) * work(n.Estimate, each, n.cores)
	}
	return sum
}
