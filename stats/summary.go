// Package stats summarises small samples of repeated measurements: typical values, spread,
// and the confidence in a difference. It assumes no distribution, because page load times
// have long tails and several modes.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary describes a sample. All but N and CV are in the sample's own unit;
// with N = 0 everything is zero.
type Summary struct {
	N      int
	Min    float64
	P5     float64
	P25    float64
	Median float64
	P75    float64
	P95    float64
	Max    float64
	Mean   float64
	SD     float64 // sample standard deviation (n-1), 0 for a single value
	CV     float64 // SD / |Mean|, the coefficient of variation; 0 where Mean is 0
}

// Summarize returns the summary of the values, which must be finite.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Summary{
		N:      len(sorted),
		Min:    sorted[0],
		P5:     quantile(sorted, 0.05),
		P25:    quantile(sorted, 0.25),
		Median: quantile(sorted, 0.5),
		P75:    quantile(sorted, 0.75),
		P95:    quantile(sorted, 0.95),
		Max:    sorted[len(sorted)-1],
		Mean:   stat.Mean(sorted, nil),
	}
	if s.N > 1 {
		s.SD = stat.StdDev(sorted, nil)
	}
	if s.Mean != 0 {
		s.CV = s.SD / math.Abs(s.Mean)
	}
	return s
}

// Quantile returns the q-quantile (0 <= q <= 1) of the values, which must be finite, or 0
// if there are none. It interpolates like Hyndman and Fan's type 7 (1996), the default of
// R, NumPy and spreadsheets.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(values)), q)
}

func quantile(sorted []float64, q float64) float64 {
	position := q * float64(len(sorted)-1)
	below := int(position)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := position - float64(below)
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// selectQuantile returns the same as quantile for values in any order, which it changes.
func selectQuantile(values []float64, q float64) float64 {
	position := q * float64(len(values)-1)
	below := int(position)
	low := selectRank(values, below)
	if below+1 >= len(values) {
		return low
	}
	part := position - float64(below)
	return low*(1-part) + slices.Min(values[below+1:])*part
}

// selectRank moves the value of a rank, from 0, to its place and returns it: none before it is larger, none after it smaller
// (Hoare, Algorithm 65: find, 1961).
func selectRank(values []float64, rank int) float64 {
	for from, to := 0, len(values)-1; from < to; {
		pivot := values[from+(to-from)/2]
		i, j := from, to
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case rank <= j:
			to = j
		case rank >= i:
			from = i
		default:
			from = to
		}
	}
	return values[rank]
}
