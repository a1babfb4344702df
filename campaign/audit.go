package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"wiretime/campaign/broker"
	"wiretime/english"
)

// audit puts batches into the stream of work that have got lost on the way: a server may have lost its last messages in a power
// cut, or a worker acknowledged a batch without a result. It also makes room in the object store.
func (c *Coordinator) audit(ctx context.Context) error {
	if _, err := broker.SweepArtefacts(ctx, c.js, c.terms.upload); err != nil {
		return err
	}
	c.mu.Lock()
	silent := time.Since(c.heard) >= c.terms.audit
	c.mu.Unlock()
	if !silent {
		return nil
	}
	if err := c.recallLost(ctx); err != nil {
		return err
	}
	return c.publish(ctx)
}

// wait is a queue that waits for batches which it has handed out.
type wait struct {
	delivered uint64    // how often it has handed out batches so far
	since     time.Time // when that was first seen
}

// recallLost removes from the stream of work what a queue takes for handed out although every worker has been idle for longer than
// a lease. NATS counts leases by the machine's clock: when that is set back, the lease of a worker that died lasts as much
// longer.
func (c *Coordinator) recallLost(ctx context.Context) error {
	now := time.Now()
	idle := c.idle(now)
	for _, q := range c.queues() {
		if q.stream != broker.WorkStream {
			continue
		}
		consumer, err := c.js.Consumer(ctx, q.stream, q.name)
		if err != nil {
			return fmt.Errorf("look for batches that nobody carries out in %s: %w", q.name, err)
		}
		info := consumer.CachedInfo()
		before, waits := c.waits[q.name]
		if !idle || info.NumAckPending == 0 || !waits || before.delivered != info.Delivered.Consumer {
			c.waits[q.name] = wait{info.Delivered.Consumer, now}
			continue
		}
		if now.Sub(before.since) < 2*c.terms.ack {
			continue
		}
		if err := c.purge(ctx, q.stream, q.subject); err != nil {
			return err
		}
		delete(c.waits, q.name)
		c.say("%s in %s had been handed out, and no worker has any; they are dealt anew", english.Count(info.NumAckPending, "batch"), q.name)
	}
	return nil
}

// idle reports whether there are workers, and none of them has a batch under way.
func (c *Coordinator) idle(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := 0
	for _, s := range c.states {
		if now.Sub(s.at) >= silence {
			continue
		}
		if there++; s.UnderWay > 0 {
			return false
		}
	}
	return there > 0
}

// watchConnection fails when NATS has closed the connection for good, as it does when the credentials expire.
func (c *Coordinator) watchConnection(ctx context.Context) error { return closed(ctx, c.Conn) }

// closed waits until a connection is closed for good, and says why, or until ctx ends.
func closed(ctx context.Context, conn *nats.Conn) error {
	changes := conn.StatusChanged(nats.CLOSED)
	defer conn.RemoveStatusListener(changes)
	if !conn.IsClosed() {
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
	return fmt.Errorf("NATS has closed the connection: %w", conn.LastError())
}
