package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// divisions calls f with each way to choose n of the values: the chosen and the others.
func divisions(values []float64, n int, f func(x, y []float64)) {
	for chosen := range uint(1) << len(values) {
		if bits.OnesCount(chosen) != n {
			continue
		}
		var x, y []float64
		for i, v := range values {
			if chosen>>i&1 == 1 {
				x = append(x, v)
			} else {
				y = append(y, v)
			}
		}
		f(x, y)
	}
}

// TestRankTestCountsAllDivisions compares with a count of the divisions whose Cliff's delta is at least as far from 0, which
// is the same order, with and without ties.
func TestRankTestCountsAllDivisions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for _, c := range []struct{ n, m, distinct int }{{1, 1, 9}, {3, 4, 1 << 30}, {6, 6, 1 << 30}, {5, 7, 4}, {4, 4, 2}, {5, 5, 1}, {2, 9, 5}} {
		values := make([]float64, c.n+c.m)
		for i := range values {
			values[i] = float64(random.IntN(c.distinct))
		}
		observed := math.Abs(CliffsDelta(values[:c.n], values[c.n:]))
		far, all := 0, 0
		divisions(values, c.n, func(x, y []float64) {
			all++
			if math.Abs(CliffsDelta(x, y)) >= observed-1e-12 {
				far++
			}
		})
		if got, want := RankTest(values[:c.n], values[c.n:]), float64(far)/float64(all); !near(got, want) {
			t.Errorf("%d and %d values of %d: p is %v, want %d of %d divisions", c.n, c.m, c.distinct, got, far, all)
		}
	}
}

func TestRankTestKnown(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{nil, []float64{1}, 1},
		{[]float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11, 12}, 2.0 / 924},
		// R: wilcox.test(c(0.8,0.83,1.89,1.04,1.45,1.38,1.91,1.64,0.73,1.46), c(1.15,0.88,0.9,0.74,1.21)), Hollander and Wolfe's example
		{[]float64{0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.9, 0.74, 1.21}, 0.2544122544122544},
	} {
		if got := RankTest(c.x, c.y); !near(got, c.want) {
			t.Errorf("RankTest(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if got, want := SmallestRankP(6, 6), 2.0/924; !near(got, want) {
		t.Errorf("the smallest p of six and six values is %v, want %v", got, want)
	}
}

// TestRankTestGoesOnFromTheExactOne: where the normal distribution takes over, p goes on as it was.
func TestRankTestGoesOnFromTheExactOne(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	for _, shift := range []float64{0, 0.3, 0.6, 0.9} {
		x, y := make([]float64, mostExact/2), make([]float64, mostExact/2)
		for i := range x {
			x[i], y[i] = math.Round(10*random.ExpFloat64()), math.Round(10*(random.ExpFloat64()+shift))
		}
		ranks, sum := doubledRanks(x, y)
		off := sum - len(x)*(len(ranks)+1)
		exact, normal := exactRankTest(ranks, len(x), max(off, -off)), normalRankTest(ranks, len(x), max(off, -off))
		if math.Abs(exact-normal) > 0.02*max(exact, 0.05) {
			t.Errorf("shift %v: p is %v exactly and %v by the normal distribution", shift, exact, normal)
		}
	}
}

// TestRankTestHoldsItsLevel: of pairs of samples from one distribution, p is at most 0.05 in no more than 5 %.
func TestRankTestHoldsItsLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	const pairs = 4000
	for _, n := range []int{6, 12, 40} {
		low := 0
		for range pairs {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = math.Round(5*random.ExpFloat64()), math.Round(5*random.ExpFloat64())
			}
			if RankTest(x, y) <= 0.05 {
				low++
			}
		}
		// 2.6 standard deviations above 5 %
		if share := float64(low) / pairs; share > 0.05+0.009 {
			t.Errorf("with %d values on each side, p is at most 0.05 in %.3f of the pairs", n, share)
		}
	}
}

func TestCliffsDelta(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
		word string
	}{
		{[]float64{1, 2}, []float64{3, 4}, 1, "large"},
		{[]float64{3, 4}, []float64{1, 2}, -1, "large"},
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0, "negligible"},
		{[]float64{1, 2, 3, 4}, []float64{2, 3, 3, 9}, 5.0 / 16, "small"},
		{[]float64{1, 2, 3, 4}, []float64{0, 2, 2, 2}, -7.0 / 16, "medium"},
		{nil, []float64{1}, 0, "negligible"},
	} {
		if got := CliffsDelta(c.x, c.y); !near(got, c.want) || EffectSize(got) != c.word {
			t.Errorf("CliffsDelta(%v, %v) = %v, %s; want %v, %s", c.x, c.y, got, EffectSize(got), c.want, c.word)
		}
	}
}

func TestHolm(t *testing.T) {
	// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if got := Holm([]float64{0.01, 0.04, 0.03, 0.005})[i]; !near(got, want) {
			t.Errorf("adjusted p %d is %v, want %v", i, got, want)
		}
	}
	if got := Holm([]float64{0.7, 0.6}); got[0] != 1 || got[1] != 1 {
		t.Errorf("adjusted p-values are %v, want 1", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("without tests: %v", got)
	}
}

