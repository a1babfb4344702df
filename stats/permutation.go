package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// permutations is how many divisions PermutationTest draws.
const permutations = 9_999

// PermutationTest returns the two-sided p-value of a permutation test on the difference of a statistic: how often a division of all
// values into samples of these sizes by chance has as large a difference. It draws 9,999 divisions and counts the samples as one
// more, so that p is never 0 and never too small (Phipson and Smyth, Permutation p-values should never be zero, 2010). An empty
// sample gives 1.
func (b *Bootstrap) PermutationTest(x, y []float64, of Statistic) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	pool := slices.Concat(x, y)
	slices.Sort(pool)
	observed := math.Abs(of.Of(y) - of.Of(x))
	// A sum in another order may differ in its last bit.
	observed -= observed * 1e-12
	random := rand.New(rand.NewPCG(b.seed, 0))
	first, second := make([]float64, 0, len(x)), make([]float64, 0, len(y))
	asLarge := 1
	for range permutations {
		first, second = first[:0], second[:0]
		for i, v := range pool { // each of those left is as likely as any other to be among the first: both stay sorted
			if random.IntN(len(pool)-i) < len(x)-len(first) {
				first = append(first, v)
			} else {
				second = append(second, v)
			}
		}
		if math.Abs(of.of(second)-of.of(first)) >= observed {
			asLarge++
		}
	}
	return float64(asLarge) / (permutations + 1)
}

// SmallestPermutationP is the smallest p-value that PermutationTest can have.
const SmallestPermutationP = 1.0 / (permutations + 1)

// Holm adjusts p-values for their number: if all those with an adjusted p-value of at most a are taken for real differences, the
// probability that any of these is none is at most a, however the tests depend on each other (Holm, A simple sequentially
// rejective multiple test procedure, 1979).
func Holm(p []float64) []float64 {
	order := ascending(p)
	adjusted, least := make([]float64, len(p)), 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(p)-k)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}

// FalseDiscovery adjusts p-values in another way than Holm, which finds more: of those with an adjusted p-value of at most a, a share of at most a is on
// average not real, if the tests do not depend on each other or only in one direction (Benjamini and Hochberg, Controlling the false
// discovery rate, 1995).
func FalseDiscovery(p []float64) []float64 {
	order := ascending(p)
	adjusted, most := make([]float64, len(p)), 1.0
	for k, i := range slices.Backward(order) {
		most = min(most, float64(len(p))/float64(k+1)*p[i])
		adjusted[i] = most
	}
	return adjusted
}

// ascending returns the places of the values, that of the smallest first.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}
