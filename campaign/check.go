package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// sampled reports whether a batch is to be carried out twice: a share of those that leave the same bytes each time, drawn with
// the study's seed.
func (c *Coordinator) sampled(b runner.Batch) bool {
	if !c.repeatable(b) {
		return false
	}
	text := fmt.Appendf(nil, "check %d %d", c.Plan.Seed, b.Loads[0].Index)
	digest := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(digest[:]))/math.MaxUint64 < c.Checks
}

// repeatable reports whether a batch leaves the same bytes each time. Loads at a place do not, and other people's programs need
// not.
func (c *Coordinator) repeatable(b runner.Batch) bool {
	return b.At == "" && !slices.ContainsFunc(b.Loads, func(l runner.BatchLoad) bool {
		cell := c.Cells[l.Cell]
		return pageload.IsBrowser(cell.By()) || cell.Unusual(study.AxisServer)
	})
}

// afresh returns a batch as if nothing of it had been done.
func afresh(b runner.Batch) runner.Batch {
	b.Loads = slices.Clone(b.Loads)
	for i := range b.Loads {
		b.Loads[i].Done, b.Loads[i].Attempts = false, 0
	}
	return b
}

// mostCopies is how often a batch is carried out to find out who is right.
const mostCopies = 5

// compare compares what a worker sent for a batch that is done with what the store has of it.
func (c *Coordinator) compare(ctx context.Context, a *arrived) error {
	if c.comparable(a.tracked) {
		var err error
		if a.digest, err = digest(a.attempts); err != nil { // only now, because few results are compared
			return err
		}
		stored, by, err := c.stored(a.tracked.batch)
		if err != nil {
			return err
		}
		c.mu.Lock()
		news := a.tracked.check || a.digest != stored
		c.mu.Unlock()
		if news {
			if err := c.vote(ctx, a.tracked, a.vote.worker, a.digest, stored, by); err != nil {
				return err
			}
		}
	}
	c.dropParcel(ctx, a)
	return c.settle(a)
}

func (c *Coordinator) comparable(t *tracked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.done && t.failed == "" && (t.check || c.repeatable(t.batch))
}

// vote notes what a worker has left of a batch, and weighs that.
func (c *Coordinator) vote(ctx context.Context, t *tracked, worker, digest, stored, by string) error {
	c.change(func() {
		if !t.check {
			t.check = true
			c.checks++
		}
		if t.votes == nil {
			t.votes = map[string]string{}
		}
		t.votes[worker] = digest
	})
	return c.weigh(ctx, t, stored, by)
}

// weigh decides who is right about a batch that is in the store: what two workers agree about. Those who left something else are
// quarantined. While nobody agrees, the batch is carried out by one more. That a worker agrees with itself proves something
// only as long as nobody disagrees.
func (c *Coordinator) weigh(ctx context.Context, t *tracked, stored, by string) error {
	var liars []string
	others, disputed, copies := map[string]int{}, false, 0
	c.change(func() {
		for worker, digest := range t.votes {
			if worker != by {
				others[digest]++
			}
			disputed = disputed || digest != stored
		}
		if others[stored] > 0 || !disputed {
			for worker, digest := range t.votes {
				if digest != stored {
					liars = append(liars, worker)
				}
			}
			t.check, t.votes, disputed = false, nil, false
			c.checks--
			c.show.Checked++
			return
		}
		for _, n := range others {
			if n > 1 {
				liars, disputed = []string{by}, false
			}
		}
		if disputed {
			t.copies = max(t.copies, 1) + 1
			copies = t.copies
		}
	})
	first := t.batch.Loads[0].Index
	for _, worker := range liars {
		if err := c.quarantine(ctx, worker, fmt.Sprintf("it left something else of the batch of load %d than two other workers", first)); err != nil {
			return err
		}
	}
	switch {
	case !disputed:
		return nil
	case copies > mostCopies:
		return fmt.Errorf("check the batch of load %d: it comes out differently each time: this version of wiretime, or the machines, cannot be trusted with it", first)
	}
	c.say("the batch of load %d came out differently by different workers; a third one decides, so start one more if there are only two", first)
	return c.order(ctx, order{copies, afresh(t.batch)})
}

// stored returns the digest of what the store has of a batch, and the worker that made it.
func (c *Coordinator) stored(b runner.Batch) (stored, worker string, err error) {
	var all []attempt
	for _, p := range c.plannedOf(afresh(b)) {
		for number := 1; ; number++ {
			l, err := c.Store.Load(store.LoadRecord{Planned: p, Attempt: number}.ID())
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil {
				return "", "", err
			}
			a, err := c.attemptOf(l)
			if err != nil {
				return "", "", err
			}
			all, worker = append(all, a), l.Worker
		}
	}
	stored, err = digest(all)
	return stored, worker, err
}

