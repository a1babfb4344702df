package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"wiretime/runner"
	"wiretime/store"
)

// keep takes results into the store, all in one transaction, and acknowledges them.
func (c *Coordinator) keep(ctx context.Context, some []*arrived) error {
	var fresh []*arrived
	for _, a := range some {
		if c.excluded(a) {
			if err := c.exclude(ctx, a); err != nil {
				return err
			}
			continue
		}
		c.noteClock(a.vote.worker, a.result.Clock)
		if err := c.describe(a.vote.worker); err != nil {
			return err
		}
		if a.result.Failed != "" {
			if err := c.failed(a); err != nil {
				return err
			}
			continue
		}
		if a.vote.copy == 0 && !c.isDone(a.tracked) {
			fresh = append(fresh, a)
			continue
		}
		if err := c.compare(ctx, a); err != nil {
			return err
		}
	}
	fresh, err := c.sift(ctx, fresh)
	if err != nil {
		return err
	}
	alone := slices.DeleteFunc(slices.Clone(fresh), func(a *arrived) bool { return !a.tracked.alone })
	together := slices.DeleteFunc(slices.Clone(fresh), func(a *arrived) bool { return a.tracked.alone })
	for _, each := range append(slices.Collect(slices.Chunk(alone, 1)), together) {
		if len(each) == 0 {
			continue
		}
		if err := c.commit(each); err != nil {
			return err
		}
	}
	for _, a := range fresh {
		if a.again {
			if err := c.later(a); err != nil {
				return err
			}
			continue
		}
		if a.wrong != nil {
			if err := c.refuse(ctx, a, a.wrong); err != nil {
				return err
			}
			continue
		}
		c.dropParcel(ctx, a)
		if err := c.settle(a); err != nil {
			return err
		}
		if err := c.weighKept(ctx, a.tracked); err != nil {
			return err
		}
	}
	c.report()
	return nil
}

// sift returns the results that can be kept still: since they were read, their worker may have been quarantined, or loads of
// their batch retracted.
func (c *Coordinator) sift(ctx context.Context, some []*arrived) (fresh []*arrived, err error) {
	for _, a := range some {
		switch {
		case c.excluded(a):
			err = c.exclude(ctx, a)
		case c.stale(a):
			err = c.later(a)
		default:
			fresh = append(fresh, a)
		}
		if err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// weighKept weighs the votes about a batch that was kept once more, because a liar's loads were taken back.
func (c *Coordinator) weighKept(ctx context.Context, t *tracked) error {
	c.mu.Lock()
	voted := t.done && t.check && len(t.votes) > 0
	c.mu.Unlock()
	if !voted {
		return nil
	}
	stored, by, err := c.stored(t.batch)
	if err != nil {
		return err
	}
	return c.weigh(ctx, t, stored, by)
}

// commit keeps fresh results. If they cannot be kept together, they come again and are kept alone, and one that the store
// then refuses is wrong.
func (c *Coordinator) commit(fresh []*arrived) error {
	err := c.Store.Commit(c.records(fresh)...)
	switch {
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrReadOnly):
		return err
	case err != nil && len(fresh) == 1:
		fresh[0].wrong = fmt.Errorf("%w: the store refuses it: %w", ErrWrong, err)
		return nil
	case err != nil:
		for _, a := range fresh {
			a.again = true
			c.change(func() { a.tracked.alone = true })
		}
		return nil
	}
	c.change(func() {
		c.heard = time.Now()
		for _, a := range fresh {
			a.tracked.done = true
			c.left--
			c.strikes[a.vote.worker] = 0
			c.show.Done += pendingLoads(a.tracked.batch)
		}
	})
	for _, a := range fresh {
		if err := runner.Trim(runner.Config{Store: c.Store, Run: c.Run.ID, Keep: c.Keep}, c.plannedOf(a.tracked.batch)); err != nil {
			return err
		}
	}
	return nil
}

func pendingLoads(b runner.Batch) (n int) {
	for _, l := range b.Loads {
		if !l.Done {
			n++
		}
	}
	return n
}

// records returns results as the store keeps them.
func (c *Coordinator) records(fresh []*arrived) []store.LoadRecord {
	var all []store.LoadRecord
	for _, a := range fresh {
		planned := c.plannedOf(a.tracked.batch)
		for _, one := range a.attempts {
			at := slices.IndexFunc(planned, func(p store.Planned) bool { return p.Index == one.Index })
			r := one.record(planned[at], runner.ProgramsOf(c.Plan.Programs, planned[at].Cell), a.vote.worker)
			runner.Keep(&r, c.Keep)
			if !r.Drop || !c.Plan.Bare {
				r.Files = nil // they are staged
			}
			if clock := a.result.Clock; clock != nil && a.batch.At != "" && r.Validity != store.Unsupported {
				r.Values = maps.Clone(r.Values)
				if r.Values == nil {
					r.Values = map[string]float64{}
				}
				runner.NoteClock(r.Values, clock.Offset, clock.Bound)
			}
			all = append(all, r)
		}
	}
	return all
}

// stale reports whether the batch has changed since a result for it was read, because its loads were retracted.
func (c *Coordinator) stale(a *arrived) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.round != a.tracked.round
}

// failed notes that a batch cannot be done.
func (c *Coordinator) failed(a *arrived) error {
	c.change(func() {
		if a.vote.copy == 0 && !a.tracked.done {
			a.tracked.done, a.tracked.failed = true, a.result.Failed
			c.left--
		}
		if a.tracked.check && (a.vote.copy > 0 || a.tracked.failed != "") {
			a.tracked.check = false
			c.checks--
		}
	})
	return c.settle(a)
}
