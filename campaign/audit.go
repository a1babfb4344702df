package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"wiretime/campaign/broker"
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
	return c.publish(ctx)
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
