package runner

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"wiretime/guest"
	"wiretime/store"
	"wiretime/workload"
)

// Memory of a guest in octets, besides what its loads need (workload.Guest). Chromium crashes
// with half of it, and Java needs as much.
const (
	plainMemory   = 256 << 20
	programMemory = 1 << 30
)

// wallLimit is how long a guest may take for one load, in real time, before it counts as stuck.
// The slowest page loads take a few seconds, and a hundred times that where other programs
// compute on the guest's core. Some loads get more (workload.Guest).
const wallLimit = 3 * time.Minute

// batch is the loads of one boot. Which loads share one follows from the plan alone, never from
// how far a run has got, because what a browser does depends on the loads before. A batch that
// was interrupted runs again from its beginning, and what is in the store already is not kept
// twice. Loads of different slots of a schedule share no boot.
type batch struct {
	number int // in the order of the plan, within its slot, from 0; part of the guest's seed
	jobs   []*job
}

// batches divides the jobs on the virtual clock among guests. A session is made in one boot, however many loads
// it has.
func batches(queue []*job) []*batch {
	var all []*batch
	var d division
	for _, jobs := range together(queue) {
		at, number := d.place(jobs)
		if at == len(all) {
			all = append(all, &batch{number: number})
		}
		all[at].jobs = append(all[at].jobs, jobs...)
	}
	return all
}

// division divides loads among boots, in the order of the plan.
type division struct {
	open   map[kind]*space
	inSlot map[int]int // boots of each slot
	boots  int
}

// kind is what loads that share a boot have in common.
type kind struct {
	slot int
	boot string // Guest.Boot
}

// space is what is left of a boot.
type space struct {
	at, number int
	guest      workload.Guest // of its first load
	loads      int
	work       time.Duration // that is expected of them
}

// place returns the boot that jobs are made in, which are of one session if there are several: its place among all boots,
// from 0, and its number within its slot.
func (d *division) place(jobs []*job) (at, number int) {
	if d.open == nil {
		d.open, d.inSlot = map[kind]*space{}, map[int]int{}
	}
	k := kind{jobs[0].slot, jobs[0].Guest.Boot}
	s := d.open[k]
	if s == nil || s.full(len(jobs)) {
		s = &space{at: d.boots, number: d.inSlot[k.slot], guest: jobs[0].Guest}
		d.boots++
		d.inSlot[k.slot]++
		d.open[k] = s
	}
	s.loads += len(jobs)
	for _, j := range jobs {
		s.work += j.Estimate.Duration
	}
	return s.at, s.number
}

// full reports whether the boot has no room for that many more loads.
func (s *space) full(more int) bool {
	return s.loads+more > s.guest.Loads || s.guest.Work > 0 && s.work >= s.guest.Work
}

// orders returns what a guest is to do for these jobs.
func (r *run) orders(jobs []*job, attempt int) guest.Batch {
	first := jobs[0].Guest
	b := guest.Batch{Station: r.station, Programs: first.Programs, Count: r.Count}
	b.Station.Lab.Virtual, b.Station.Lab.Unblocked = true, !b.Programs
	if !first.Browser {
		b.Station.Chromium, b.Station.Firefox = "", ""
	}
	for _, j := range jobs {
		id := loadID(j, attempt)
		b.Loads = append(b.Loads, guest.Load{ID: id, Seed: loadSeed(r.Seed, j.planned.Index, attempt), Site: j.served(), Order: j.Order(id)})
	}
	return b
}

// machine configures the guest that attempts loads of batch b, beginning with first.
func (r *run) machine(b *batch, first *job, attempt, core int) guest.Machine {
	m := guest.Machine{
		Seed: bootSeed(r.Seed, b.number, first.planned.Index, attempt), Memory: plainMemory, CPU: core, Limit: wallLimit,
	}
	var most int64
	for _, j := range b.jobs {
		if j.Guest.Programs {
			m.Memory = programMemory
		}
		most, m.Limit = max(most, j.Guest.Memory), max(m.Limit, wallLimit+j.Guest.Longer)
	}
	m.Memory += most
	return m
}

func loadID(j *job, attempt int) string {
	return store.LoadRecord{Planned: j.planned, Attempt: attempt}.ID()
}

// bootSeed returns the seed of a boot, which follows from what the guest is booted for.
func bootSeed(study uint64, batch, first, attempt int) uint64 {
	return seedOf(study, uint64(batch), uint64(first), uint64(attempt))
}

// loadSeed returns the seed of an attempt in a guest, which follows from the load's place in the plan.
func loadSeed(study uint64, index, attempt int) uint64 {
	return seedOf(study, uint64(index), uint64(attempt))
}

func seedOf(parts ...uint64) uint64 {
	var b []byte
	for _, v := range parts {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
