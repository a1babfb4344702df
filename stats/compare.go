package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// tail is the probability that an interval leaves out at each end.
const tail = (1 - confidence) / 2

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

// Ratio is the ratio of two samples' medians.
type Ratio struct {
	Value     float64 // median of a divided by median of b
	Low, High float64 // 95 % confidence interval
	Enough    bool    // as in Difference
}

// Bootstrap compares the medians of samples, and finds percentile bootstrap intervals for them (Efron and Tibshirani,
// 1993, chapter 13). The same samples and seed give the same interval, whatever was compared before. A Bootstrap is for
// one goroutine at a time.
type Bootstrap struct {
	seed  uint64
	draws map[[2]int][]draw // by the sizes of both samples
}

// NewBootstrap returns a Bootstrap whose random numbers follow from the seed.
func NewBootstrap(seed uint64) *Bootstrap {
	return &Bootstrap{seed: seed, draws: map[[2]int][]draw{}}
}

// Compare returns the difference of the medians of x and y, whose values must be finite, with its interval. An empty
// sample gives the zero Difference.
func (b *Bootstrap) Compare(x, y []float64) Difference {
	return Difference(b.compare(x, y, func(x, y float64) float64 { return x - y }))
}

// CompareRatio does what Compare does for the ratio of the medians; the values must be positive.
func (b *Bootstrap) CompareRatio(x, y []float64) Ratio {
	return Ratio(b.compare(x, y, func(x, y float64) float64 { return x / y }))
}

// comparison holds the fields that Difference and Ratio share.
type comparison struct {
	Value     float64
	Low, High float64
	Enough    bool
}

// compare applies f to the medians of x and y, and to those of their resamples.
func (b *Bootstrap) compare(x, y []float64, f func(x, y float64) float64) comparison {
	if len(x) == 0 || len(y) == 0 {
		return comparison{}
	}
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	drawn := make([]float64, resamples)
	for i, d := range b.drawsOf(len(x), len(y)) {
		drawn[i] = f(d.x.of(x), d.y.of(y))
	}
	return comparison{
		Value:  f(quantile(x, 0.5), quantile(y, 0.5)),
		Low:    selectQuantile(drawn, tail),
		High:   selectQuantile(drawn, 1-tail),
		Enough: reachable(len(x)) && reachable(len(y)),
	}
}

// draw is one resample of each of two samples.
type draw struct{ x, y middle }

// middle is where the median of a resample lies in the sorted sample: at the mean of two of its values, or at one value twice.
type middle struct{ low, high int32 }

func (m middle) of(sorted []float64) float64 { return (sorted[m.low] + sorted[m.high]) / 2 }

// mostSizes is how many pairs of sizes have their draws kept, 160 kB each.
const mostSizes = 64

// drawsOf returns the resamples of two samples with so many values. They depend on nothing else but the seed, and the
// samples of a run mostly have equal sizes.
func (b *Bootstrap) drawsOf(x, y int) []draw {
	sizes := [2]int{x, y}
	draws, ok := b.draws[sizes]
	if ok {
		return draws
	}
	if len(b.draws) >= mostSizes {
		clear(b.draws)
	}
	random := rand.New(rand.NewPCG(b.seed, 0))
	ofX, ofY := newResampler(x, random), newResampler(y, random)
	draws = make([]draw, resamples)
	for i := range draws {
		draws[i] = draw{ofX.draw(), ofY.draw()}
	}
	b.draws[sizes] = draws
	return draws
}

// mostDrawn is the size up to which a resample is drawn value by value. Of a larger one only the place of its median is drawn.
const mostDrawn = 1000

// resampler draws from a sample with replacement.
type resampler struct {
	size   int
	counts []int32 // how often each value was drawn, the smallest first
	random *rand.Rand
}

func newResampler(n int, random *rand.Rand) *resampler {
	r := &resampler{size: n, random: random}
	if n <= mostDrawn {
		r.counts = make([]int32, n)
	}
	return r
}

// draw draws a resample.
func (r *resampler) draw() middle {
	if r.counts == nil {
		return r.drawMiddle()
	}
	clear(r.counts)
	for range r.size {
		r.counts[r.random.IntN(r.size)]++
	}
	return middle{r.at((r.size - 1) / 2), r.at(r.size / 2)} // the counts are in order, so nothing need be sorted
}

// at returns which value of the sample is at a rank, from 0, of the resample.
func (r *resampler) at(rank int) int32 {
	i, left := int32(0), int32(rank)
	for left -= r.counts[0]; left >= 0; left -= r.counts[i] {
		i++
	}
	return i
}

// drawMiddle draws where the median of a resample lies, as draw would, at a cost that does not grow with the sample. The k-th smallest
// of n uniform numbers has a beta distribution with k and n+1-k, and the one after it is the smallest of n-k numbers
// above it (David and Nagaraja, Order Statistics, 2003, sections 2.1 and 2.5).
func (r *resampler) drawMiddle() middle {
	n := r.size
	k := (n + 1) / 2
	low := distuv.Beta{Alpha: float64(k), Beta: float64(n + 1 - k), Src: r.random}.Rand()
	high := low
	if n%2 == 0 {
		high = 1 - (1-low)*math.Pow(r.random.Float64(), 1/float64(n-k))
	}
	place := func(u float64) int32 { return int32(min(u*float64(n), float64(n-1))) }
	return middle{place(low), place(high)}
}
