package schedule

import (
	"context"
	"fmt"
	"time"
)

// Config says how a schedule is carried out.
type Config struct {
	Diary *Diary
	Clock Clock
	// Carry carries a slot out. It is called again with a slot that was interrupted, by the end of ctx or of the
	// program, if that slot is not over; it then goes on with what is not done. An error says what is not done and why.
	Carry func(ctx context.Context, s Slot) error
	// Report is called with each slot that begins, ends, is missed, or waits again after the clock was set back.
	Report func(Slot)
	// Await is called before a wait, with the slot's time. It may be nil.
	Await func(time.Time)
	// Warn is called with errors that do not end the schedule, such as a full disk.
	Warn func(error)
}

// Run carries out the slots of a schedule from where its diary ends, and returns when all of them are done, failed or
// missed. When ctx ends, it returns the cause, and a slot under way can be continued. No slot is carried out twice.
func Run(ctx context.Context, c Config) error {
	r := &running{Config: c, c: circumstances{started: c.Clock.Now(), booted: c.Clock.Booted()}}
	if s := c.Diary.interrupted(); s != nil {
		if err := r.resume(ctx, s); err != nil {
			return err
		}
	}
	for {
		due, next, changed := c.Diary.decide(c.Clock.Now(), r.c)
		for _, s := range changed {
			c.Report(*s)
		}
		r.c.set, r.c.asleep = false, 0
		if len(changed) > 0 || !c.Diary.Begun() {
			r.save()
		}
		var err error
		switch {
		case due != nil:
			err = r.carry(ctx, due)
		case next.IsZero():
			return c.Diary.Save()
		default:
			err = r.wait(ctx, next)
		}
		if err != nil {
			return err
		}
	}
}

// running is a schedule under way.
type running struct {
	Config
	c circumstances
}

// resume goes on with a slot that was interrupted, unless it is over.
func (r *running) resume(ctx context.Context, s *Slot) error {
	if now := r.Clock.Now(); !now.Before(r.Diary.End(s)) {
		s.State, s.Ended = Failed, now
		s.Why = "it was interrupted, and was over before the program was started again, at " + clockTime(now, s.At.Location())
		r.Report(*s)
		r.save()
		return nil
	}
	return r.carry(ctx, s)
}

// carry carries a slot out. What the slot is about to do is on the disk first: a program that is killed knows later
// that the slot had begun.
func (r *running) carry(ctx context.Context, s *Slot) error {
	if s.State != Running {
		s.State, s.Began = Running, r.Clock.Now()
		if err := r.Diary.Save(); err != nil {
			s.State, s.Ended, s.Why = Failed, s.Began, fmt.Sprintf("it was not begun, because what became of it could not be kept: %v", err)
			r.Report(*s)
			return nil
		}
	}
	r.Report(*s)
	asleep := r.Clock.Asleep()
	err := r.Carry(ctx, *s)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.State, s.Ended = Done, r.Clock.Now()
	s.Asleep += (r.Clock.Asleep() - asleep).Truncate(time.Second)
	if err != nil {
		s.State, s.Why = Failed, err.Error()
	}
	r.Report(*s)
	r.save()
	return nil
}

func (r *running) wait(ctx context.Context, until time.Time) error {
	if r.Await != nil {
		r.Await(until)
	}
	disturbed, err := r.Clock.Wait(ctx, until)
	r.c.set, r.c.asleep = disturbed.Set, disturbed.Asleep
	return err
}

// save keeps the diary. If that fails, the next change tries again.
func (r *running) save() {
	if err := r.Diary.Save(); err != nil {
		r.Warn(err)
	}
}
