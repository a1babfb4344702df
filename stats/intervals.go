package stats

import "math/rand/v2"

// Interval is a 95 % percentile bootstrap interval.
type Interval struct{ Low, High float64 }

// Intervals returns intervals for n figures that depend on two samples with x and y values. f writes the figures of a
// resample, which it gets as the places of the values drawn from each sample. Samples with fewer than six values give nil.
func (b *Bootstrap) Intervals(x, y, n int, f func(x, y []int, figures []float64)) []Interval {
	if !reachable(x) || !reachable(y) {
		return nil
	}
	random := rand.New(rand.NewPCG(b.seed, 0))
	fromX, fromY, figures := make([]int, x), make([]int, y), make([]float64, n)
	drawn := make([][]float64, n)
	for i := range drawn {
		drawn[i] = make([]float64, resamples)
	}
	for i := range resamples {
		for _, sample := range [][]int{fromX, fromY} {
			for k := range sample {
				sample[k] = random.IntN(len(sample))
			}
		}
		f(fromX, fromY, figures)
		for k, v := range figures {
			drawn[k][i] = v
		}
	}
	intervals := make([]Interval, n)
	for k := range drawn {
		intervals[k] = Interval{selectQuantile(drawn[k], tail), selectQuantile(drawn[k], 1-tail)}
	}
	return intervals
}
