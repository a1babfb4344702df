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
	cells         map[string]*cellPace
	clocks        map[string]*clockPace
}

// clockPace is the pace of all loads on one clock.
type clockPace struct {
	known          time.Duration // what the waiting loads of cells that have run will take
	estimated      time.Duration // what those of the other cells will take, by their estimates
	took, foreseen time.Duration // what the attempts so far took, and were estimated to take
}

// cellPace is the pace of one cell's loads.
type cellPace struct {
	clock   *clockPace
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
	p := &pace{planned: planned, done: planned - len(queue), cells: map[string]*cellPace{}, clocks: map[string]*clockPace{}}
	for _, j := range queue {
		p.cell(j).waiting[need{j.Estimate, j.cores}]++
	}
	for _, c := range p.cells {
		c.count(1)
	}
	return p
}

func (p *pace) cell(j *job) *cellPace {
	key, clock := j.planned.Cell.Key(), j.planned.Cell.Clock()
	if p.clocks[clock] == nil {
		p.clocks[clock] = &clockPace{}
	}
	if p.cells[key] == nil {
		p.cells[key] = &cellPace{clock: p.clocks[clock], waiting: map[need]int{}}
	}
	return p.cells[key]
}

// note adds an attempt, and returns how the run stands after it.
func (p *pace) note(j *job, took time.Duration, final bool) (done, planned int, remaining time.Duration) {
	c := p.cell(j)
	c.count(-1)
	c.took += took
	c.noted++
	c.clock.took += took
	c.clock.foreseen += j.Estimate.Duration
	if final && j.series == nil {
		c.waiting[need{j.Estimate, j.cores}]--
		p.done++
	}
	c.count(1)
	if final && j.series != nil {
		p.finish(j.series.jobs)
	}
	for _, clock := range p.clocks {
		remaining += clock.remaining()
	}
	return p.done, p.planned, remaining
}

// finish notes that no load of a session needs a further attempt.
func (p *pace) finish(jobs []*job) {
	for _, j := range jobs {
		c := p.cell(j)
		c.count(-1)
		c.waiting[need{j.Estimate, j.cores}]--
		p.done++
		c.count(1)
	}
}

// count adds what the cell's waiting loads will take to the clock's sums, sign times. Loads that run side by side fill the
// machine: each needs its share for its time, which is the mean of those of its cell that have run, or the estimate if none
// has.
func (c *cellPace) count(sign int) {
	for n, loads := range c.waiting {
		if c.noted > 0 {
			c.clock.known += time.Duration(sign*loads) * work(n.Estimate, c.took/time.Duration(c.noted), n.cores)
		} else {
			c.clock.estimated += time.Duration(sign*loads) * work(n.Estimate, n.Duration, n.cores)
		}
	}
}

// remaining returns what all waiting loads will take: estimates are wrong by as much as those of the loads that have run.
func (c *clockPace) remaining() time.Duration {
	if c.foreseen <= 0 {
		return c.known + c.estimated
	}
	return c.known + time.Duration(float64(c.estimated)*float64(c.took)/float64(c.foreseen))
}
