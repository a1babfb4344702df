package runner

import (
	"errors"
	"fmt"

	"wiretime/store"
	"wiretime/study"
)

// Batch is the loads that one guest makes in one boot. Carried out anywhere by the same programs it leaves the same bytes.
type Batch struct {
	Number int // within its slot, from 0; part of the guest's seed
	Loads  []BatchLoad
}

// BatchLoad is a planned load of a batch.
type BatchLoad struct {
	ID       int64 `json:"-"` // row ID in the store
	Index    int   // place in the plan, from 0
	Cell     int   // place among the run's cells, from 0
	Repeat   int   // from 0
	Seed     uint64
	Done     bool `json:",omitzero"` // no further attempt is needed
	Attempts int  `json:",omitzero"` // that the store already holds
}

// Pending reports whether a load of the batch needs an attempt.
func (b Batch) Pending() bool {
	for _, l := range b.Loads {
		if !l.Done {
			return true
		}
	}
	return false
}

// ErrOtherClock is wrapped by the error for a run that has loads on another clock than the virtual one.
var ErrOtherClock = errors.New("only loads on the virtual clock can be divided into batches")

// Divide returns the batches of a run whose loads are all on the virtual clock, in the order of the plan, and the run's
// cells. It has the loads that cannot run kept as unsupported, and leaves them out, as Run does.
func Divide(c Config) (all []Batch, cells []study.Cell, err error) {
	r := &run{Config: c, keeper: c.Store}
	r.Report = func(Attempt) {}
	if cells, err = c.Store.Cells(c.Run); err != nil {
		return nil, nil, err
	}
	if err := r.shareAmong(cells); err != nil {
		return nil, nil, err
	}
	at := make(map[string]int, len(cells))
	for i, cell := range cells {
		if cell.Clock() != study.ClockVirtual {
			return nil, nil, fmt.Errorf("%w: cell %s is on the %s clock", ErrOtherClock, cell.Key(), cell.Clock())
		}
		at[cell.Key()] = i
	}
	var d division
	var session []*job
	place := func() {
		if len(session) == 0 {
			return
		}
		boot, number := d.place(session)
		if boot == len(all) {
			all = append(all, Batch{Number: number})
		}
		for _, j := range session {
			p := j.planned
			all[boot].Loads = append(all[boot].Loads, BatchLoad{p.ID, p.Index, at[p.Cell.Key()], p.Repeat, p.Seed, p.Done, p.Attempts})
		}
		session = nil
	}
	var unable []*job
	planned := 0
	err = c.Store.EachPlanned(c.Run, func(p store.Planned) error {
		planned++
		j, err := r.job(p)
		if err != nil {
			return err
		}
		if r.unsupported(j) != "" {
			unable = append(unable, j)
			return nil
		}
		if p.Cell.Load() <= 1 {
			place()
		}
		session = append(session, j)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	place()
	r.pace = newPace(pending(unable), planned)
	for _, j := range pending(unable) {
		if err := r.keepUnsupported(j, r.unsupported(j)); err != nil {
			return nil, nil, err
		}
	}
	return all, cells, nil
}

// shareAmong sets what the stations of a run with these cells have in common.
func (r *run) shareAmong(cells []study.Cell) error {
	queue := make([]*job, len(cells))
	for i, c := range cells {
		j, err := r.job(store.Planned{Run: r.Run, Cell: c})
		if err != nil {
			return err
		}
		queue[i] = j
	}
	return r.share(queue)
}
