package stats

import (
	"math/rand/v2"
	"testing"
)

func TestStatistics(t *testing.T) {
	values := []float64{4, 1, 3, 2, 10}
	for s, want := range map[Statistic]float64{"median": 3, "mean": 4, "min": 1, "max": 10, "p25": 2, "p90": 7.6} {
		if got := s.Of(values); !near(got, want) {
			t.Errorf("%s is %v, want %v", s, got, want)
		}
	}
	if got := Statistic("mean").Of(nil); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
}

// TestAnIntervalNeedsValuesEnough: how many values a statistic needs for an interval.
func TestAnIntervalNeedsValuesEnough(t *testing.T) {
	for s, least := range map[Statistic]int{"median": 6, "mean": 6, "p50": 6, "p90": 29, "p95": 59, "p5": 59, "min": 0, "max": 0} {
		b := NewBootstrap(1)
		for n := 1; n <= 200; n++ {
			e, r := b.Estimate(upTo(n), s), Ratio{}
			if n < 7 || n == least || n == least-1 {
				r = b.CompareRatioOf(upTo(n), s, upTo(n), s)
			} else {
				r.Enough = e.Reached
			}
			if want := least > 0 && n >= least; e.Reached != want || r.Enough != want {
				t.Fatalf("%s of %d values: interval %t, of a ratio %t, want %t", s, n, e.Reached, r.Enough, want)
			}
			if n > least+1 && n > 7 {
				break
			}
		}
	}
}

// TestTheMeansIntervalCovers checks that the interval holds the true mean about as often as stated.
func TestTheMeansIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	const samples, n = 200, 30
	held := 0
	for range samples {
		values := make([]float64, n)
		for i := range values {
			values[i] = 5 + random.NormFloat64()
		}
		if e := NewBootstrap(1).Estimate(values, "mean"); e.Low <= 5 && 5 <= e.High {
			held++
		}
	}
	if share := float64(held) / samples; share < 0.88 || share > 0.99 {
		t.Errorf("the interval held the mean in %.3f of the samples, want about 0.95", share)
	}
}
