package difference

import (
	"maps"
	"math"
	"slices"
)

// mean is the mean of loads.
type mean struct {
	onLoad   int64 // ns: the mean, rounded
	requests float64
	spent    map[place]amount // whose times add up to onLoad
	octets   [2]float64       // by direction: that arrived before onLoad
}

// meanOf returns the mean of loads. Of each place it has the mean time, rounded so that the sum is right: the sums up to
// each place are rounded, not the times.
func meanOf(loads []*Load) mean {
	m := mean{spent: map[place]amount{}}
	n := int64(len(loads))
	sums := map[place]amount{}
	for _, l := range loads {
		m.requests += float64(l.Requests) / float64(n)
		for d := range m.octets {
			m.octets[d] += l.octets[d] / float64(n)
		}
		for at, a := range l.spent {
			s := sums[at]
			sums[at] = amount{s.time + a.time, s.octets + a.octets}
		}
	}
	var total, rounded int64
	for _, at := range slices.SortedFunc(maps.Keys(sums), place.compare) {
		total += sums[at].time
		next := (2*total + n) / (2 * n)
		m.spent[at] = amount{next - rounded, sums[at].octets / float64(n)}
		rounded = next
	}
	m.onLoad = rounded
	return m
}

// link is the mean of what loads waited for in one direction of the path.
type link struct {
	time   float64 // ns that the paths waited for bandwidth
	octets float64 // that the link served meanwhile
	all    float64 // octets that arrived before onLoad
}

// link returns what the loads waited for in one direction.
func (m *mean) link(d int) link {
	l := link{all: m.octets[d]}
	for at, a := range m.spent {
		if at.cause == Bandwidth && direction(at.isUp) == d {
			l.time += float64(a.time)
			l.octets += a.octets
		}
	}
	return l
}

// costOfBytes returns how many ns each octet costs that the path of b waited for beyond those of a: the mean of what an
// octet took in a and in b, times the part of the difference that bytes account for. They account for no more than the
// difference between all octets of both.
func costOfBytes(a, b link) float64 {
	more, allMore := b.octets-a.octets, b.all-a.all
	if more == 0 || more*allMore <= 0 {
		return 0
	}
	pace, sides := 0.0, 0.0
	for _, l := range []link{a, b} {
		if l.octets > 0 {
			pace += l.time / l.octets
			sides++
		}
	}
	return pace / sides * min(1, allMore/more)
}

// round rounds parts so that their sum is right.
type round struct{ exact, rounded float64 }

// next returns the next part, rounded.
func (r *round) next(part float64) int64 {
	r.exact += part
	before := r.rounded
	r.rounded = math.Round(r.exact)
	return int64(r.rounded - before)
}
