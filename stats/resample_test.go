package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMiddlesOfLargeResamples: where the median of a resample lies has the same distribution, whether all values are drawn or its
// place alone. The seeds are fixed, so the test always sees the same draws.
func TestMiddlesOfLargeResamples(t *testing.T) {
	for _, n := range []int{mostDrawn + 1, mostDrawn + 2, 4 * mostDrawn} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const draws = 20_000
			places := map[bool][]float64{}
			gaps := map[bool]float64{}
			for _, whole := range []bool{true, false} {
				r := newResampler(n, rand.New(rand.NewPCG(7, 0)))
				if whole {
					r.counts = make([]int32, n)
				}
				for range draws {
					m := r.draw()
					places[whole] = append(places[whole], float64(m.low))
					gaps[whole] += float64(m.high-m.low) / draws
				}
				slices.Sort(places[whole])
			}
			spread := math.Sqrt(float64(n)) / 2 // of the place of a median, in values
			for _, q := range []float64{0.001, 0.025, 0.25, 0.5, 0.75, 0.975, 0.999} {
				drawn, alone := quantile(places[true], q), quantile(places[false], q)
				if d := math.Abs(drawn - alone); d > 0.1*spread && !(q < 0.01 || q > 0.99) || d > 0.4*spread {
					t.Errorf("quantile %v of the places is %v where all values are drawn, %v where the place alone is", q, drawn, alone)
				}
			}
			if n%2 == 1 && (gaps[true] != 0 || gaps[false] != 0) {
				t.Errorf("the median of %d values lies between two", n)
			}
			if n%2 == 0 && math.Abs(gaps[true]-gaps[false]) > 0.03 {
				t.Errorf("the two values in the middle are %v places apart where all are drawn, %v where their places alone are", gaps[true], gaps[false])
			}
		})
	}
}
