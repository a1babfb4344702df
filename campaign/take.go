package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
)

// arrived is a result that has arrived.
type arrived struct {
	message  jetstream.Msg
	tracked  *tracked     // nil: it is of no batch of this campaign
	batch    runner.Batch // as it was when the result came
	round    int
	reserved bool // this result is the one for the batch that is being read
	vote     vote
	result   result
	attempts []attempt
	digest   string
	wrong    error // why the store refuses it
	again    bool  // it is to come again
}

// readers is how many results are read at once. One writes to the store.
const readers = 4

// mostAtOnce is how many results are kept in one transaction.
const mostAtOnce = 32

// take takes results into the store until ctx ends.
func (c *Coordinator) take(ctx context.Context) error {
	consumer, err := c.js.Consumer(ctx, broker.ResultStream, c.Campaign)
	if err != nil {
		return fmt.Errorf("find the results of campaign %s: %w", c.Campaign, err)
	}
	// Few results wait unread, because nobody extends the leases of these.
	messages, err := consumer.Messages(jetstream.PullMaxMessages(2*readers), jetstream.PullExpiry(poll))
	if err != nil {
		return fmt.Errorf("take the results of campaign %s: %w", c.Campaign, err)
	}
	defer messages.Stop()
	read := make(chan *arrived, mostAtOnce)
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan jetstream.Msg)
	group.Go(func() error {
		defer close(next)
		for {
			m, err := messages.Next(jetstream.NextContext(ctx))
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrMsgIteratorClosed):
				return fmt.Errorf("take the results of campaign %s: %w", c.Campaign, err)
			case err != nil: // NATS is away for a while
				if !pause(ctx, c.terms.pause) {
					return nil
				}
				continue
			}
			select {
			case next <- m:
			case <-ctx.Done():
				return nil
			}
		}
	})
	var beating sync.WaitGroup
	defer beating.Wait()
	var reading sync.WaitGroup
	for range readers {
		reading.Add(1)
		group.Go(func() error { // of the same group: its error ends the others
			defer reading.Done()
			for m := range next {
				beating.Go(func() { beat(ctx, c.terms.ack, m) }) // what is read and waits for the store is not delivered again
				a, err := c.read(ctx, m)
				if err != nil {
					return err
				}
				if a == nil {
					continue
				}
				select {
				case read <- a:
				case <-ctx.Done():
					return nil
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(read)
		reading.Wait()
		return nil
	})
	group.Go(func() error {
		for a := range read {
			some := []*arrived{a}
			for len(some) < mostAtOnce && len(read) > 0 {
				some = append(some, <-read)
			}
			if err := c.keep(ctx, some); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// read reads a result and what came with it. It returns nil for one that tells nothing new. Errors are those that end the
// campaign: of the disk, or of NATS.
func (c *Coordinator) read(ctx context.Context, m jetstream.Msg) (*arrived, error) {
	a, ours := c.recognise(m)
	if !ours {
		// Anybody may have had NATS send this in a worker's name, so no worker is blamed.
		c.say("a message to %.200q was dropped: it is no result of this campaign", m.Subject())
		return nil, c.settle(a)
	}
	if c.excluded(a) {
		return nil, c.exclude(ctx, a)
	}
	if a.result.Failed != "" {
		return a, nil
	}
	if a.vote.copy > 0 && !c.isDone(a.tracked) { // the batch itself comes first
		return nil, c.later(a)
	}
	if a.vote.copy == 0 && !a.batch.Pending() { // an earlier coordinator has taken it, and died before it said so
		c.dropParcel(ctx, a)
		return nil, c.settle(a)
	}
	if a.vote.copy == 0 && !c.reserve(a) { // another worker's result for it is being read
		return nil, c.later(a)
	}
	err := c.open(ctx, a)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		return a, nil
	case errors.Is(err, broker.ErrNoArtefact):
		if a.vote.copy == 0 && c.isDone(a.tracked) { // it was taken before, and the acknowledgement was lost
			return nil, c.settle(a)
		}
		c.say("a result of worker %s was refused: there is no parcel %.64q", a.vote.worker, a.result.Parcel)
		return nil, errors.Join(c.repeatOrder(ctx, a), c.settle(a)) // it need not be this worker's fault
	case errors.Is(err, ErrWrong):
		return nil, c.refuse(ctx, a, err)
	case passes(err):
		return nil, c.later(a)
	}
	return nil, err
}

// excluded reports whether the worker of a result is quarantined.
func (c *Coordinator) excluded(a *arrived) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.show.Quarantined, a.vote.worker)
}

// exclude drops a result of a quarantined worker. The audit has its batch carried out again.
func (c *Coordinator) exclude(ctx context.Context, a *arrived) error {
	c.dropParcel(ctx, a)
	return c.settle(a)
}

// recognise reads the message of a result. It reports false if that cannot be one of this campaign.
func (c *Coordinator) recognise(m jetstream.Msg) (*arrived, bool) {
	a := &arrived{message: m}
	_, worker, name, ok := broker.ParseResultSubject(m.Subject())
	if !ok {
		return a, false
	}
	first, number, err := parseName(name)
	if err != nil {
		return a, false
	}
	if a.result, err = parseResult(m.Data()); err != nil || a.result.ID != RunID(c.Run) {
		return a, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.batches[first]
	if t == nil {
		return a, false
	}
	a.tracked, a.batch, a.round, a.vote = t, t.batch, t.round, vote{worker, number}
	return a, true
}

// reserve says that a result for the batch is being read. Only one may be, because its artefacts have one place in the store.
func (c *Coordinator) reserve(a *arrived) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.tracked.done {
		return true
	}
	if a.tracked.reading {
		return false
	}
	a.tracked.reading, a.reserved = true, true
	return true
}

// free says that a result for the batch is not being read any more.
func (c *Coordinator) free(a *arrived) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.reserved {
		a.tracked.reading, a.reserved = false, false
	}
}

// settle acknowledges a result. If that does not reach the server, the result comes again and is known then.
func (c *Coordinator) settle(a *arrived) error {
	c.free(a)
	_ = a.message.Ack()
	return nil
}

// later has a result come again after a while.
func (c *Coordinator) later(a *arrived) error {
	c.free(a)
	_ = a.message.NakWithDelay(c.terms.pause)
	return nil
}

// change changes the state of the campaign, and has those look who wait for that.
func (c *Coordinator) change(do func()) {
	c.mu.Lock()
	do()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *Coordinator) isDone(t *tracked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.done
}

// open reads the parcel of a result, and puts its artefacts into the store's staged folders if the batch is not done.
func (c *Coordinator) open(ctx context.Context, a *arrived) error {
	file, err := c.scratch()
	if err != nil {
		return err
	}
	defer file.Close()
	if err := broker.GetArtefact(ctx, c.js, a.result.Parcel, file, a.result.Octets); err != nil {
		return err
	}
	octets, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p, err := openParcel(file)
	if err != nil {
		return err
	}
	defer p.close()
	batch := a.batch
	if a.vote.copy > 0 {
		batch = afresh(batch)
	}
	if a.attempts, err = p.attempts(mostAttempts(batch, c.Plan.Options.Retries)); err != nil {
		return err
	}
	if err := check(batch, c.Plan.Options.Retries, a.attempts); err != nil {
		return err
	}
	if c.isDone(a.tracked) || c.Plan.Bare { // its digest is all that matters, or there is nothing else
		return nil
	}
	if err := checkOctets(a.attempts, octets); err != nil {
		return err
	}
	ids := make([]string, len(a.attempts))
	for i, attempt := range a.attempts {
		ids[i] = attempt.record(store.Planned{Run: c.Run.ID, Index: attempt.Index}, nil, "").ID()
	}
	return p.unpack(a.attempts, ids, c.Store.StageDir)
}

// scratch returns a file on the store's disk that goes away when it is closed.
func (c *Coordinator) scratch() (*os.File, error) {
	dir, err := c.Store.ScratchDir()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "parcel-")
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

// maxStrikes is how many results of a worker may be wrong in a row before it is quarantined.
const maxStrikes = 3

// refuse drops a result for a reason, and has its batch carried out again. A worker whose results are wrong again and again is
// quarantined.
func (c *Coordinator) refuse(ctx context.Context, a *arrived, why error) error {
	c.say("a result of worker %s was refused: %v", a.vote.worker, why)
	if err := c.repeatOrder(ctx, a); err != nil {
		return err
	}
	c.mu.Lock()
	c.strikes[a.vote.worker]++
	struck := c.strikes[a.vote.worker] >= maxStrikes
	c.mu.Unlock()
	if struck {
		if err := c.quarantine(ctx, a.vote.worker, fmt.Sprintf("%d of its results in a row could not be right; the last one: %v", maxStrikes, why)); err != nil {
			return err
		}
	}
	return c.settle(a) // the parcel stays, because it may be that of another result
}

// repeatOrder has the batch of a result carried out again, if that is still wanted.
func (c *Coordinator) repeatOrder(ctx context.Context, a *arrived) error {
	for _, o := range c.wanted(a.tracked) {
		if o.Copy == a.vote.copy {
			return c.order(ctx, o)
		}
	}
	return nil
}

// dropParcel removes a parcel that is not needed any more. If that fails, the campaign's end removes it.
func (c *Coordinator) dropParcel(ctx context.Context, a *arrived) {
	if a.result.Failed == "" {
		_ = broker.DeleteArtefact(ctx, c.js, a.result.Parcel)
	}
}
