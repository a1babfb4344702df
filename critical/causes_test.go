package critical

import (
	"math/rand/v2"
	"slices"
	"testing"

	"wiretime/capture"
)

// TestRanking compares what rankings find with a search through all resources.
func TestRanking(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		var all []*resource
		for i := range random.IntN(20) {
			all = append(all, &resource{number: i, start: random.Int64N(10), end: random.Int64N(10)})
		}
		ended := newRanking(all, func(r *resource) int64 { return r.end }, startsLater)
		for range 20 {
			after, until := random.Int64N(12)-1, random.Int64N(12)-1
			var except, want *resource
			if len(all) > 0 && random.IntN(2) == 0 {
				except = all[random.IntN(len(all))]
			}
			for _, r := range all {
				if r != except && r.end > after && r.end <= until && (want == nil || r.start > want.start) {
					want = r
				}
			}
			if got := ended.best(after, until, except); got != want {
				t.Fatalf("seed %d: in (%d, %d] without %v: %v, want %v", seed, after, until, except, got, want)
			}
		}
	}
}

// TestCandidates takes exchanges of one URL and compares each with the closest in a search through all.
func TestCandidates(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		var c candidates
		var free []candidate
		for range random.IntN(20) {
			c.add(&exchange{}, random.Int64N(10))
		}
		free = append(free, c.list...)
		c.sort()
		for range 30 {
			at := random.Int64N(12) - 1
			until := at + random.Int64N(3)
			best := -1
			distance := func(i int) int64 { return max(free[i].began-at, at-free[i].began) }
			for i := range free {
				if free[i].began <= until && (best < 0 || distance(i) < distance(best)) {
					best = i
				}
			}
			var want *exchange
			if best >= 0 {
				want = free[best].exchange
				free = append(free[:best], free[best+1:]...)
			}
			if got := c.take(at, until); got != want {
				t.Fatalf("seed %d: at %d until %d: %p, want %p", seed, at, until, got, want)
			}
		}
	}
}

// TestWaiting gives responses to the first resource that waited for one, and compares it with a search through all.
func TestWaiting(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		var waiting []*resource
		for range random.IntN(20) {
			sent := random.Int64N(10)
			r := &resource{entry: &capture.Entry{}, end: sent + random.Int64N(5)}
			r.phases[atSend].from = sent
			waiting = append(waiting, r)
		}
		var moments []int64
		for range 1 + random.IntN(20) {
			moments = append(moments, random.Int64N(12))
		}
		w := newWaiting(moments, slices.Clone(waiting))
		for _, at := range moments {
			var want *resource
			for i, r := range waiting {
				if r != nil && r.phases[atSend].from < at && at <= r.end {
					want, waiting[i] = r, nil
					break
				}
			}
			if got := w.take(at); got != want {
				t.Fatalf("seed %d: at %d: %v, want %v", seed, at, got, want)
			}
		}
	}
}

// TestAttempts asks whether connections that began to open before another one were being opened at a moment.
func TestAttempts(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 4))
		var all []*connection
		for range 1 + random.IntN(20) {
			c := &connection{opening: span{from: random.Int64N(10)}}
			c.opening.to = c.opening.from + random.Int64N(5)
			c.lost = clipped([]span{{random.Int64N(10), 10 + random.Int64N(5)}}, c.opening)
			all = append(all, c)
		}
		tree, c := newAttempts(all)[all[0].flow.Destination], all[random.IntN(len(all))]
		var u setUp
		u.addOthers(tree, c)
		for at := range int64(16) {
			want := SetUp
			opening, lost := false, false
			for _, o := range all {
				if o.opening.from < c.opening.from {
					opening = opening || within([]span{o.opening}, at)
					lost = lost || within(o.lost, at)
				}
			}
			u.otherwise = Client
			switch {
			case lost:
				want = Loss
			case !opening:
				want = Client
			}
			if got := u.kind(at); got != want {
				t.Fatalf("seed %d: at %d: %v, want %v", seed, at, got, want)
			}
		}
	}
}
