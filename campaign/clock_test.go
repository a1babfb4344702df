package campaign

import (
	"context"
	"testing"
	"time"

	"wiretime/campaign/broker"
)

// TestClocksAreCompared: a worker finds out how far its clock is ahead, within the bound, over real NATS with its own rights. The
// clocks are this machine's, shifted.
func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	coordinator, err := f.server.Coordinator(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer coordinator.Close()
	w := f.worker("w", maker{})
	ask := func(shift time.Duration) (Comparison, error) {
		return compare(f.ctx, w.Conn, "c", w.Name, func() time.Time { return time.Now().Add(shift) })
	}
	if c, err := ask(0); err == nil {
		t.Errorf("nobody tells the time, and the comparison is %+v", c)
	}
	for _, ahead := range []time.Duration{0, 1500 * time.Millisecond, -time.Hour, 36 * time.Hour} {
		silent, err := tellTime(coordinator, "c", func() time.Time { return time.Now().Add(time.Minute) })
		if err != nil {
			t.Fatal(err)
		}
		if err := coordinator.Flush(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		c, err := ask(ahead + time.Minute)
		silent()
		if err != nil {
			t.Fatal(err)
		}
		if c.Bound <= 0 || c.Bound > answerTerm || (c.Offset-ahead).Abs() > c.Bound {
			t.Errorf("a clock that is %v ahead seems to be %v +- %v ahead", ahead, c.Offset, c.Bound)
		}
		if made := c.Made.Sub(began.Add(time.Minute)); made < 0 || made > questions*answerTerm {
			t.Errorf("the comparison was made %v after it began", made)
		}
	}
}

// TestOnlyWhoAsksIsTold: a coordinator, which may do anything, sends its answer nowhere but to the inbox of the worker that asks.
func TestOnlyWhoAsksIsTold(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	js := f.setup()
	silent, err := tellTime(js.Conn(), "c", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer silent()
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	w := f.worker("w", maker{})
	for _, reply := range []string{broker.ResultSubject("c", "other", "0"), "$JS.API.STREAM.DELETE." + broker.WorkStream} {
		if err := w.Conn.PublishRequest(broker.TimeSubject("c", "w"), reply, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := compare(f.ctx, w.Conn, "c", "w", time.Now); err != nil { // these questions came after those
		t.Fatal(err)
	}
	for _, name := range []string{broker.WorkStream, broker.ResultStream} {
		s, err := js.Stream(context.WithoutCancel(f.ctx), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n > 0 {
			t.Errorf("an answer came into %s", name)
		}
	}
}
