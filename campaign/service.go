package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/store"
)

// service carries out batches of one campaign.
type service struct {
	*Worker
	plan     *Plan
	executor Executor
	dir      string

	mu       sync.Mutex
	done     map[int]bool // batches by their first load
	batches  int
	attempts int
	underWay int
	clock    *Comparison // the last one
}

// maxFailures is how many batches may fail in a row before a worker stops. So many failures are the machine's fault.
const maxFailures = 3

// work carries out one batch of a queue after the other. What a batch has left is sent while the next one is carried out.
func (s *service) work(ctx context.Context, queue jetstream.Consumer, core int) error {
	var sending sync.WaitGroup
	defer sending.Wait()
	slot, failures := make(chan struct{}, 1), 0
	for ctx.Err() == nil {
		m, err := next(ctx, queue)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
			return errEnded
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages):
			continue // there is nothing to do
		case err != nil: // NATS is away for a while
			if !pause(ctx, s.terms.pause) {
				return nil
			}
			continue
		}
		done, err := s.carryOut(ctx, core, m)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.say("%v", err)
			if failures++; failures == maxFailures {
				return fmt.Errorf("%d batches in a row failed; the last one: %w", failures, err)
			}
			continue
		case done == nil:
			continue
		}
		failures = 0
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			done.abandon()
			return nil
		}
		sending.Go(func() {
			defer func() { <-slot }()
			if err := done.send(ctx); err != nil && ctx.Err() == nil {
				s.say("%v", err)
			}
		})
	}
	return nil
}

// watchQuarantine fails when the coordinator quarantines this worker. It ends with ctx.
func (s *service) watchQuarantine(ctx context.Context) error {
	watcher, err := watch(ctx, s.Conn, s.terms, s.campaigns, broker.QuarantineKey(s.plan.Campaign, s.Name), jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("watch the quarantine: %w", err)
	}
	defer func() { _ = watcher.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil
			}
			if entry != nil {
				return fmt.Errorf("%w: %.500s", errQuarantined, entry.Value())
			}
		}
	}
}

// watch watches keys of a bucket. While NATS is away it tries again, until the connection is closed for good.
func watch(ctx context.Context, conn *nats.Conn, t terms, bucket jetstream.KeyValue, keys string, options ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	for {
		watcher, err := bucket.Watch(ctx, keys, options...)
		switch {
		case err == nil:
			return watcher, nil
		case conn.IsClosed():
			return nil, closed(ctx, conn) // which says why
		case !passes(err) || !pause(ctx, t.pause):
			return nil, err
		}
	}
}

// next waits for a batch. After idle without one, the error wraps context.DeadlineExceeded.
func next(ctx context.Context, queue jetstream.Consumer) (jetstream.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return queue.Next(jetstream.FetchContext(limited), jetstream.FetchHeartbeat(idleBeat))
}

// pause waits; false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// carriedOut is a batch that was carried out and is to be sent.
type carriedOut struct {
	*service
	message jetstream.Msg
	order   order
	records []store.LoadRecord
	dir     string
	failed  string // why there are no records
	clock   *Comparison
	stop    func() // ends the heartbeats
}

// carryOut carries out the batch of a message. It returns nil if the batch was given back.
func (s *service) carryOut(ctx context.Context, core int, m jetstream.Msg) (*carriedOut, error) {
	var o order
	err := json.Unmarshal(m.Data(), &o)
	if err == nil && len(o.Batch.Loads) == 0 {
		err = errors.New("it has no load")
	}
	if err != nil {
		_ = m.Term() // it will not become readable
		return nil, fmt.Errorf("read the batch %s: %w", m.Subject(), err)
	}
	first := o.Batch.Loads[0].Index
	s.mu.Lock()
	own := s.done[first]
	s.mu.Unlock()
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	if o.Copy > 0 && own && (o.Copy > 1 || meta.NumDelivered <= checkTries) {
		_ = m.NakWithDelay(s.terms.pause) // another worker should check this one's work, and must if two disagree
		return nil, nil
	}
	c := &carriedOut{service: s, message: m, order: o}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.count(func() { s.underWay++ })
	c.stop = sync.OnceFunc(func() {
		stop()
		s.count(func() { s.underWay-- })
	})
	go beat(beating, s.terms.ack, m)
	if c.dir, err = os.MkdirTemp(s.dir, "batch-"); err != nil {
		c.giveBack(s.terms.pause)
		return nil, err
	}
	if o.Copy <= 1 && meta.NumDelivered > uint64(mostTries+o.Copy*checkTries) {
		c.failed = fmt.Sprintf("%d workers gave it up or died of it", meta.NumDelivered-1)
		return c, nil
	}
	if o.Batch.At != "" {
		c.clock = s.compareClock(ctx)
	}
	c.records, err = s.executor.Do(ctx, core, o.Batch, c.dir, func() { s.count(func() { s.attempts++ }) })
	switch {
	case ctx.Err() != nil:
		c.giveBack(0)
		return nil, context.Cause(ctx)
	case err != nil:
		c.giveBack(s.terms.pause)
		return nil, fmt.Errorf("carry out batch %s of campaign %s: %w", o.name(), s.plan.Campaign, err)
	}
	return c, nil
}

func (s *service) count(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// beat extends the lease of a message until that is acknowledged or ctx ends.
func beat(ctx context.Context, term time.Duration, m jetstream.Msg) {
	ticks := time.NewTicker(heartbeat(term))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			// While NATS is away, the lease may run out: then somebody else does the batch as well.
			if errors.Is(m.InProgress(), jetstream.ErrMsgAlreadyAckd) {
				return
			}
		}
	}
}

// giveBack lets another worker have the batch after a while.
func (c *carriedOut) giveBack(after time.Duration) {
	c.abandon()
	_ = c.message.NakWithDelay(after)
}

// abandon removes what the batch has left here.
func (c *carriedOut) abandon() {
	c.stop()
	_ = os.RemoveAll(c.dir)
}