// attemptOf returns a load of the store as a parcel would hold it.
func (c *Coordinator) attemptOf(l store.Load) (attempt, error) {
	a := attempt{Index: l.Index, Attempt: l.Attempt, Validity: l.Validity, Reason: l.Reason, Values: l.Values, Violations: l.Violations, Pages: l.Pages,
		Final: l.Attempt > c.Plan.Options.Retries || l.Validity == store.Unsupported}
	made, err := c.Store.Making(l.ID)
	if err != nil {
		return a, err
	}
	if made != nil {
		a.Boot, a.BootFor = made.Boot, made.Attempt
	}
	a.Files, err = c.Store.Files(l)
	return a, err
}

// quarantine excludes a worker from the campaign, takes what it has made out of the store, and has that carried out again.
func (c *Coordinator) quarantine(ctx context.Context, worker, why string) error {
	if worker == "" { // made by 'wiretime run' before the campaign began
		return fmt.Errorf("two workers left something else than this store's own run: %s", why)
	}
	again := false
	c.change(func() {
		again = slices.Contains(c.show.Quarantined, worker)
		if !again {
			c.show.Quarantined = append(c.show.Quarantined, worker)
			for _, t := range c.batches {
				if _, voted := t.votes[worker]; !voted {
					continue
				}
				if delete(t.votes, worker); len(t.votes) == 0 {
					t.copies = 1 // there is no dispute any more: the audit has it checked as at first
				}
			}
		}
	})
	if again {
		return nil
	}
	c.say("worker %s is quarantined: %s", worker, why)
	if err := persist(ctx, c.terms.pause, func() error {
		_, err := c.campaigns.PutString(ctx, broker.QuarantineKey(c.Campaign, worker), why)
		return err
	}); err != nil {
		return fmt.Errorf("quarantine worker %s: %w", worker, err)
	}
	if c.Revoke != nil {
		if err := c.Revoke(worker); err != nil {
			return fmt.Errorf("quarantine worker %s: %w", worker, err)
		}
	}
	return c.repeat(ctx, worker, why)
}

// recall recalls what a coordinator before this one knew: the workers that the store describes, and who was quarantined. It finishes
// what that coordinator may not have: the loads of quarantined workers are retracted.
func (c *Coordinator) recall(ctx context.Context) error {
	if err := c.recallWorkers(); err != nil {
		return err
	}
	entries, err := watch(ctx, c.Conn, c.terms, c.campaigns, broker.QuarantineKey(c.Campaign, "*"), jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("look for quarantined workers: %w", err)
	}
	defer func() { _ = entries.Stop() }()
	for entry := range entries.Updates() {
		if entry == nil { // these were all that there are
			return nil
		}
		worker := entry.Key()[lastToken(entry.Key()):]
		c.change(func() { c.show.Quarantined = append(c.show.Quarantined, worker) })
		if _, err := c.retract(worker, string(entry.Value())); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// repeat has all batches carried out again that a worker has made.
func (c *Coordinator) repeat(ctx context.Context, worker, why string) error {
	repeated, err := c.retract(worker, why)
	if err != nil {
		return err
	}
	for _, b := range repeated {
		if err := c.order(ctx, order{0, b}); err != nil {
			return err
		}
	}
	return nil
}

// retract takes what a worker has made out of the store, and returns the batches that are pending again.
func (c *Coordinator) retract(worker, why string) (repeated []runner.Batch, err error) {
	made, err := c.Store.LoadsBy(c.Run.ID, worker)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	if err := c.Store.Retract(c.Run.ID, made, "worker "+worker+": "+why); err != nil {
		return nil, err
	}
	pending := map[int]int{} // the attempts that are left of them
	if err := c.Store.EachPlanned(c.Run.ID, func(p store.Planned) error {
		if !p.Done {
			pending[p.Index] = p.Attempts
		}
		return nil
	}); err != nil {
		return nil, err
	}
	c.change(func() {
		for _, t := range c.batches {
			if !t.done || t.failed != "" || !slices.ContainsFunc(t.batch.Loads, func(l runner.BatchLoad) bool { _, is := pending[l.Index]; return is }) {
				continue
			}
			t.done, t.batch.Loads = false, slices.Clone(t.batch.Loads)
			t.round++
			c.left++
			for i, l := range t.batch.Loads {
				attempts, again := pending[l.Index]
				t.batch.Loads[i].Done, t.batch.Loads[i].Attempts = !again, attempts
			}
			c.show.Done -= pendingLoads(t.batch)
			repeated = append(repeated, t.batch)
		}
	})
	c.say("%d loads that worker %s made are made again", len(made), worker)
	return repeated, nil
}
