package schedule

import (
	"fmt"
	"time"
)

// Grace is how late a slot may begin. One that cannot begin by then is missed.
const Grace = time.Minute

// circumstances are what may have kept a slot from its time.
type circumstances struct {
	started time.Time     // when the program was
	booted  time.Time     // when the machine was; zero: unknown
	set     bool          // the clock was set since the slots were last looked at
	asleep  time.Duration // for how long the machine was suspended since then
}

// decide looks at the slots at a moment. It returns the slot that is to begin now, or nil and the time of the next
// one, or zero after the last. Waiting slots whose time has gone by become missed. Missed ones whose time is
// still to come, because somebody has set the clock back, wait again: they never ran. changed lists the slots that
// have become missed or wait again.
func (d *Diary) decide(now time.Time, c circumstances) (due *Slot, next time.Time, changed []*Slot) {
	for i := range d.Slots {
		s := &d.Slots[i]
		switch ahead := s.At.After(now); {
		case s.State == Missed && ahead:
			s.State, s.Why = Waiting, ""
			changed = append(changed, s)
		case s.State == Waiting && now.Sub(s.At) > Grace:
			s.State, s.Why = Missed, d.why(s, c)
			changed = append(changed, s)
		}
		if s.State != Waiting || due != nil || !next.IsZero() {
			continue
		}
		if s.At.After(now) {
			next = s.At
		} else {
			due = s
		}
	}
	return due, next, changed
}

// why says what kept a slot from its time.
func (d *Diary) why(s *Slot, c circumstances) string {
	for i := range d.Slots {
		if o := &d.Slots[i]; !o.Began.IsZero() && o.Began.Before(s.At) && o.Ended.After(s.At) {
			return fmt.Sprintf("slot %d was still running, until %s", o.Number, clockTime(o.Ended, s.At.Location()))
		}
	}
	switch {
	case s.At.Before(c.booted):
		return fmt.Sprintf("the machine was off, or not yet up: it was started at %s", clockTime(c.booted, s.At.Location()))
	case s.At.Before(c.started):
		return fmt.Sprintf("the program was not running: it was started at %s", clockTime(c.started, s.At.Location()))
	case c.asleep > 0:
		return fmt.Sprintf("the machine was suspended, for %v", c.asleep.Round(time.Second))
	case c.set:
		return "the clock was set forward over it"
	}
	return "the program was held up"
}

// clockTime writes a moment as a clock in a zone shows it.
func clockTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02 15:04:05")
}

// interrupted returns the slot that was running when the program ended, nil if none was.
func (d *Diary) interrupted() *Slot {
	for i := range d.Slots {
		if d.Slots[i].State == Running {
			return &d.Slots[i]
		}
	}
	return nil
}

// lastSlot is how long the last slot of a schedule lasts: there is no next one.
const lastSlot = 24 * time.Hour

// End returns when a slot is over: at the next one. A slot that runs is not cut short by that, but one that was
// interrupted is not continued afterwards.
func (d *Diary) End(s *Slot) time.Time {
	if s.Number < len(d.Slots) {
		return d.Slots[s.Number].At
	}
	return s.At.Add(lastSlot)
}
