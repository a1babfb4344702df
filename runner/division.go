package runner

import (
	"errors"
	"fmt"

	"wiretime/store"
	"wiretime/study"
)

// Batch is loads that are carried out together: on the virtual clock those that one guest makes in one boot, which anywhere by
// the same programs leave the same bytes; on the other clocks some loads of one place.
type Batch struct {
	Number int    // within its slot, from 0; part of the guest's seed
	At     string `json:",omitzero"` // the place whose workers carry it out (study.AxisAt); empty: any
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

// ErrNoPlace is wrapped by the error for a run that has loads on another clock than the virtual one and names no places for them.
var ErrNoPlace = errors.New("on the real and the live clock a figure is that of a place")

// Divide returns the batches of a run or of its slot, in the order of the plan, and the run's cells. All loads are on the virtual clock, or at
// places. It has the loads that can run nowhere kept as unsupported, and leaves them out, as Run does.
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
		if cell.Clock() != study.ClockVirtual && !cell.Unusual(study.AxisAt) {
			return nil, nil, fmt.Errorf("%w: cell %s is on the %s clock; name places in the study, as in at: [frankfurt]", ErrNoPlace, cell.Key(), cell.Clock())
		}
		at[cell.Key()] = i
	}
	var d batching
	var session []*job
	place := func() {
		if len(session) == 0 {
			return
		}
		b := d.batchOf(session)
		for _, j := range session {
			p := j.planned
			b.Loads = append(b.Loads, BatchLoad{p.ID, p.Index, at[p.Cell.Key()], p.Repeat, p.Seed, p.Done, p.Attempts})
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
		if j.slot > 0 && j.slot != c.Slot {
			return nil
		}
		if r.unsupportedAnywhere(j) != "" {
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
		if err := r.keepUnsupported(j, r.unsupportedAnywhere(j)); err != nil {
			return nil, nil, err
		}
	}
	return d.all, cells, nil
}

// unsupportedAnywhere returns why a job can run at no worker, "" if it may. On the virtual clock that does not depend on the
// machine.
func (r *run) unsupportedAnywhere(j *job) string {
	if j.planned.Cell.Clock() == study.ClockVirtual {
		return r.unsupported(j)
	}
	return j.Unsupported
}

// mostAtPlace is how many loads a batch of a place has, unless a session has more: a worker that dies costs its batch.
const mostAtPlace = 10

// batching puts loads into batches, in the order of the plan.
type batching struct {
	all    []Batch
	boots  division
	booted []int          // the batch of each boot, among all
	last   map[string]int // the last batch of each place, among all
}

// batchOf returns the batch for jobs, which are of one session if there are several.
func (d *batching) batchOf(jobs []*job) *Batch {
	if jobs[0].planned.Cell.Clock() == study.ClockVirtual {
		boot, number := d.boots.place(jobs)
		if boot == len(d.booted) {
			d.booted = append(d.booted, len(d.all))
			d.all = append(d.all, Batch{Number: number})
		}
		return &d.all[d.booted[boot]]
	}
	if d.last == nil {
		d.last = map[string]int{}
	}
	at := jobs[0].planned.Cell.On(study.AxisAt)
	i, open := d.last[at]
	if !open || len(d.all[i].Loads)+len(jobs) > mostAtPlace {
		i = len(d.all)
		d.all = append(d.all, Batch{At: at})
		d.last[at] = i
	}
	return &d.all[i]
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
