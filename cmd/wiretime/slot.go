package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wiretime/runner"
	"wiretime/schedule"
	"wiretime/store"
	"wiretime/study"
)

// slotFlags are the flags by which 'wiretime schedule' has this program carry out one slot of a study.
func slotFlags(c *cobra.Command, o *runOptions) {
	c.Flags().StringVar(&o.diary, diaryFlag, "", "diary of the schedule that the study runs on")
	c.Flags().IntVar(&o.slot, slotFlag, 0, "slot of the schedule to carry out")
	c.Flags().BoolVar(&o.relay, relayFlag, false, "leave it to the schedule to show the line that changes")
	for _, name := range []string{diaryFlag, slotFlag, relayFlag} {
		_ = c.Flags().MarkHidden(name) // it exists
	}
	c.MarkFlagsRequiredTogether(diaryFlag, slotFlag)
	c.MarkFlagsMutuallyExclusive(slotFlag, "resume")
	c.MarkFlagsMutuallyExclusive(slotFlag, "repeats")
}

const (
	diaryFlag = "schedule-diary"
	slotFlag  = "schedule-slot"
	relayFlag = "schedule-relay"

	// serverFlag has 'wiretime campaign run' use the schedule's NATS server.
	serverFlag = "schedule-server"
)

// useSlots has the study measured once in each slot of the schedule.
func useSlots(o runOptions, s *study.Study) error {
	d, err := schedule.Read(o.diary)
	if err != nil {
		return err
	}
	if o.slot > len(d.Slots) {
		return input(fmt.Errorf("carry out slot %d: schedule %s has %d slots", o.slot, d.Schedule, len(d.Slots)))
	}
	slots := &study.Slots{Diary: d.ID, Schedule: d.Schedule, Repeats: s.Repeats}
	for i := range d.Slots {
		slots.Times = append(slots.Times, d.Slots[i].At)
		if d.Clock == schedule.ClockVirtual {
			slots.From = append(slots.From, d.Slots[i].Since)
		}
	}
	s.UseSlots(slots)
	return nil
}

// checkVirtual returns an error if loads of a study cannot begin in the middle of their path's time.
func checkVirtual(s *study.Study) error {
	if s.Workload != study.Pages() && s.Workload != study.Uploads() {
		return fmt.Errorf("study %s: on a schedule with clock: virtual, only studies of pages and uploads can run", s.Name)
	}
	for _, p := range s.Networks {
		if len(p.Handovers()) > 0 {
			return fmt.Errorf("study %s: network %s has handovers, which loads can meet from the beginning only; leave clock: virtual out of the schedule", s.Name, p.Name)
		}
	}
	return nil
}

// runOfDiary returns the run that the schedule with that diary has begun in a store, and whether there is one.
func runOfDiary(st *store.Store, diary string) (store.Run, bool, error) {
	runs, err := st.Runs()
	if err != nil {
		return store.Run{}, false, err
	}
	for _, run := range runs {
		if slots := runner.SlotsOf(run.Environment); slots != nil && slots.Diary == diary {
			return run, true, nil
		}
	}
	return store.Run{}, false, nil
}

// sameStudy returns an error if the study is not the one with which a schedule's run began.
func sameStudy(o runOptions, s *study.Study, run store.Run, err error) error {
	if err == nil && run.StudyText != string(s.Source) {
		err = input(fmt.Errorf("go on with run %d of store %s: study %s has changed since its schedule began; change it back, or give the schedule another name or store", run.ID, o.store, o.study))
	}
	return err
}

// pendingInSlot returns how many loads of the slot need an attempt.
func pendingInSlot(o runOptions, st *store.Store, run int64, s *study.Study) (n int, err error) {
	if o.slot == 0 {
		return 0, nil
	}
	waiting, err := st.Pending(run)
	for _, p := range waiting {
		if s.Options.Slots.Of(p.Repeat) == o.slot {
			n++
		}
	}
	return n, err
}

// checkSlot returns an error if loads of the slot ended without a valid attempt.
func checkSlot(pending, counted int) error {
	if lacking := pending - counted; lacking > 0 {
		return fmt.Errorf("%d of the slot's %d loads have no valid attempt; 'wiretime export csv' has the reason of each", lacking, pending)
	}
	return nil
}

// failedLoads returns how many loads of a run ended without a valid attempt.
func failedLoads(st *store.Store, run int64) (n int, err error) {
	results, err := st.Results(run)
	if err != nil {
		return 0, err
	}
	for _, r := range results {
		n += max(0, r.Planned-r.Valid-r.Unsupported)
	}
	waiting, err := st.Pending(run)
	return n - len(waiting), err
}

// endOfSlot returns when the slot is over; zero without one.
func endOfSlot(o runOptions) (time.Time, error) {
	if o.slot == 0 {
		return time.Time{}, nil
	}
	d, err := schedule.Read(o.diary)
	if err != nil {
		return time.Time{}, err
	}
	return d.End(&d.Slots[o.slot-1]), nil
}

// continuation is the command that goes on with an interrupted run.
func continuation(verb string, o runOptions, s *study.Study) string {
	if o.slot > 0 {
		return "schedule " + s.Options.Slots.Schedule
	}
	return verb + " --resume --store " + o.store
}

// endRun ends the run of a schedule that is over, in the store of one of its studies. What was not carried out in its slot
// is kept as failed.
func endRun(dir string, d *schedule.Diary) (err error) {
	st, err := store.Open(dir, store.Write)
	if errors.Is(err, store.ErrNotStore) {
		return nil // no slot was begun
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	run, begun, err := runOfDiary(st, d.ID)
	if err != nil || !begun || !run.Finished.IsZero() {
		return err
	}
	return runner.Forgo(st, run.ID, runner.SlotsOf(run.Environment), func(slot int) string {
		s := d.Slots[slot-1]
		why := s.Why
		if why == "" {
			why = "it was left out"
		}
		return fmt.Sprintf("slot %d, %s, %s: %s", slot, s.At.Format(slotTime), s.State, why)
	})
}

// slotTime is how people are shown the time of a slot.
const slotTime = "Mon " + time.DateOnly + " 15:04"
