package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"wiretime/study"
)

// Shift is how far a statistic of one sample is from that of another, in the values' unit and as a share of the first.
type Shift struct {
	From, To  float64 // the statistic of each sample
	Value     float64 // To - From
	Low, High float64 // bootstrap interval of Value; 0 unless Enough
	// Share is Value divided by From. It and its interval are 0 unless Relative.
	Share, ShareLow, ShareHigh float64
	Relative                   bool // all values are positive, so that shares mean something
	Enough                     bool // both samples have enough values for an interval
}

// Shift returns how far a statistic of y is from that of x, with percentile bootstrap intervals at a confidence level between 0 and 1.
// The values must be finite. An empty sample gives the zero Shift.
func (b *Bootstrap) Shift(x, y []float64, of Statistic, level float64) Shift {
	if len(x) == 0 || len(y) == 0 {
		return Shift{}
	}
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	s := Shift{From: of.of(x), To: of.of(y), Relative: x[0] > 0 && y[0] > 0}
	s.Value = s.To - s.From
	if s.Relative {
		s.Share = s.Value / s.From
	}
	s.Enough = of.enoughFor(len(x), level) && of.enoughFor(len(y), level)
	if !s.Enough {
		return s
	}
	values, shares := make([]float64, resamples), make([]float64, resamples)
	note := func(i int, from, to float64) {
		values[i] = to - from
		if s.Relative {
			shares[i] = values[i] / from
		}
	}
	if of == study.Median {
		for i, d := range b.drawsOf(len(x), len(y)) {
			note(i, d.x.of(x), d.y.of(y))
		}
	} else {
		random := rand.New(rand.NewPCG(b.seed, 0))
		for i := range values {
			note(i, of.of(resample(x, random)), of.of(resample(y, random)))
		}
	}
	outside := (1 - level) / 2
	s.Low, s.High = selectQuantile(values, outside), selectQuantile(values, 1-outside)
	if s.Relative {
		s.ShareLow, s.ShareHigh = selectQuantile(shares, outside), selectQuantile(shares, 1-outside)
	}
	return s
}

// Fewest returns how many values a sample needs for an interval of the statistic at a confidence level; 0 if no number is enough.
func (s Statistic) Fewest(level float64) int {
	if s == study.Min || s == study.Max {
		return 0
	}
	n := 1
	for !s.enoughFor(n, level) {
		n++
	}
	return n
}

// Decision says when two samples are decided to differ, or to be the same.
type Decision struct {
	Of     Statistic
	Alpha  float64 // the level of the test: corrected, if there are several
	Level  float64 // confidence level of the interval that must lie within Margin
	Margin float64 // share of x's statistic within which the two count as the same; 0: equality is not decided
	// SmallestP is the smallest p-value that the test can have for two samples of n values each.
	SmallestP func(n int) float64
}

// power is the probability with which so many values decide (Cohen, Statistical power analysis, 1988).
const power = 0.8

// simulations is how many pairs of samples Needed draws for each size.
const simulations = 400

// Needed returns how many values on each side would probably, in 4 cases of 5, decide between x and y, if further values are like
// these: it draws samples of that size from x and y with replacement (Efron and Tibshirani, 1993, section 25.4). It
// returns 0 if more than most are needed. The samples must not be empty.
func (b *Bootstrap) Needed(x, y []float64, d Decision, most int) int {
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	low := max(len(x), len(y), d.Of.Fewest(d.Level)-1) // not enough, or not known to be
	if most <= low || !b.decides(x, y, d, most) {
		return 0
	}
	for high := most; ; {
		middle := low + (high-low)/2
		if middle == low {
			return high
		}
		if b.decides(x, y, d, middle) {
			high = middle
		} else {
			low = middle
		}
	}
}

// decides reports whether samples of n values, drawn from x and y, would be decided often enough. The spread of the drawn differences
// stands for the interval and the test.
func (b *Bootstrap) decides(x, y []float64, d Decision, n int) bool {
	if d.SmallestP(n) > d.Alpha {
		return false
	}
	random := rand.New(rand.NewPCG(b.seed, uint64(n)))
	drawn := make([]float64, simulations)
	fromX, fromY := newSampler(x, n, random), newSampler(y, n, random)
	for i := range drawn {
		drawn[i] = d.Of.of(fromY.draw()) - d.Of.of(fromX.draw())
	}
	spread := Summarize(drawn).SD
	differs := distuv.UnitNormal.Quantile(1-d.Alpha/2) * spread
	within := math.Abs(d.Of.of(x))*d.Margin - distuv.UnitNormal.Quantile((1+d.Level)/2)*spread
	decided := 0
	for _, v := range drawn {
		if math.Abs(v) > differs || math.Abs(v) < within {
			decided++
		}
	}
	return float64(decided) >= power*simulations
}

// sampler draws sorted samples of n values with replacement from a sorted sample, in time in proportion to their sizes.
type sampler struct {
	from   []float64
	counts []int32
	drawn  []float64
	random *rand.Rand
}

func newSampler(from []float64, n int, random *rand.Rand) *sampler {
	return &sampler{from, make([]int32, len(from)), make([]float64, n), random}
}

func (s *sampler) draw() []float64 {
	clear(s.counts)
	for range s.drawn {
		s.counts[s.random.IntN(len(s.from))]++
	}
	at := 0
	for i, count := range s.counts {
		for range count {
			s.drawn[at] = s.from[i]
			at++
		}
	}
	return s.drawn
}
