package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
)

// arrived is a result that has arrived.
type arrived struct {
	message  jetstream.Msg
	tracked  *tracked
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
	messages, err := consumer.Messages(jetstream.PullMaxMessages(2*mostAtOnce), jetstream.PullExpiry(poll))
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
				if !pause(ctx, time.Second) {
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
	reading, readCtx := errgroup.WithContext(ctx)
	for range readers {
		reading.Go(func() error {
			for m := range next {
				a, err := c.read(readCtx, m)
				if err != nil {
					return err
				}
				if a == nil {
					continue
				}
				select {
				case read <- a:
				case <-readCtx.Done():
					return nil
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(read)
		return reading.Wait()
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
	_, worker, name, ok := broker.ParseResultSubject(m.Subject())
	first, number, err := parseName(name)
	c.mu.Lock()
	t := c.batches[first]
	quarantined := slices.Contains(c.show.Quarantined, worker)
	c.mu.Unlock()
	a := &arrived{message: m, tracked: t, vote: vote{worker, number}}
	if !ok || err != nil || t == nil || a.result.parse(m.Data()) != nil || a.result.ID != RunID(c.Run) {
		return nil, m.Ack() // a worker can have NATS put other messages here, in another's name (broker.WorkerRights)
	}
	if quarantined {
		return nil, c.refuse(ctx, a, nil)
	}
	if a.result.Failed != "" {
		return a, nil
	}
	if number > 0 && !c.isDone(t) { // the batch itself comes first
		return nil, m.NakWithDelay(5 * time.Second)
	}
	if number == 0 && !c.reserve(t) { // another worker's result for it is being read
		return nil, m.NakWithDelay(time.Second)
	}
	err = c.open(ctx, a)
	if err != nil {
		c.change(func() { t.reading = false })
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, broker.ErrNoArtefact): // it was taken before, and the acknowledgement was lost
		if number == 0 && c.isDone(t) {
			return nil, m.Ack()
		}
		c.say("a result of worker %s was refused: there is no parcel %.64q", worker, a.result.Parcel)
		return nil, c.refuse(ctx, a, nil) // it need not be this worker's fault
	case errors.Is(err, ErrWrong):
		return nil, c.refuse(ctx, a, err)
	case err != nil:
		return nil, err
	}
	return a, nil
}

// reserve says that a result for the batch is being read. Only one may be, because its artefacts have one place in the store.
func (c *Coordinator) reserve(t *tracked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.done {
		return true
	}
	free := !t.reading
	t.reading = true
	return free
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
	if err := broker.GetArtefact(ctx, c.js, a.result.Parcel, file, mostParcel); err != nil {
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
	if a.attempts, err = p.attempts(); err != nil {
		return err
	}
	batch := a.tracked.batch
	if a.vote.copy > 0 {
		batch = afresh(batch)
	}
	if err := check(batch, c.Plan.Options.Retries, a.attempts); err != nil {
		return err
	}
	if a.digest, err = digest(a.attempts); err != nil {
		return err
	}
	if c.isDone(a.tracked) || c.Plan.Bare { // its digest is all that matters, or there is nothing else
		return nil
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

// maxStrikes is how many results of a worker may be wrong before it is quarantined.
const maxStrikes = 3

// refuse drops a result for a reason, and has its batch carried out again. A worker whose results are wrong again and again is
// quarantined.
func (c *Coordinator) refuse(ctx context.Context, a *arrived, why error) error {
	if a.tracked != nil {
		c.mu.Lock()
		if a.vote.copy == 0 && !a.tracked.done {
			a.tracked.reading = false
		}
		again := !a.tracked.done && a.vote.copy == 0 || a.tracked.check && a.vote.copy > 0
		c.mu.Unlock()
		if again {
			if err := c.order(ctx, order{a.vote.copy, a.tracked.batch}); err != nil {
				return err
			}
		}
	}
	if why != nil {
		c.say("a result of worker %s was refused: %v", a.vote.worker, why)
		c.mu.Lock()
		c.strikes[a.vote.worker]++
		struck := c.strikes[a.vote.worker] == maxStrikes
		c.mu.Unlock()
		if struck {
			if err := c.quarantine(ctx, a.vote.worker, fmt.Sprintf("%d of its results could not be right; the last one: %v", maxStrikes, why)); err != nil {
				return err
			}
		}
	}
	return a.message.Ack() // the parcel stays, because it may be that of another result
}

// dropParcel removes a parcel that is not needed any more. If that fails, the campaign's end removes it.
func (c *Coordinator) dropParcel(ctx context.Context, a *arrived) {
	if a.result.Parcel != "" {
		_ = broker.DeleteArtefact(ctx, c.js, a.result.Parcel)
	}
}

// keep takes results into the store, all in one transaction, and acknowledges them.
func (c *Coordinator) keep(ctx context.Context, some []*arrived) error {
	var fresh []*arrived
	for _, a := range some {
		if err := c.describe(a.vote.worker); err != nil {
			return err
		}
		if a.result.Failed != "" {
			if err := c.failed(a); err != nil {
				return err
			}
			continue
		}
		if a.vote.copy == 0 && !c.isDone(a.tracked) && !slices.ContainsFunc(fresh, func(f *arrived) bool { return f.tracked == a.tracked }) {
			fresh = append(fresh, a)
			continue
		}
		if err := c.compare(ctx, a); err != nil {
			return err
		}
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
			if err := a.message.Nak(); err != nil {
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
		if err := a.message.Ack(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			return err
		}
	}
	c.report()
	return nil
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
			c.change(func() { a.tracked.alone, a.tracked.reading = true, false })
		}
		return nil
	}
	c.change(func() {
		for _, a := range fresh {
			a.tracked.done, a.tracked.reading = true, false
			c.left--
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
			if !r.Drop {
				r.Files = nil // they are staged
			}
			all = append(all, r)
		}
	}
	return all
}

func (c *Coordinator) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Said(fmt.Sprintf(format, args...))
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
	return a.message.Ack()
}

func lastToken(subject string) int { return strings.LastIndexByte(subject, '.') + 1 }
