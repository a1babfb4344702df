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

// TestAnIntervalNeedsEnoughValues checks how many values a statistic needs for an interval.
func TestAnIntervalNeedsEnoughValues(t *testing.T) {
	for s, least := range map[Statistic]int{"median": 6, "mean": 6, "p50": 6, "p90": 29, "p95": 59, "p5": 59} {
		b := NewBootstrap(1)
		for n, want := range map[int]bool{1: false, least - 1: false, least: true} {
			e, r := b.Estimate(upTo(n), s), b.CompareRatioOf(upTo(n), s, upTo(n), s)
			if e.Reached != want || r.Enough != want {
				t.Errorf("%s of %d values: interval %t, of a ratio %t, want %t", s, n, e.Reached, r.Enough, want)
			}
		}
	}
	for _, s := range []Statistic{"min", "max"} {
		e, r := NewBootstrap(1).Estimate(upTo(200), s), NewBootstrap(1).CompareRatioOf(upTo(200), s, upTo(200), s)
		if e.Reached || r.Enough || e.Low != 1 || e.High != 200 || r.Low != 0 || r.High != 0 {
			t.Errorf("%s of 200 values has an interval: %+v, of a ratio %+v", s, e, r)
		}
	}
}

// TestTheRatioOfStatistics checks the ratio of statistics that differ, and that it lies in its interval.
func TestTheRatioOfStatistics(t *testing.T) {
	x, y := upTo(60), []float64{2, 2, 2, 2, 2, 2}
	for s, want := range map[Statistic]float64{"mean": 30.5 / 2, "p90": 54.1 / 2, "median": 30.5 / 2} {
		r := NewBootstrap(1).CompareRatioOf(x, s, y, "mean")
		if !near(r.Value, want) || !(r.Low < want && want < r.High) {
			t.Errorf("%s: the ratio is %+v, want %v within its interval", s, r, want)
		}
	}
	if r := NewBootstrap(1).CompareRatioOf(nil, "mean", y, "mean"); r != (Ratio{}) {
		t.Errorf("the ratio of nothing is %+v", r)
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
