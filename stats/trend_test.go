package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// places returns pairs of samples whose ratios are given, each of n values that scatter by a share.
func places(n int, share float64, ratios ...float64) []Pair {
	random := rand.New(rand.NewPCG(7, 7))
	var pairs []Pair
	for _, ratio := range ratios {
		p := Pair{OfX: "median", OfY: "median"}
		for range n {
			p.X = append(p.X, 100*ratio*(1+share*(random.Float64()-0.5)))
			p.Y = append(p.Y, 100*(1+share*(random.Float64()-0.5)))
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func TestTrend(t *testing.T) {
	for _, test := range []struct {
		name         string
		pairs        []Pair
		step         float64
		rises, falls int
	}{
		{"it doubles at each step", places(6, 0, 1, 2, 4, 8), 2, 3, 0},
		{"it stays", places(6, 0, 3, 3, 3), 1, 0, 0},
		{"it falls to half", places(6, 0, 4, 2, 1), 0.5, 0, 2},
		{"up and down", places(6, 0, 1, 4, 1), 1, 1, 1},
		{"up, down and up", places(6, 0, 1, 4, 2, 16), math.Pow(2, 1.1), 2, 1},
	} {
		got := NewBootstrap(1).TrendOfRatios(test.pairs)
		if !near(got.Step, test.step) || !near(got.Low, test.step) || !near(got.High, test.step) || !got.Enough || got.Rises != test.rises || got.Falls != test.falls {
			t.Errorf("%s: %+v, want steps of %v, %d up and %d down", test.name, got, test.step, test.rises, test.falls)
		}
	}
	got := NewBootstrap(1).TrendOfDifferences(places(6, 0, 1, 2, 4))
	if !near(got.Step, 150) || !near(got.Low, 150) {
		t.Errorf("the difference grows by %+v, want 150", got)
	}
}

// TestTrendOfScatteredValues: the interval holds the true step, and chance alone is no trend.
func TestTrendOfScatteredValues(t *testing.T) {
	for ratio, certain := range map[float64]bool{1: false, 1.2: true} {
		got := NewBootstrap(1).TrendOfRatios(places(20, 0.3, 1, ratio, ratio*ratio, ratio*ratio*ratio))
		if got.Low > ratio || got.High < ratio || got.Low >= got.High {
			t.Errorf("a ratio that grows by %v each step: %+v", ratio, got)
		}
		if (got.Low > 1) != certain || got.Falls != 0 {
			t.Errorf("a ratio that grows by %v each step: %+v; certain is %t", ratio, got, certain)
		}
	}
}

func TestATrendNeedsEnoughValues(t *testing.T) {
	pairs := places(6, 0.1, 1, 2, 3)
	pairs[1].Y = pairs[1].Y[:5]
	if got := NewBootstrap(1).TrendOfRatios(pairs); got.Enough || got.Low != 0 || got.High != 0 || got.Step < 1 {
		t.Errorf("with five values on a side: %+v", got)
	}
}

func TestATrendIsTheSameAgain(t *testing.T) {
	pairs := places(8, 0.3, 1, 1.1, 1.2)
	b := NewBootstrap(3)
	first := b.TrendOfRatios(pairs)
	b.CompareRatio(pairs[0].X, pairs[0].Y)
	if again := b.TrendOfRatios(pairs); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if other := NewBootstrap(4).TrendOfRatios(pairs); other.Low == first.Low && other.High == first.High {
		t.Errorf("another seed gives the same interval: %+v", other)
	}
}
