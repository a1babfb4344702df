package campaign

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
)

// send sends what a batch has left and acknowledges the batch.
func (c *carriedOut) send(ctx context.Context) error {
	defer c.abandon()
	r := result{ID: c.plan.ID, Failed: c.failed, Clock: c.clock}
	if c.failed == "" {
		parcel, err := c.pack(&r)
		if err != nil {
			_ = c.message.NakWithDelay(c.terms.pause)
			return fmt.Errorf("send batch %s: %w", c.order.name(), err)
		}
		r.Parcel, err = c.put(ctx, parcel, r.Octets)
		err = errors.Join(err, parcel.Close())
		if errors.Is(err, errTooLarge) {
			r, err = result{ID: c.plan.ID, Failed: err.Error()}, nil
		}
		if err != nil {
			_ = c.message.Nak()
			return fmt.Errorf("send batch %s: %w", c.order.name(), err)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	subject, id := broker.ResultSubject(c.plan.Campaign, c.Name, c.order.name()), cryptorand.Text() // another worker must not guess the ID and use it first
	if err := persist(ctx, c.terms.pause, func() error {
		_, err := c.js.Publish(ctx, subject, text, jetstream.WithMsgID(id))
		return err
	}); err != nil {
		_ = c.message.Nak()
		return fmt.Errorf("send the result of batch %s: %w", c.order.name(), err)
	}
	c.count(func() { c.batches++; c.done[c.order.Batch.Loads[0].Index] = true })
	return c.message.DoubleAck(ctx)
}

// errTooLarge says that an object store has less room than a parcel needs.
var errTooLarge = errors.New("what the batch has left is too large for the campaign's object store")

// put puts a parcel into the object store once there is room for it.
func (c *carriedOut) put(ctx context.Context, parcel *os.File, octets int64) (name string, err error) {
	need := broker.OctetsInRoom(octets)
	err = persist(ctx, c.terms.pause, func() error {
		left, all, err := broker.ArtefactRoom(ctx, c.js)
		switch {
		case err != nil:
			return err
		case all >= 0 && need > all:
			return fmt.Errorf("%w: it needs %d octets, and there are %d in all; run the campaign with a larger --room", errTooLarge, need, all)
		case all >= 0 && need > left:
			return errNoRoom
		}
		if _, err := parcel.Seek(0, io.SeekStart); err != nil {
			return err
		}
		name, err = broker.PutArtefact(ctx, c.js, parcel)
		if broker.IsFull(err) {
			// Others were faster, and what this upload has left takes room until the coordinator sweeps it away. Who all try
			// again at the same time never come to an end.
			pause(ctx, rand.N(c.terms.upload))
		}
		return err
	})
	return name, err
}

// errNoRoom says that a parcel has to wait.
var errNoRoom = errors.New("the object store is full")

// persist does what may fail because NATS is away or a bucket is full, until it is done or ctx ends.
func persist(ctx context.Context, between time.Duration, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !passes(err) {
			return err
		}
		if !pause(ctx, between) {
			return context.Cause(ctx)
		}
	}
}

// passes reports whether an error may pass: NATS is away, busy or full.
func passes(err error) bool {
	return errors.Is(err, errNoRoom) || broker.IsFull(err) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// pack packs what a batch has left into a file, and describes it in the result. The file is deleted when it is closed.
func (c *carriedOut) pack(r *result) (*os.File, error) {
	file, err := os.CreateTemp(c.service.dir, "parcel-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	ids := make([]string, len(c.records))
	for i, record := range c.records {
		ids[i] = record.ID()
	}
	bare := c.plan.Bare || c.order.Copy > 0
	if err = pack(file, attemptsOf(c.records), ids, c.dir, bare); err == nil {
		r.Octets, err = file.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
