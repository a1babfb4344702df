package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }

// upTo returns the sample n, n-1, ..., 1.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(n - i)
	}
	return values
}

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Summary
	}{
		{nil, Summary{}},
		{[]float64{3}, Summary{N: 1, Min: 3, P5: 3, P25: 3, Median: 3, P75: 3, P95: 3, Max: 3, Mean: 3}},
		{[]float64{-1, 1}, Summary{N: 2, Min: -1, P5: -0.9, P25: -0.5, Median: 0, P75: 0.5, P95: 0.9, Max: 1, SD: math.Sqrt2}},
		// R: quantile(c(2,4,4,4,5,5,7,9), c(.05,.25,.5,.75,.95)); sd = sqrt(32/7)
		{[]float64{9, 2, 4, 4, 4, 5, 5, 7}, Summary{N: 8, Min: 2, P5: 2.7, P25: 4, Median: 4.5, P75: 5.5, P95: 8.3, Max: 9,
			Mean: 5, SD: math.Sqrt(32.0 / 7), CV: math.Sqrt(32.0/7) / 5}},
	} {
		got := Summarize(c.values)
		for _, pair := range [][2]float64{
			{float64(got.N), float64(c.want.N)}, {got.Min, c.want.Min}, {got.P5, c.want.P5}, {got.P25, c.want.P25},
			{got.Median, c.want.Median}, {got.P75, c.want.P75}, {got.P95, c.want.P95}, {got.Max, c.want.Max},
			{got.Mean, c.want.Mean}, {got.SD, c.want.SD}, {got.CV, c.want.CV},
		} {
			if !near(pair[0], pair[1]) {
				t.Errorf("Summarize(%v)\ngot  %+v\nwant %+v", c.values, got, c.want)
				break
			}
		}
	}
}

func TestSummarizeLeavesTheSampleInItsOrder(t *testing.T) {
	values := []float64{3, 1, 2}
	Summarize(values)
	Median(values)
	NewBootstrap(1).Compare(values, values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("the sample became %v", values)
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]float64{4, 1, 3, 2}, 0, 1},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{4, 1, 3, 2}, 0.9, 3.7},
		{[]float64{4, 1, 3, 2}, 1, 4},
	} {
		if got := Quantile(c.values, c.q); !near(got, c.want) {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.values, c.q, got, c.want)
		}
	}
}

// TestMedian uses ranks and coverages from published tables of the sign test's interval;
// the coverages are sums of binomial coefficients over 2^n.
func TestMedian(t *testing.T) {
	for _, c := range []struct {
		n         int
		low, high float64
		coverage  float64
		reached   bool
	}{
		{1, 1, 1, 0, false},
		{2, 1, 2, 0.5, false},
		{3, 1, 3, 0.75, false},
		{5, 1, 5, 0.9375, false},
		{6, 1, 6, 0.96875, true},
		{8, 1, 8, 0.9921875, true},
		{9, 2, 8, 1 - 2*10.0/512, true},
		{10, 2, 9, 1 - 2*11.0/1024, true},
		{20, 6, 15, 0.958610534667969, true},
		{30, 10, 21, 0.957226054742932, true},
		{100, 40, 61, 0.964799799782276, true},
	} {
		got := Median(upTo(c.n))
		if got.Low != c.low || got.High != c.high || math.Abs(got.Coverage-c.coverage) > 1e-9 || got.Reached != c.reached ||
			got.N != c.n || got.Median != float64(c.n+1)/2 {
			t.Errorf("n = %d: %+v; want %v to %v, coverage %v, reached %v", c.n, got, c.low, c.high, c.coverage, c.reached)
		}
	}
	if got := Median(nil); got != (MedianInterval{}) {
		t.Errorf("without values: %+v", got)
	}
}

// TestMedianCovers checks that the interval holds the true median as often as stated, for a
// distribution with a long tail.
func TestMedianCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	const samples, n = 4000, 10
	held := 0
	for range samples {
		values := make([]float64, n)
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		if m := Median(values); m.Low <= math.Ln2 && math.Ln2 <= m.High {
			held++
		}
	}
	if share := float64(held) / samples; math.Abs(share-0.9785) > 0.01 {
		t.Errorf("the interval held the median in %.4f of the samples, want 0.9785", share)
	}
}

func TestCompareKnown(t *testing.T) {
	constant := func(v float64, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = v
		}
		return values
	}
	for _, c := range []struct {
		name  string
		a, b  []float64
		want  Difference
		clear bool
	}{
		{"constants", constant(5, 6), constant(3, 8), Difference{Value: 2, Low: 2, High: 2, Enough: true}, true},
		{"a smaller constant", constant(3, 6), constant(5, 6), Difference{Value: -2, Low: -2, High: -2, Enough: true}, true},
		{"too few", constant(5, 5), constant(3, 8), Difference{Value: 2, Low: 2, High: 2}, false},
		{"equal", constant(3, 6), constant(3, 6), Difference{Enough: true}, false},
		{"no values", nil, constant(3, 6), Difference{}, false},
	} {
		if got := NewBootstrap(1).Compare(c.a, c.b); got != c.want || got.Clear() != c.clear {
			t.Errorf("%s: %+v, clear %v; want %+v, %v", c.name, got, got.Clear(), c.want, c.clear)
		}
	}
}

