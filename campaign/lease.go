package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
)

// ErrCoordinated is wrapped by the error for a campaign that another coordinator runs.
var ErrCoordinated = errors.New("another coordinator runs this campaign")

// holder is who holds a lease.
type holder struct {
	ID    string // of the run
	Host  string
	PID   int
	Since time.Time
}

func (h holder) String() string {
	return fmt.Sprintf("process %d on %.80q, since %s", h.PID, h.Host, h.Since.Format(time.DateTime))
}

// lease is what a coordinator holds while it runs: a value under the campaign's key that it writes again and again. Another
// coordinator takes it over only when the value has stayed the same for the whole term by its own monotonic clock, so nothing
// depends on what the machines believe the time is.
type lease struct {
	bucket   jetstream.KeyValue
	key      string
	value    []byte
	term     time.Duration
	revision uint64
}

// takeLease takes the lease of a campaign. While another coordinator seems to hold it, takeLease waits for the term, and
// then either takes over or fails with ErrCoordinated. waiting is called before it waits.
func takeLease(ctx context.Context, bucket jetstream.KeyValue, campaign, id string, term time.Duration, waiting func(holder string)) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("take the lease of campaign %s: %w", campaign, err)
	}
	value, err := json.Marshal(holder{ID: id, Host: host, PID: os.Getpid(), Since: time.Now()})
	if err != nil {
		return nil, fmt.Errorf("take the lease of campaign %s: %w", campaign, err)
	}
	l := &lease{bucket: bucket, key: broker.CoordinatorKey(campaign), value: value, term: term}
	if err := l.take(ctx, id, waiting); err != nil {
		return nil, fmt.Errorf("take the lease of campaign %s: %w", campaign, err)
	}
	return l, nil
}

func (l *lease) take(ctx context.Context, id string, waiting func(string)) (err error) {
	l.revision, err = l.bucket.Create(ctx, l.key, l.value)
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	found, err := l.bucket.Get(ctx, l.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		l.revision, err = l.bucket.Create(ctx, l.key, l.value)
		return err
	}
	if err != nil {
		return err
	}
	var other holder
	if err := json.Unmarshal(found.Value(), &other); err != nil {
		return fmt.Errorf("read who holds it: %w", err)
	}
	if other.ID != id {
		return fmt.Errorf("%w, for another study or store: %s; give this one another name with --name", ErrCoordinated, other)
	}
	waiting(other.String())
	renewed, err := l.renewed(ctx, found.Revision())
	if err != nil {
		return err
	}
	if renewed {
		return fmt.Errorf("%w: %s", ErrCoordinated, other)
	}
	l.revision, err = l.bucket.Update(ctx, l.key, l.value, found.Revision())
	if isWrongRevision(err) {
		return fmt.Errorf("%w: it has just taken over from %s", ErrCoordinated, other)
	}
	return err
}

// renewed watches the lease for its term and reports whether its holder lives.
func (l *lease) renewed(ctx context.Context, revision uint64) (bool, error) {
	watcher, err := l.bucket.Watch(ctx, l.key, jetstream.UpdatesOnly())
	if err != nil {
		return false, err
	}
	defer func() { _ = watcher.Stop() }()
	term := time.NewTimer(l.term)
	defer term.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-term.C:
			return false, nil
		case update := <-watcher.Updates():
			if update != nil && update.Revision() > revision && update.Operation() == jetstream.KeyValuePut {
				return true, nil
			}
		}
	}
}

// hold renews the lease until ctx ends. It returns an error wrapping ErrCoordinated when another coordinator has it. While
// NATS cannot be reached it tries again: nobody else can take the lease then either, except on the other side of a partition,
// and nothing can be acknowledged across that.
func (l *lease) hold(ctx context.Context) error {
	ticks := time.NewTicker(heartbeat(l.term))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		limited, cancel := context.WithTimeout(ctx, heartbeat(l.term))
		revision, err := l.bucket.Update(limited, l.key, l.value, l.revision)
		cancel()
		switch {
		case err == nil:
			l.revision = revision
		case isWrongRevision(err):
			// An update whose answer was lost has raised the revision, too.
			found, err := l.bucket.Get(ctx, l.key)
			if err == nil && string(found.Value()) != string(l.value) {
				return fmt.Errorf("%w: it has taken the lease over", ErrCoordinated)
			}
			if err == nil {
				l.revision = found.Revision()
			}
		}
	}
}

// release gives the lease back, so that the next coordinator need not wait.
func (l *lease) release(ctx context.Context) error {
	err := l.bucket.Delete(ctx, l.key, jetstream.LastRevision(l.revision))
	if err != nil && !isWrongRevision(err) {
		return fmt.Errorf("give back the lease %s: %w", l.key, err)
	}
	return nil
}

// isWrongRevision reports whether JetStream refused a write because the key has changed meanwhile.
func isWrongRevision(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
