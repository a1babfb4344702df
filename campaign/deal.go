package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
)

// deal has all batches carried out that are not done.
func (c *Coordinator) deal(ctx context.Context) error {
	if err := c.publish(ctx); err != nil {
		return err
	}
	return c.await(ctx)
}

// publish puts the batches that are not done, and are not under way, into the stream of work. It removes those of which the
// campaign knows nothing: a coordinator that died has left them there, and the slot in which they were wanted is over.
func (c *Coordinator) publish(ctx context.Context) error {
	under, err := c.underWay(ctx)
	if err != nil {
		return err
	}
	for name := range under {
		if first, _, err := parseName(name); err != nil || c.batches[first] == nil {
			if err := c.purge(ctx, broker.WorkStream, broker.WorkSubject(c.Campaign, "*", name)); err != nil {
				return err
			}
		}
	}
	for _, b := range c.Batches {
		for _, o := range c.wanted(c.batches[b.Loads[0].Index]) {
			if under[o.name()] {
				continue
			}
			if err := c.order(ctx, o); err != nil {
				return err
			}
		}
	}
	select {
	case <-c.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wanted returns what is still to be carried out of a batch.
func (c *Coordinator) wanted(t *tracked) (all []order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.done {
		all = append(all, order{0, t.batch})
	}
	if t.check {
		t.copies = max(t.copies, 1)
		all = append(all, order{t.copies, afresh(t.batch)})
	}
	return all
}

// order puts a batch into the stream of work.
func (c *Coordinator) order(ctx context.Context, o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	for {
		// The connection counts what is on its way; when it is slow, this waits.
		_, err := c.js.PublishAsync(broker.WorkSubject(c.Campaign, placeOf(o.Batch), o.name()), text)
		if err == nil || !errors.Is(err, jetstream.ErrTooManyStalledMsgs) {
			return err
		}
		if !pause(ctx, c.terms.pause) {
			return context.Cause(ctx)
		}
	}
}

// underWay returns the names of the batches that are in the stream of work or in that of results. It asks for work first: a
// batch leaves that stream when its result is in the other one.
func (c *Coordinator) underWay(ctx context.Context) (map[string]bool, error) {
	under := map[string]bool{}
	for _, place := range [][2]string{{broker.WorkStream, broker.WorkSubject(c.Campaign, "*", "*")}, {broker.ResultStream, broker.ResultSubject(c.Campaign, "*", "*")}} {
		s, err := c.js.Stream(ctx, place[0])
		if err != nil {
			return nil, err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(place[1]))
		if err != nil {
			return nil, err
		}
		for subject := range info.State.Subjects {
			under[subject[lastToken(subject):]] = true
		}
	}
	return under, nil
}

// await waits until everything is done. When nothing has come for a while it looks for what has got lost.
func (c *Coordinator) await(ctx context.Context) error {
	audits := time.NewTicker(c.terms.audit)
	defer audits.Stop()
	var end <-chan time.Time
	if !c.End.IsZero() {
		timer := time.NewTimer(time.Until(c.End))
		defer timer.Stop()
		end = timer.C
	}
	for {
		c.mu.Lock()
		over, err := c.left == 0 && c.checks == 0, c.unpublished
		c.mu.Unlock()
		if over || err != nil {
			return err
		}
		if !c.End.IsZero() && c.forsaken(time.Now()) {
			return c.over()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return c.over()
		case <-c.changed:
		case <-audits.C:
			if err := c.audit(ctx); err != nil && !passes(err) {
				return err
			}
		}
	}
}
