package runner

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"wiretime/guest"
	"wiretime/store"
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
	work   time.Duration // that is expected of them
}

// full reports whether the boot has no room for that many more loads, which are of one session if there are several.
func (b *batch) full(more int) bool {
	g := b.jobs[0].Guest
	return len(b.jobs)+more > g.Loads || g.Work > 0 && b.work >= g.Work
}

// batches divides the jobs on the virtual clock among guests. A session is made in one boot, however many loads
// it has.
func batches(queue []*job) []*batch {
	var all []*batch
	type kind struct {
		slot int
		boot string // Guest.Boot
	}
	open, inSlot := map[kind]*batch{}, map[int]int{}
	for _, jobs := range together(queue) {
		k := kind{jobs[0].slot, jobs[0].Guest.Boot}
		b := open[k]
		if b == nil || b.full(len(jobs)) {
			b = &batch{number: inSlot[k.slot]}
			inSlot[k.slot]++
			all = append(all, b)
			open[k] = b
		}
		for _, j := range jobs {
			b.jobs = append(b.jobs, j)
			b.work += j.Estimate.Duration
		}
	}
	return all
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
