package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func times(v float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = v
	}
	return values
}

func TestPopulation(t *testing.T) {
	c := NewBootstrap(1).Population([]Stratum{
		{Weight: 3, Before: times(100, 6), After: times(50, 8)},
		{Weight: 1, Before: times(1000, 6), After: times(2000, 6)},
		{Weight: 9, Before: nil, After: times(1, 6)}, // counts for nothing
	}, 0.05, 1)
	ratio := math.Pow(0.5, 0.75) * math.Pow(2, 0.25)
	want := Change{Before: 100, After: 50, Ratio: ratio, Low: ratio, High: ratio, Better: 0.75, Worse: 0.25, Enough: true}
	for _, pair := range [][2]float64{{c.Before, want.Before}, {c.After, want.After}, {c.Ratio, want.Ratio}, {c.Low, want.Low}, {c.High, want.High}, {c.Better, want.Better}, {c.Worse, want.Worse}} {
		if !near(pair[0], pair[1]) {
			t.Fatalf("%+v, want %+v", c, want)
		}
	}
	if c := NewBootstrap(1).Population(nil, 0.05, 1); c != (Change{}) {
		t.Errorf("without values: %+v", c)
	}
}

// TestSharesCountPairs: of the pairs of 100, 200 before and 96, 150 after, one falls and one rises by more than a twentieth.
func TestSharesCountPairs(t *testing.T) {
	c := NewBootstrap(1).Population([]Stratum{{Weight: 1, Before: []float64{100, 200}, After: []float64{96, 150}}}, 0.05, 1)
	if c.Better != 0.5 || c.Worse != 0.25 || c.Enough {
		t.Errorf("%+v", c)
	}
}

func TestWeightedMedian(t *testing.T) {
	of := func(s Stratum) []float64 { return s.Before }
	for _, c := range []struct {
		strata []Stratum
		want   float64
	}{
		{[]Stratum{{Weight: 1, Before: []float64{3, 1, 2}}}, 2},
		{[]Stratum{{Weight: 1, Before: []float64{1}}, {Weight: 1, Before: []float64{9}}}, 1},
		{[]Stratum{{Weight: 1, Before: []float64{1}}, {Weight: 1.01, Before: []float64{9}}}, 9},
		{[]Stratum{{Weight: 60, Before: []float64{10, 20, 30}}, {Weight: 40, Before: []float64{1, 2}}}, 10},
	} {
		if got := weightedMedian(c.strata, of); got != c.want {
			t.Errorf("%+v: %v, want %v", c.strata, got, c.want)
		}
	}
}

// TestAPopulationNeedsMoreValuesForMoreComparisons: the range of n values misses the median with a probability of 2^(1-n).
func TestAPopulationNeedsMoreValuesForMoreComparisons(t *testing.T) {
	for comparisons, least := range map[int]int{1: 6, 2: 7, 20: 10, 25: 10, 26: 11} {
		for n := least - 1; n <= least; n++ {
			c := NewBootstrap(1).Population([]Stratum{{Weight: 1, Before: upTo(n), After: upTo(n)}}, 0.05, comparisons)
			if c.Enough != (n == least) || c.Enough == (c.High == 0) {
				t.Errorf("%d values, %d comparisons: %+v", n, comparisons, c)
			}
		}
	}
}

// TestThePopulationsIntervalCovers checks that of ten comparisons of equal samples with each other, few find a difference.
func TestThePopulationsIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	draw := func() []float64 {
		values := make([]float64, 10)
		for i := range values {
			values[i] = 100 + 10*random.ExpFloat64()
		}
		return values
	}
	const families, comparisons = 30, 10
	wrong := 0
	for range families {
		for range comparisons {
			c := NewBootstrap(1).Population([]Stratum{{Weight: 1, Before: draw(), After: draw()}, {Weight: 2, Before: draw(), After: draw()}}, 0.05, comparisons)
			if c.Low > 1 || c.High < 1 {
				wrong++
				break
			}
		}
	}
	if wrong > families/10 {
		t.Errorf("%d of %d families of comparisons found a difference between samples of one distribution, want about 1 in 20", wrong, families)
	}
}
