package runner

import (
	"encoding/json"
	"fmt"
	"time"

	"wiretime/store"
	"wiretime/study"
)

// slotsKey is the key of the schedule's slots in the environment.
const slotsKey = "slots"

// WithSlots adds the slots of a schedule to the environment of a run.
func WithSlots(environment json.RawMessage, slots *study.Slots) (json.RawMessage, error) {
	var e map[string]any
	if err := json.Unmarshal(environment, &e); err != nil {
		return nil, fmt.Errorf("add the slots to the environment: %w", err)
	}
	e[slotsKey] = slots
	return json.Marshal(e)
}

// SlotsOf returns the slots of a run's schedule, nil if it has none.
func SlotsOf(environment json.RawMessage) *study.Slots {
	var e struct {
		Slots *study.Slots `json:"slots"`
	}
	if err := json.Unmarshal(environment, &e); err != nil || e.Slots == nil || e.Slots.Repeats < 1 || len(e.Slots.Times) == 0 {
		return nil
	}
	if n := len(e.Slots.From); n > 0 && n != len(e.Slots.Times) {
		return nil
	}
	return e.Slots
}

// Forgo ends a run whose schedule is over. Its loads that are still pending were not carried out in their slot and never
// will be: they are kept as failed, with the reason that why gives for each slot, by its number.
func Forgo(st *store.Store, run int64, slots *study.Slots, why func(slot int) string) error {
	waiting, err := st.Pending(run)
	if err != nil {
		return err
	}
	records := make([]store.LoadRecord, 0, len(waiting))
	for _, p := range waiting {
		slot := slots.Of(p.Repeat)
		if slot < 1 || slot > len(slots.Times) {
			return fmt.Errorf("end run %d: load %d of its plan is in slot %d of %d: %w", run, p.Index, slot, len(slots.Times), store.ErrDamaged)
		}
		records = append(records, store.LoadRecord{
			Planned: p, Attempt: p.Attempts + 1, Started: slots.Times[slot-1], Validity: store.Failed, Reason: why(slot), Final: true,
		})
	}
	if len(records) > 0 {
		if err := st.Commit(records...); err != nil {
			return err
		}
	}
	return st.FinishRun(run, time.Now())
}
