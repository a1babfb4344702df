package network

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"
)

// FuzzArriveFollowsTheServiceCurve checks the emulation of a link with rate
// changes and outages against its service curve: C(t) is the work, in bit*ns,
// that the link can have done by t. A packet that finds the line busy until C =
// w, or idle, ends when C reaches max(w, C(now)) + its own work. This oracle
// shares no step with the serialiser's arithmetic.
func FuzzArriveFollowsTheServiceCurve(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed%7), uint8(seed%3), uint16(seed*31))
	}
	f.Fuzz(func(t *testing.T, seed uint64, events, dropEvery uint8, gap uint16) {
		random := rand.New(rand.NewPCG(seed, 1))
		someRate := func() BitRate { return 1_000_000 + BitRate(random.IntN(200_000_000)) }
		link := Link{Rate: someRate(), Delay: time.Duration(random.IntN(1e6)), Queue: Queue{Bytes: 100_000, Packets: 150}}
		p := oneLink(link)
		at := int64(0)
		for range events % 32 {
			at += int64(random.IntN(3e6))
			e := Event{At: time.Duration(at)}
			if random.IntN(2) == 0 {
				r := someRate()
				e.Rate = &r
			} else {
				e.Outage = time.Duration(1 + random.IntN(2e6))
				e.OutageDrops = dropEvery > 0 && random.IntN(int(dropEvery)) == 0
				at += int64(e.Outage)
			}
			p.Events = append(p.Events, e)
		}
		curve := newCurve(p)

		e := start(t, p, seed)
		var now, used, delivered int64
		var waiting []queued
		for i := range 400 {
			now += int64(random.IntN(int(gap)*16 + 1))
			size := 1 + random.IntN(1500)

			waiting = slices.DeleteFunc(waiting, func(d queued) bool { return d.leaves <= now })
			bytes := size
			for _, d := range waiting {
				bytes += d.size
			}
			wantDue, want := int64(0), DroppedQueue
			if bytes <= link.Queue.Bytes && len(waiting) < link.Queue.Packets {
				want = Delivered
				used = max(used, curve.work(now)) + int64(size)*8e9
				leaves := curve.reaches(used)
				for _, o := range curve.drops {
					if now < o.end && leaves > o.start {
						want, leaves = DroppedOutage, max(now, o.start)
						used = curve.work(leaves)
						break
					}
				}
				waiting = append(waiting, queued{leaves, size})
				if want == Delivered {
					wantDue = leaves + int64(link.Delay)
				}
			}

			due, fate := e.Arrive(0, Down, now, size)
			if due != wantDue || fate != want {
				t.Fatalf("packet %d of %d bytes at %d: due %d, %v; the service curve says %d, %v", i, size, now, due, fate, wantDue, want)
			}
			if fate != Delivered {
				continue
			}
			if due < now+int64(link.Delay) {
				t.Fatalf("packet %d is due at %d, before its arrival at %d plus the delay of %v", i, due, now, link.Delay)
			}
			if delivered += int64(size); delivered*8e9 > curve.work(due-int64(link.Delay)) {
				t.Fatalf("%d bytes have left by packet %d, more than the link can have carried", delivered, i)
			}
		}
	})
}

// curve is the service curve of a link with a rate.
type curve struct {
	pieces []piece
	drops  []span
}

type piece struct{ at, rate int64 }

type span struct{ start, end int64 }

func newCurve(p Path) curve {
	var c curve
	rate := int64(p.Access[0].Down.Rate)
	c.pieces = []piece{{0, rate}}
	for _, e := range p.Events {
		if e.Rate != nil {
			rate = int64(*e.Rate)
			c.pieces = append(c.pieces, piece{int64(e.At), rate})
			continue
		}
		o := span{int64(e.At), int64(e.At + e.Outage)}
		c.pieces = append(c.pieces, piece{o.start, 0}, piece{o.end, rate})
		if e.OutageDrops {
			c.drops = append(c.drops, o)
		}
	}
	return c
}

func (c curve) work(t int64) (work int64) {
	for i, p := range c.pieces {
		end := t
		if i+1 < len(c.pieces) {
			end = min(end, c.pieces[i+1].at)
		}
		if end > p.at {
			work += (end - p.at) * p.rate
		}
	}
	return work
}

// reaches returns the first whole nanosecond by which the work is done.
func (c curve) reaches(work int64) int64 {
	return int64(sort.Search(1<<33, func(t int) bool { return c.work(int64(t)) >= work }))
}

// TestTraceFollowsMahimahi sends random traffic along random traces and
// compares with a straightforward mm-link, which knows all arrivals in advance
// and walks over the opportunities one by one.
func TestTraceFollowsMahimahi(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		var millis []int64
		at := int64(random.IntN(3))
		for range 1 + random.IntN(30) {
			at += int64(random.IntN(4))
			millis = append(millis, at)
		}
		if at == 0 {
			millis[len(millis)-1] = 1
		}
		link := trace(millis...)
		var arrivals []queued // leaves is the arrival here
		now := int64(0)
		for range 300 {
			now += int64(random.IntN(2_000_000)) * int64(random.IntN(2))
			if random.IntN(4) == 0 {
				now -= now % int64(time.Millisecond) // exactly on a millisecond
				if n := len(arrivals); n > 0 {
					now = max(now, arrivals[n-1].leaves)
				}
			}
			arrivals = append(arrivals, queued{now, 1 + random.IntN(2500)})
		}
		want := mahimahi(link, arrivals)
		e := start(t, oneLink(Link{Trace: link}), seed)
		for i, a := range arrivals {
			if due, fate := e.Arrive(0, Up, a.leaves, a.size); due != want[i] || fate != Delivered {
				t.Fatalf("seed %d, trace %v: packet %d of %d bytes at %d is due at %d, %v; mm-link says %d", seed, millis, i, a.size, a.leaves, due, fate, want[i])
			}
		}
	}
}

func mahimahi(link *Trace, arrivals []queued) []int64 {
	due := make([]int64, 0, len(arrivals))
	left := arrivals[0].size // of the packet at the head
	for round := int64(0); ; round++ {
		for _, ms := range link.Opportunities {
			at := round*int64(link.Period()) + ms*int64(time.Millisecond)
			for carries := OpportunityBytes; carries > 0 && arrivals[len(due)].leaves < at; {
				part := min(carries, left)
				carries, left = carries-part, left-part
				if left > 0 {
					break
				}
				due = append(due, at)
				if len(due) == len(arrivals) {
					return due
				}
				left = arrivals[len(due)].size
			}
		}
	}
}
