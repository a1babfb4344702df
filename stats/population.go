package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Stratum holds what one part of a population measured before and after a change.
type Stratum struct {
	Weight        float64   // of the part, above 0
	Before, After []float64 // finite and positive; neither is empty
}

// Change says how a change moves a population.
type Change struct {
	Before, After float64 // weighted medians of all values
	// Ratio is the weighted geometric mean, over the strata, of the ratio of the medians: below 1
	// where values fall. Unlike that of the weighted medians, it feels a change in every stratum.
	Ratio     float64
	Low, High float64 // interval of Ratio; 0 unless Enough
	// Better and Worse are the parts of the population, 0 to 1, whose value falls or rises by more than
	// the tolerance: for a value after and one before, each drawn from the same stratum.
	Better, Worse float64
	// Enough says that the samples are large enough for the interval: that in each stratum the range of
	// the values contains the median with the interval's confidence.
	Enough bool
}

// populationResamples is the number of bootstrap draws for the interval of a population. The ends of an
// interval that is corrected for n comparisons are the 0.025/n-quantiles.
const populationResamples = 4000

// Population compares the values of a population before and after a change. tolerance is the relative change
// within which a value stays as it is. The interval has 95 % confidence for all of so many comparisons
// together (Bonferroni), and is a percentile bootstrap within each stratum. Strata without values count
// for nothing; without any, Population returns the zero Change.
func (b *Bootstrap) Population(strata []Stratum, tolerance float64, comparisons int) Change {
	strata = slices.DeleteFunc(slices.Clone(strata), func(s Stratum) bool { return len(s.Before) == 0 || len(s.After) == 0 })
	if len(strata) == 0 {
		return Change{}
	}
	var c Change
	sum, missed := 0.0, 2*tail/float64(max(1, comparisons))
	c.Enough = true
	for i, s := range strata {
		strata[i].Before, strata[i].After = slices.Sorted(slices.Values(s.Before)), slices.Sorted(slices.Values(s.After))
		sum += s.Weight
		c.Enough = c.Enough && math.Pow(0.5, float64(min(len(s.Before), len(s.After))-1)) <= missed
	}
	logs := make([]float64, populationResamples)
	random := rand.New(rand.NewPCG(b.seed, 1))
	for _, s := range strata {
		part := s.Weight / sum
		c.Ratio += part * math.Log(quantile(s.After, 0.5)/quantile(s.Before, 0.5))
		better, worse := exceed(s.Before, s.After, tolerance)
		c.Better += part * better
		c.Worse += part * worse
		before, after := newResampler(len(s.Before), random), newResampler(len(s.After), random)
		for i := range logs {
			logs[i] += part * math.Log(after.draw().of(s.After)/before.draw().of(s.Before))
		}
	}
	c.Ratio = math.Exp(c.Ratio)
	if c.Enough {
		c.Low, c.High = math.Exp(selectQuantile(logs, missed/2)), math.Exp(selectQuantile(logs, 1-missed/2))
	}
	c.Before = weightedMedian(strata, func(s Stratum) []float64 { return s.Before })
	c.After = weightedMedian(strata, func(s Stratum) []float64 { return s.After })
	return c
}

// exceed returns how large a part of all pairs of a value before and one after fall, and rise, by more than the tolerance.
func exceed(before, after []float64, tolerance float64) (better, worse float64) {
	pairs := float64(len(before) * len(after))
	for _, b := range before {
		for _, a := range after {
			switch {
			case a < b*(1-tolerance):
				better++
			case a > b*(1+tolerance):
				worse++
			}
		}
	}
	return better / pairs, worse / pairs
}

// weightedMedian returns the least value up to which the values have half of all weight, each value its part of its stratum's.
func weightedMedian(strata []Stratum, of func(Stratum) []float64) float64 {
	type weighted struct{ value, weight float64 }
	var all []weighted
	sum := 0.0
	for _, s := range strata {
		for _, v := range of(s) {
			all = append(all, weighted{v, s.Weight / float64(len(of(s)))})
		}
		sum += s.Weight
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	below := 0.0
	for _, w := range all {
		if below += w.weight; below >= sum/2*(1-1e-12) {
			return w.value
		}
	}
	return all[len(all)-1].value
}
