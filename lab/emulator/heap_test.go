package emulator

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDeliveriesAreInOrder checks that packets are delivered by due time, and in arrival order
// if due times are equal.
func TestDeliveriesAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for size := range 200 {
		var d deliveries
		want := make([][2]int64, size)
		for i := range want {
			want[i] = [2]int64{random.Int64N(20), int64(i)}
			d.push(packet{due: want[i][0], number: uint64(i)})
		}
		slices.SortFunc(want, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
		for i, w := range want {
			if p := d.pop(); p.due != w[0] || int64(p.number) != w[1] {
				t.Fatalf("packet %d of %d is due %d, number %d; want due %d, number %d", i, size, p.due, p.number, w[0], w[1])
			}
		}
		if len(d) != 0 {
			t.Fatalf("%d packets are left over", len(d))
		}
	}
}

// TestLearnFindsTheUpperQuartile simulates wake-ups with a known distribution of lateness
// and some outliers.
func TestLearnFindsTheUpperQuartile(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	l := &loop{}
	for range 5000 {
		late := 100_000 + random.Int64N(100_000) // upper quartile 175 us
		if random.IntN(50) == 0 {
			late = 50_000_000
		}
		l.learn(late)
	}
	if l.tardy < 155_000 || l.tardy > 200_000 {
		t.Errorf("tardy is %d ns, want about 175000", l.tardy)
	}
	for range 500 {
		l.learn(500) // a processor that wakes at once, or virtual time
	}
	if l.early() != 0 {
		t.Errorf("the timer is set %d ns early where nothing is late", l.early())
	}
}
