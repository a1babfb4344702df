package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Pair holds two samples that are compared, with the statistic of each.
type Pair struct {
	X, Y     []float64
	OfX, OfY Statistic
}

// Trend says how the comparison of two samples changes over places in a row.
type Trend struct {
	// Step is the mean change from one place to the next: the slope of the least-squares line through the places, counted
	// 0, 1, 2 and so on, however far apart they are. Of ratios it is a factor, the line goes through their logarithms.
	Step      float64
	Low, High float64 // 95 % percentile bootstrap interval of Step
	Enough    bool    // all samples have values enough for an interval, without which Low and High are 0
	Rises     int     // from how many places to the next the comparison rises
	Falls     int     // from how many it falls for certain: the 95 % interval of the change lies below none
}

// TrendOfRatios returns how the ratio of X's statistic to Y's changes from pair to pair. There must be two pairs at least, none of
// whose samples is empty; all values must be positive.
func (b *Bootstrap) TrendOfRatios(pairs []Pair) Trend {
	t := b.trend(pairs, func(x, y float64) float64 { return math.Log(x / y) })
	t.Step = math.Exp(t.Step)
	if t.Enough {
		t.Low, t.High = math.Exp(t.Low), math.Exp(t.High)
	}
	return t
}

// TrendOfDifferences does what TrendOfRatios does for X's statistic less Y's, whose values must be finite.
func (b *Bootstrap) TrendOfDifferences(pairs []Pair) Trend {
	return b.trend(pairs, func(x, y float64) float64 { return x - y })
}

func (b *Bootstrap) trend(pairs []Pair, compare func(x, y float64) float64) Trend {
	sorted := make([]Pair, len(pairs))
	t, places := Trend{Enough: true}, make([]float64, len(pairs))
	for i, p := range pairs {
		p.X, p.Y = slices.Sorted(slices.Values(p.X)), slices.Sorted(slices.Values(p.Y))
		sorted[i], places[i] = p, compare(p.OfX.of(p.X), p.OfY.of(p.Y))
		t.Enough = t.Enough && p.OfX.enough(len(p.X)) && p.OfY.enough(len(p.Y))
		if i > 0 && places[i] > places[i-1] {
			t.Rises++
		}
	}
	t.Step = slope(places)
	if !t.Enough {
		return t
	}
	random, slopes := rand.New(rand.NewPCG(b.seed, 0)), make([]float64, resamples)
	steps := make([][]float64, len(pairs)-1)
	for i := range steps {
		steps[i] = make([]float64, resamples)
	}
	for r := range resamples {
		for i, p := range sorted {
			places[i] = compare(p.OfX.of(resample(p.X, random)), p.OfY.of(resample(p.Y, random)))
			if i > 0 {
				steps[i-1][r] = places[i] - places[i-1]
			}
		}
		slopes[r] = slope(places)
	}
	t.Low, t.High = selectQuantile(slopes, tail), selectQuantile(slopes, 1-tail)
	for _, s := range steps {
		if selectQuantile(s, 1-tail) < 0 {
			t.Falls++
		}
	}
	return t
}

// slope returns that of the least-squares line through values at 0, 1, 2 and so on: exactly 0 if they are equal.
func slope(values []float64) float64 {
	middle, sum, squares := float64(len(values)-1)/2, 0.0, 0.0
	for i, v := range values {
		sum += (float64(i) - middle) * (v - values[0])
		squares += (float64(i) - middle) * (float64(i) - middle)
	}
	return sum / squares
}
