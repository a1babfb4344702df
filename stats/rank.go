package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// RankTest returns the two-sided p-value of the Wilcoxon–Mann–Whitney test: how often a random split of all values into
// samples of these sizes has ranks at least as uneven as those of x and y. If x and y come from the same distribution, p is at most
// 0.05 in at most 5 % of comparisons, and likewise for any other level. Equal values share their mean rank. Up to 40 values p is exact, from the distribution
// of the sum of ranks over all divisions; with more it is that of the normal distribution, with the corrections for ties and for
// continuity (Lehmann, Nonparametrics, 1975, sections 1.2 to 1.4). An empty sample gives 1.
func RankTest(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	ranks, sum := doubledRanks(x, y)
	// Doubled ranks are whole numbers. off is how far the doubled sum of ranks is from its mean.
	off := sum - len(x)*(len(x)+len(y)+1)
	if len(ranks) <= mostExact {
		return exactRankTest(ranks, len(x), max(off, -off))
	}
	return normalRankTest(ranks, len(x), max(off, -off))
}

// mostExact is up to how many values RankTest counts all divisions, which takes time in proportion to their fourth power:
// a millisecond for 40.
const mostExact = 40

// doubledRanks returns twice the rank of each value in both samples together, in ascending order, and the sum of those of x.
func doubledRanks(x, y []float64) (ranks []int, sum int) {
	type value struct {
		of float64
		x  bool
	}
	all := make([]value, 0, len(x)+len(y))
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.of, b.of) })
	ranks = make([]int, len(all))
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].of == all[from].of {
			to++
		}
		for i := from; i < to; i++ {
			ranks[i] = from + 1 + to // twice the mean of the ranks from+1 to to
			if all[i].x {
				sum += ranks[i]
			}
		}
		from = to
	}
	return ranks, sum
}

// exactRankTest counts the divisions whose sum of doubled ranks is at least so far from its mean.
func exactRankTest(ranks []int, n, off int) float64 {
	largest := 0
	for _, r := range ranks {
		largest += r
	}
	// ways[k][s] is the number of choices of k values with the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, largest+1)
	}
	ways[0][0] = 1
	reached := 0
	for i, r := range ranks {
		reached += r
		for k := min(i+1, n); k > 0; k-- {
			for s := reached; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	mean := n * (len(ranks) + 1)
	far, all := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if s-mean >= off || mean-s >= off {
			far += w
		}
	}
	return min(1, far/all)
}

func normalRankTest(ranks []int, n, off int) float64 {
	all := float64(len(ranks))
	ties := 0.0
	for from := 0; from < len(ranks); {
		to := from
		for to < len(ranks) && ranks[to] == ranks[from] {
			to++
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	variance := float64(n) * (all - float64(n)) / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	z := max(0, float64(off)/2-0.5) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// SmallestRankP returns the smallest p-value that RankTest can have for samples of n and m values.
func SmallestRankP(n, m int) float64 {
	log := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	return min(1, 2*math.Exp(log(n)+log(m)-log(n+m)))
}

// CliffsDelta returns by how much more often a value of y is larger than one of x than the other way round, from -1 (every
// value of y is smaller than every one of x) to 1 (every one is larger); 0 if a sample is empty (Cliff, Dominance statistics,
// Psychological Bulletin 114, 1993). RankTest tests whether it is 0.
func CliffsDelta(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	sum := 0
	for _, v := range y {
		below, _ := slices.BinarySearch(x, v)
		above := below
		for above < len(x) && x[above] == v {
			above++
		}
		sum += below - (len(x) - above)
	}
	return float64(sum) / float64(len(x)) / float64(len(y))
}

// EffectSize returns the usual word for a Cliff's delta: negligible, small, medium or large, with the limits 0.147, 0.33 and 0.474
// (Romano et al., Appropriate statistics for ordinal level data, 2006).
func EffectSize(delta float64) string {
	switch d := math.Abs(delta); {
	case d < 0.147:
		return "negligible"
	case d < 0.33:
		return "small"
	case d < 0.474:
		return "medium"
	}
	return "large"
}
