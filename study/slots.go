package study

import "time"

// Slots divides the repeats of a run among the slots of a schedule, in their order.
type Slots struct {
	Diary    string `json:"diary"`    // ID of the schedule's diary
	Schedule string `json:"schedule"` // the schedule's name
	Repeats  int    `json:"repeats"`  // of each slot: those of the study
	// Times are the slots' moments.
	Times []time.Time `json:"times"`
	// From is the path's time at which the loads of each slot begin; empty: 0.
	From []time.Duration `json:"from_ns,omitempty"`
}

// UseSlots has the study measured once in each slot.
func (s *Study) UseSlots(slots *Slots) {
	s.Repeats = slots.Repeats * len(slots.Times)
	s.Options.Slots = slots
}

// Of returns the number of the slot, from 1, that a repeat, from 0, belongs to. It returns 0 without slots.
func (s *Slots) Of(repeat int) int {
	if s == nil {
		return 0
	}
	return repeat/s.Repeats + 1
}

// PathTime returns the path's time at which the loads of a repeat begin.
func (s *Slots) PathTime(repeat int) time.Duration {
	if s == nil || len(s.From) == 0 {
		return 0
	}
	return s.From[s.Of(repeat)-1]
}