func TestCompareRatio(t *testing.T) {
	six := func(v float64) []float64 { return []float64{v, v, v, v, v, v} }
	for _, c := range []struct {
		name string
		a, b []float64
		want Ratio
	}{
		{"constants", six(3), six(4), Ratio{Value: 0.75, Low: 0.75, High: 0.75, Enough: true}},
		{"too few", six(3), []float64{4}, Ratio{Value: 0.75, Low: 0.75, High: 0.75}},
		{"no values", six(3), nil, Ratio{}},
	} {
		if got := NewBootstrap(1).CompareRatio(c.a, c.b); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if r := NewBootstrap(1).CompareRatio([]float64{9, 10, 11, 10, 10, 12}, six(10)); r.Value != 1 || r.Low >= 1 || r.High <= 1 || !r.Enough {
		t.Errorf("%+v, want an interval around 1", r)
	}
}

// TestBootstrapMedian uses the sample 1, 2, 3, whose bootstrap distribution is known: of
// the 27 draws 7 have the median 1, 13 the median 2 and 7 the median 3.
func TestBootstrapMedian(t *testing.T) {
	r := newResampler(3, rand.New(rand.NewPCG(3, 0)))
	seen := map[float64]int{}
	const draws = 54_000
	for range draws {
		seen[r.draw().of([]float64{1, 2, 3})]++
	}
	for value, want := range map[float64]float64{1: 7.0 / 27, 2: 13.0 / 27, 3: 7.0 / 27} {
		if got := float64(seen[value]) / draws; math.Abs(got-want) > 0.01 {
			t.Errorf("the median %v came in %.4f of the draws, want %.4f", value, got, want)
		}
	}
}

func TestCompareIsSeeded(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	a, b := make([]float64, 40), make([]float64, 40)
	for i := range a {
		a[i], b[i] = 100+10*random.NormFloat64(), 120+10*random.NormFloat64()
	}
	first, again, other := NewBootstrap(1).Compare(a, b), NewBootstrap(1).Compare(a, b), NewBootstrap(2).Compare(a, b)
	if first != again {
		t.Errorf("the same seed gave %+v and %+v", first, again)
	}
	if first == other || math.Abs(first.Low-other.Low) > 1 || math.Abs(first.High-other.High) > 1 {
		t.Errorf("another seed gave %+v after %+v: it should differ, and only a little", other, first)
	}
	if !first.Clear() || first.Low < -30 || first.High > -10 {
		t.Errorf("%+v; want an interval around -20 that leaves zero out", first)
	}
}

// TestCompareResamplesTheValues compares with resamples that are drawn, sorted and summarised value by value. The draws that
// an earlier comparison left do not change the interval.
func TestCompareResamplesTheValues(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	b := NewBootstrap(9)
	for _, sizes := range [][2]int{{1, 1}, {6, 6}, {7, 12}, {12, 7}, {6, 6}, {40, 41}} {
		x, y := make([]float64, sizes[0]), make([]float64, sizes[1])
		for i := range x {
			x[i] = math.Round(100 + 10*random.NormFloat64())
		}
		for i := range y {
			y[i] = 120 + 10*random.NormFloat64()
		}
		draws := rand.New(rand.NewPCG(9, 0))
		median := func(of []float64) float64 {
			sorted, drawn := slices.Sorted(slices.Values(of)), make([]float64, len(of))
			for i := range drawn {
				drawn[i] = sorted[draws.IntN(len(sorted))]
			}
			slices.Sort(drawn)
			return (drawn[(len(drawn)-1)/2] + drawn[len(drawn)/2]) / 2
		}
		var differences []float64
		for range resamples {
			ofX := median(x)
			differences = append(differences, ofX-median(y))
		}
		got := b.Compare(x, y)
		if low, high := Quantile(differences, 0.025), Quantile(differences, 0.975); !near(got.Low, low) || !near(got.High, high) {
			t.Errorf("samples of %d and %d values: interval %v to %v, want %v to %v", len(x), len(y), got.Low, got.High, low, high)
		}
	}
}

// TestResamplesAreDrawnOncePerPairOfSizes: a report compares thousands of pairs of samples, most of equal sizes.
func TestResamplesAreDrawnOncePerPairOfSizes(t *testing.T) {
	b := NewBootstrap(1)
	first := &b.drawsOf(20, 20)[0]
	b.Compare(make([]float64, 20), make([]float64, 20))
	b.Compare(make([]float64, 20), make([]float64, 21))
	if again := &b.drawsOf(20, 20)[0]; again != first || len(b.draws) != 2 {
		t.Errorf("the draws were made again: there are %d sets for 2 pairs of sizes", len(b.draws))
	}
	for n := range 3 * mostSizes {
		b.drawsOf(1, n+1)
	}
	if len(b.draws) > mostSizes {
		t.Errorf("%d sets of draws are kept, want at most %d", len(b.draws), mostSizes)
	}
}

func TestSelectQuantile(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 0))
	for _, distinct := range []int{1, 2, 10, 1 << 30} {
		for n := 1; n < 300; n++ {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(random.IntN(distinct))
			}
			q := random.Float64()
			if want, got := Quantile(values, q), selectQuantile(values, q); got != want {
				t.Fatalf("the %v-quantile of %d values is %v, want %v", q, n, got, want)
			}
		}
	}
}

// TestMedianFindsTheNarrowestInterval compares with a search from the ends of the sample inwards.
func TestMedianFindsTheNarrowestInterval(t *testing.T) {
	for n := 1; n <= 1000; n++ {
		k, below := 1, distuv.Binomial{N: float64(n), P: 0.5}
		for k < n/2 && coverage(below, k+1) >= confidence {
			k++
		}
		if got := Median(upTo(n)); got.Low != float64(k) || got.Reached != reachable(n) {
			t.Fatalf("of %d values the interval begins with value %v, want %d; reached %v", n, got.Low, k, got.Reached)
		}
	}
}

// BenchmarkCompare compares samples of equal sizes, as the cells of a run mostly have.
func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 0))
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = random.Float64(), random.Float64()
			}
			bootstrap := NewBootstrap(1)
			for b.Loop() {
				bootstrap.Compare(x, y)
			}
		})
	}
}