func TestFalseDiscovery(t *testing.T) {
	// R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.9), "BH")
	for i, want := range []float64{0.025, 0.05, 0.05, 0.025, 0.9} {
		if got := FalseDiscovery([]float64{0.01, 0.04, 0.03, 0.005, 0.9})[i]; !near(got, want) {
			t.Errorf("adjusted p %d is %v, want %v", i, got, want)
		}
	}
}

// TestPermutationTest compares with a count of all divisions.
func TestPermutationTest(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 12, 16, 15, 13}
	for _, s := range []Statistic{"mean", "p75"} {
		observed := math.Abs(s.Of(values[5:]) - s.Of(values[:5]))
		far, all := 0, 0
		divisions(values, 5, func(x, y []float64) {
			all++
			if math.Abs(s.Of(y)-s.Of(x)) >= observed-1e-9 {
				far++
			}
		})
		got, want := NewBootstrap(1).PermutationTest(values[:5], values[5:], s), float64(far)/float64(all)
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%s: p is %v, want about %v", s, got, want)
		}
	}
	if got := NewBootstrap(1).PermutationTest(nil, values, "mean"); got != 1 {
		t.Errorf("the p-value of nothing is %v", got)
	}
}

func TestShift(t *testing.T) {
	x, y := []float64{100, 100, 100, 100, 100, 100, 100}, []float64{103, 103, 103, 103, 103, 103}
	s := NewBootstrap(1).Shift(x, y, "median", 0.95)
	want := Shift{From: 100, To: 103, Value: 3, Low: 3, High: 3, Share: 0.03, ShareLow: 0.03, ShareHigh: 0.03, Relative: true, Enough: true}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if s := NewBootstrap(1).Shift(x, y, "median", 0.99); s.Enough || s.Low != 0 {
		t.Errorf("six values give an interval of 99 %%: %+v", s)
	}
	if s := NewBootstrap(1).Shift(x, []float64{-1, 1, 1, 1, 1, 1}, "median", 0.95); s.Relative || s.Share != 0 {
		t.Errorf("a negative value has a share: %+v", s)
	}
	if s := NewBootstrap(1).Shift(nil, y, "median", 0.95); s != (Shift{}) {
		t.Errorf("without values: %+v", s)
	}
	random := rand.New(rand.NewPCG(1, 0))
	x, y = make([]float64, 30), make([]float64, 40)
	for i := range x {
		x[i] = 100 + random.NormFloat64()
	}
	for i := range y {
		y[i] = 110 + random.NormFloat64()
	}
	for _, of := range []Statistic{"median", "mean"} {
		narrow, wide := NewBootstrap(1).Shift(x, y, of, 0.9), NewBootstrap(1).Shift(x, y, of, 0.99)
		if !(wide.Low < narrow.Low && narrow.Low < narrow.Value && narrow.Value < narrow.High && narrow.High < wide.High) || narrow.Low < 8 || narrow.ShareHigh > 0.12 {
			t.Errorf("%s: 90 %%: %+v, 99 %%: %+v", of, narrow, wide)
		}
	}
	d, c := NewBootstrap(1).Shift(x, y, "median", 0.95), NewBootstrap(1).Compare(x, y)
	if !near(d.Low, -c.High) || !near(d.High, -c.Low) {
		t.Errorf("Shift gives %+v, Compare %+v of the same samples", d, c)
	}
}

// TestNeeded: samples of the size that is asked for do decide, mostly, and much smaller ones do not.
func TestNeeded(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	draw := func(n int, shift float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = 100 + shift + 10*random.NormFloat64()
		}
		return values
	}
	d := Decision{Of: "median", Alpha: 0.05, Level: 0.95, SmallestP: func(n int) float64 { return SmallestRankP(n, n) }}
	n := NewBootstrap(1).Needed(draw(25, 0), draw(25, 4), d, 2000)
	if n < 40 || n > 1000 {
		t.Fatalf("%d values are needed; the two-sample test of normal values with a shift of 0.4 standard deviations needs 99, that of medians some 155", n)
	}
	decided := func(n int) (count int) {
		b := NewBootstrap(1)
		for range 100 {
			x, y := draw(n, 0), draw(n, 4)
			if s := b.Shift(x, y, "median", 0.95); RankTest(x, y) <= 0.05 && (s.Low > 0 || s.High < 0) {
				count++
			}
		}
		return count
	}
	if got := decided(150); got < 60 {
		t.Errorf("of 100 pairs of 150 values %d are decided", got)
	}
	if got := NewBootstrap(1).Needed(draw(20, 0), draw(20, 0), d, 60); got != 0 {
		t.Errorf("for samples without a difference %d values would do, want more than 60", got)
	}
	d.Alpha = 1e-6
	same := []float64{1, 1, 1, 1, 1, 1}
	if got := NewBootstrap(1).Needed(same, []float64{2, 2, 2, 2, 2, 2}, d, 100); got != 12 {
		t.Errorf("%d values are needed; the test has a p-value of 1e-6 with 12 and 12 at least", got)
	}
}
