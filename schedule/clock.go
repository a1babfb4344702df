package schedule

import (
	"context"
	"time"

	"wiretime/machine"
)

// Clock is what the slots of a schedule go by.
type Clock interface {
	Now() time.Time
	// Wait returns at a moment, or earlier if the clock was set or the machine was suspended meanwhile. The error
	// is that of ctx, or of the machine.
	Wait(ctx context.Context, until time.Time) (Disturbed, error)
	// Asleep returns for how long the machine has been suspended since it was started.
	Asleep() time.Duration
	// Booted returns when the machine was started, zero if the clock has no machine.
	Booted() time.Time
}

// Disturbed says what happened during a wait.
type Disturbed struct {
	Set    bool          // somebody set the clock
	Asleep time.Duration // for how long the machine was suspended
}

// Wall returns this machine's clock.
func Wall() Clock { return wall{} }

type wall struct{}

// Now leaves out the monotonic reading: differences are those of a clock on the wall.
func (wall) Now() time.Time { return time.Now().Round(0) }

func (wall) Wait(ctx context.Context, until time.Time) (Disturbed, error) {
	before, err := machine.Asleep()
	if err != nil {
		return Disturbed{}, err
	}
	set, err := machine.WaitUntil(ctx, until)
	if err != nil {
		return Disturbed{}, err
	}
	after, err := machine.Asleep()
	// Linux reports a resumption as a clock that was set.
	return Disturbed{Set: set && after-before < time.Second, Asleep: (after - before).Truncate(time.Second)}, err
}

func (wall) Asleep() time.Duration {
	asleep, _ := machine.Asleep() // it is for people's eyes
	return asleep
}

func (wall) Booted() time.Time { return machine.Booted() }

// Virtual is a clock that jumps to whatever is waited for. It belongs to one goroutine.
type Virtual struct{ Time time.Time }

// Now implements Clock.
func (v *Virtual) Now() time.Time { return v.Time }

// Wait implements Clock. It waits for nothing.
func (v *Virtual) Wait(ctx context.Context, until time.Time) (Disturbed, error) {
	if until.After(v.Time) {
		v.Time = until
	}
	return Disturbed{}, context.Cause(ctx)
}

// Asleep implements Clock.
func (*Virtual) Asleep() time.Duration { return 0 }

// Booted implements Clock.
func (*Virtual) Booted() time.Time { return time.Time{} }
