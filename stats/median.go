package stats

import (
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is the confidence level of intervals.
const confidence = 0.95

// MedianInterval is a sample's median with its confidence interval.
type MedianInterval struct {
	N         int
	Median    float64
	Low, High float64 // two values of the sample; its range where Reached is false
	Coverage  float64 // probability that the interval holds the true median: 0 to 1
	Reached   bool    // Coverage is 0.95 or more, which takes six values
}

// Median returns the median of the values, which must be finite, with its distribution-free
// 95 % confidence interval: from the k-th smallest value to the k-th largest, for the
// largest k at which a binomial count with probability 1/2 leaves no more than 5 % outside
// (David and Nagaraja, Order Statistics, 2003, section 7.1). The values must be
// independent; nothing else is assumed of them.
//
// With fewer than six values not even the whole range covers the true median with 95 %. Low
// and High are then the range, Reached is false, and Coverage is the probability for the
// range.
func Median(values []float64) MedianInterval {
	n := len(values)
	if n == 0 {
		return MedianInterval{}
	}
	sorted := slices.Sorted(slices.Values(values))
	below := distuv.Binomial{N: float64(n), P: 0.5}
	k := 1 + sort.Search(max(0, n/2-1), func(i int) bool { return coverage(below, i+2) < confidence })
	return MedianInterval{
		N:        n,
		Median:   quantile(sorted, 0.5),
		Low:      sorted[k-1],
		High:     sorted[n-k],
		Coverage: coverage(below, k),
		Reached:  coverage(below, k) >= confidence,
	}
}

// reachable reports whether the whole range of n values covers the true median with 95 %.
func reachable(n int) bool {
	return coverage(distuv.Binomial{N: float64(n), P: 0.5}, 1) >= confidence
}

// coverage returns the probability that the true median lies between the k-th smallest and
// the k-th largest value; below is the distribution of the number of values below it.
func coverage(below distuv.Binomial, k int) float64 {
	return 1 - 2*below.CDF(float64(k-1))
}
