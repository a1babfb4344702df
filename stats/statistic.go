package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"wiretime/study"
)

// Statistic names a statistic of a sample: one that study.CheckStatistic accepts.
type Statistic string

// Of returns the statistic of the values, which must be finite; 0 if there are none. Percentiles are interpolated
// between two values, as by quantile.
func (s Statistic) Of(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return s.of(slices.Sorted(slices.Values(values)))
}

func (s Statistic) of(sorted []float64) float64 {
	switch s {
	case study.Mean:
		sum := 0.0
		for _, v := range sorted {
			sum += v
		}
		return sum / float64(len(sorted))
	case study.Min:
		return sorted[0]
	case study.Max:
		return sorted[len(sorted)-1]
	}
	return quantile(sorted, s.quantile())
}

// quantile returns the quantile of a percentile or the median.
func (s Statistic) quantile() float64 {
	if q, ok := study.Percentile(string(s)); ok {
		return q
	}
	return 0.5
}

// enough reports whether a 95 % bootstrap interval of the statistic of n values can be trusted.
func (s Statistic) enough(n int) bool { return s.enoughFor(n, confidence) }

// enoughFor reports whether a bootstrap interval of the statistic of n values can be trusted at a confidence level. For min and max it
// never can, however large the sample is (Bickel and Freedman, Some asymptotic theory for the bootstrap, 1981). For a
// percentile, the range of the sample must contain the true percentile with a probability of that level. The mean needs as many
// values as the median.
func (s Statistic) enoughFor(n int, level float64) bool {
	q := s.quantile()
	switch s {
	case study.Min, study.Max:
		return false
	case study.Mean:
		q = 0.5
	}
	return 1-math.Pow(q, float64(n))-math.Pow(1-q, float64(n)) >= level
}

// Estimate holds a statistic of a sample.
type Estimate struct {
	N       int     `json:"n"` // size of the sample
	Value   float64 `json:"value"`
	Low     float64 `json:"low"` // with High the 95 % confidence interval; the sample's range if Reached is false
	High    float64 `json:"high"`
	Reached bool    `json:"interval"` // Low and High are a confidence interval
}

// Estimate returns a statistic of the values, which must be finite, with its 95 % interval. The median has the interval
// that Median returns; the mean and percentiles have a percentile bootstrap interval. An empty sample gives the zero
// Estimate.
func (b *Bootstrap) Estimate(values []float64, s Statistic) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	if s == study.Median {
		m := Median(values)
		return Estimate{m.N, m.Median, m.Low, m.High, m.Reached}
	}
	sorted := slices.Sorted(slices.Values(values))
	e := Estimate{N: len(sorted), Value: s.of(sorted), Low: sorted[0], High: sorted[len(sorted)-1], Reached: s.enough(len(sorted))}
	if !e.Reached {
		return e
	}
	random, drawn := rand.New(rand.NewPCG(b.seed, 0)), make([]float64, resamples)
	for i := range drawn {
		drawn[i] = s.of(resample(sorted, random))
	}
	e.Low, e.High = selectQuantile(drawn, tail), selectQuantile(drawn, 1-tail)
	return e
}

// CompareRatioOf does what CompareRatio does for the ratio of a statistic of x to a statistic of y. Unless both are
// medians, a Ratio without Enough has no interval: Low and High are 0. So it is always for min and max.
func (b *Bootstrap) CompareRatioOf(x []float64, ofX Statistic, y []float64, ofY Statistic) Ratio {
	if ofX == study.Median && ofY == study.Median {
		return b.CompareRatio(x, y)
	}
	if len(x) == 0 || len(y) == 0 {
		return Ratio{}
	}
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	r := Ratio{Value: ofX.of(x) / ofY.of(y), Enough: ofX.enough(len(x)) && ofY.enough(len(y))}
	if !r.Enough {
		return r
	}
	random, drawn := rand.New(rand.NewPCG(b.seed, 0)), make([]float64, resamples)
	for i := range drawn {
		drawn[i] = ofX.of(resample(x, random)) / ofY.of(resample(y, random))
	}
	r.Low, r.High = selectQuantile(drawn, tail), selectQuantile(drawn, 1-tail)
	return r
}

// resample draws as many values as a sample has, with replacement, and returns them sorted.
func resample(sample []float64, random *rand.Rand) []float64 {
	drawn := make([]float64, len(sample))
	for i := range drawn {
		drawn[i] = sample[random.IntN(len(sample))]
	}
	slices.Sort(drawn)
	return drawn
}
