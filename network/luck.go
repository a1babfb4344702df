package network

import "math/rand/v2"

// luck makes the random decisions of one direction of one access link.
type luck struct {
	losses     *rand.Rand
	deviations *rand.Rand
	burst      *GilbertElliott // nil = losses are independent
	bad        bool            // state of the chain
}

// newLuck seeds the generators of a link. The multiplier (2^64 over the golden
// ratio, Knuth) keeps the seeds of neighbouring links far apart.
func newLuck(seed uint64, access int, d Direction, burst *GilbertElliott) luck {
	const golden = 0x9E3779B97F4A7C15
	link := 4*uint64(access) + 2*uint64(d) + 1
	return luck{
		losses:     rand.New(rand.NewPCG(seed, golden*link)),
		deviations: rand.New(rand.NewPCG(seed, golden*(link+1))),
		burst:      burst,
	}
}

// draw decides for one packet whether it is lost, given the rate of independent
// loss, and by how many standard deviations its delay is off. It draws the same
// numbers whatever the outcome.
func (l *luck) draw(rate float64) (lost bool, deviations float64) {
	loss, move := l.losses.Float64(), l.losses.Float64()
	deviations = l.deviations.NormFloat64()
	if l.burst == nil {
		return loss < rate, deviations
	}
	if l.bad {
		lost = loss < l.burst.BadLoss
		l.bad = move >= l.burst.R
	} else {
		lost = loss < l.burst.GoodLoss
		l.bad = move < l.burst.P
	}
	return lost, deviations
}
