package campaign

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"wiretime/campaign/broker"
)

// Comparison says how far a worker's clock is ahead of its coordinator's.
type Comparison struct {
	Offset time.Duration // negative if it is behind
	Bound  time.Duration // how far Offset can be wrong, in either direction
	Made   time.Time     // by the coordinator's clock
}

const (
	// compareEvery is the time between two comparisons of a worker's clock.
	compareEvery = 10 * time.Minute
	// questions is how often a comparison asks for the time. The answer that came soonest counts.
	questions = 8
	// answerTerm is how long one answer may take.
	answerTerm = 2 * time.Second
)

// tellTime answers the workers of a campaign that ask for the time, in nanoseconds since 1970, until the returned function is
// called.
func tellTime(conn *nats.Conn, campaign string, now func() time.Time) (stop func(), err error) {
	asked, err := conn.Subscribe(broker.TimeSubject(campaign, "*"), func(m *nats.Msg) {
		if _, ok := broker.Asker(m.Subject, m.Reply); ok {
			_ = m.Respond(strconv.AppendInt(nil, now().UnixNano(), 10)) // whoever gets no answer asks again
		}
	})
	if err != nil {
		return nil, fmt.Errorf("tell the workers of campaign %s the time: %w", campaign, err)
	}
	return func() { _ = asked.Unsubscribe() }, nil // it fails only without a connection
}

// compare compares a worker's clock with that of a campaign's coordinator. The coordinator read its clock at some moment between
// a question and its answer, by both clocks; Offset takes the middle.
func compare(ctx context.Context, conn *nats.Conn, campaign, worker string, now func() time.Time) (best Comparison, err error) {
	var errs []error
	for range questions {
		one, err := ask(ctx, conn, campaign, worker, now)
		switch {
		case ctx.Err() != nil:
			return Comparison{}, context.Cause(ctx)
		case err != nil:
			errs = append(errs, err)
			if len(errs) > 1 {
				return Comparison{}, fmt.Errorf("compare this machine's clock with the coordinator's: %w", errors.Join(errs...))
			}
		case best.Made.IsZero() || one.Bound < best.Bound:
			best = one
		}
	}
	return best, nil
}

func ask(ctx context.Context, conn *nats.Conn, campaign, worker string, now func() time.Time) (Comparison, error) {
	limited, cancel := context.WithTimeout(ctx, answerTerm)
	defer cancel()
	asked := now()
	m, err := conn.RequestWithContext(limited, broker.TimeSubject(campaign, worker), nil)
	if err != nil {
		return Comparison{}, err
	}
	trip := now().Sub(asked) // by the monotonic clock
	ns, err := strconv.ParseInt(string(m.Data), 10, 64)
	if err != nil {
		return Comparison{}, fmt.Errorf("the coordinator answered %.40q: %w", m.Data, err)
	}
	told := time.Unix(0, ns)
	return Comparison{Offset: asked.Add(trip / 2).Sub(told), Bound: (trip + 1) / 2, Made: told}, nil
}

// compareClock compares this worker's clock with the coordinator's, and returns the last comparison that succeeded; nil if none
// has.
func (s *service) compareClock(ctx context.Context) *Comparison {
	if made, err := compare(ctx, s.Conn, s.plan.Campaign, s.Name, time.Now); err == nil {
		s.count(func() { s.clock = &made })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// keepComparing compares the clocks now and again until ctx ends.
func (s *service) keepComparing(ctx context.Context) {
	ticks := time.NewTicker(compareEvery)
	defer ticks.Stop()
	for {
		s.compareClock(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// noteClock notes how far a worker's clock was ahead when it began a batch; nil: it did not compare it.
func (c *Coordinator) noteClock(worker string, made *Comparison) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, there := c.states[worker]; there && made != nil && (s.Clock == nil || s.Clock.Made.Before(made.Made)) {
		s.Clock = made
		c.states[worker] = s
	}
}
