package stats

import (
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap draws: enough to make the ends of a 95 % interval
// stable to about 1 % of its width.
const resamples = 10_000

// Difference is the difference of two samples' medians.
type Difference struct {
	Value     float64 // median of a minus median of b: negative where a is smaller
	Low, High float64 // 95 % confidence interval
	Enough    bool    // both samples have at least six values; with fewer, the interval is too narrow to be trusted
}

// Clear reports whether the interval excludes zero and the samples are large enough, so
// that the medians differ by more than chance explains.
func (d Difference) Clear() bool { return d.Enough && (d.Low > 0 || d.High < 0) }

// Compare returns the difference of the medians of a and b, whose values must be finite,
// with its percentile bootstrap interval (Efron and Tibshirani, 1993, chapter 13). The same
// samples and seed give the same interval. An empty sample gives the zero Difference.
func Compare(a, b []float64, seed uint64) Difference {
	if len(a) == 0 || len(b) == 0 {
		return Difference{}
	}
	return Difference(compare(a, b, seed, func(a, b float64) float64 { return a - b }))
}

// Ratio is the ratio of two samples' medians.
type Ratio struct {
	Value     float64 // median of a divided by median of b
	Low, High float64 // 95 % confidence interval
	Enough    bool    // as in Difference
}

// CompareRatio does what Compare does for the ratio of the medians; the values must be
// positive.
func CompareRatio(a, b []float64, seed uint64) Ratio {
	if len(a) == 0 || len(b) == 0 {
		return Ratio{}
	}
	return Ratio(compare(a, b, seed, func(a, b float64) float64 { return a / b }))
}

// comparison holds the fields that Difference and Ratio share.
type comparison struct {
	Value     float64
	Low, High float64
	Enough    bool
}

// compare applies f to the medians of a and b, and to those of their resamples.
func compare(a, b []float64, seed uint64, f func(a, b float64) float64) comparison {
	sortedA, sortedB := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	random := rand.New(rand.NewPCG(seed, 0))
	drawA, drawB := newBootstrap(sortedA, random), newBootstrap(sortedB, random)
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = f(drawA.median(), drawB.median())
	}
	slices.Sort(drawn)
	const tail = (1 - confidence) / 2
	return comparison{
		Value:  f(quantile(sortedA, 0.5), quantile(sortedB, 0.5)),
		Low:    quantile(drawn, tail),
		High:   quantile(drawn, 1-tail),
		Enough: Median(a).Reached && Median(b).Reached,
	}
}

// bootstrap draws from a sample with replacement.
type bootstrap struct {
	sorted []float64
	counts []int // how often each value was drawn
	random *rand.Rand
}

func newBootstrap(sorted []float64, random *rand.Rand) *bootstrap {
	return &bootstrap{sorted: sorted, counts: make([]int, len(sorted)), random: random}
}

// median draws a resample and returns its median. The counts represent the resample in
// order, so it need not be sorted.
func (b *bootstrap) median() float64 {
	n := len(b.sorted)
	clear(b.counts)
	for range n {
		b.counts[b.random.IntN(n)]++
	}
	return (b.drawn((n-1)/2) + b.drawn(n/2)) / 2
}

// drawn returns the value at a rank, from 0, of the resample.
func (b *bootstrap) drawn(rank int) float64 {
	i := 0
	for rank -= b.counts[0]; rank >= 0; rank -= b.counts[i] {
		i++
	}
	return b.sorted[i]
}
