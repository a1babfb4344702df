package stats

import "testing"

// TestIntervals draws intervals for the difference of two means, and for a figure that does not depend on the draw.
func TestIntervals(t *testing.T) {
	x, y := upTo(20), upTo(30) // means 10.5 and 15.5
	mean := func(values []float64, drawn []int) float64 {
		sum := 0.0
		for _, i := range drawn {
			sum += values[i]
		}
		return sum / float64(len(drawn))
	}
	draw := func() []Interval {
		return NewBootstrap(1).Intervals(len(x), len(y), 2, func(fromX, fromY []int, figures []float64) {
			figures[0], figures[1] = mean(y, fromY)-mean(x, fromX), 7
		})
	}
	got := draw()
	// The standard error is sqrt(399/12/20 + 899/12/30) = 2.04.
	if d := got[0]; d.Low < 0.7 || d.Low > 1.3 || d.High < 8.7 || d.High > 9.3 {
		t.Errorf("5 has the interval %+v, want 1 to 9", d)
	}
	if got[1] != (Interval{7, 7}) {
		t.Errorf("a constant has the interval %+v", got[1])
	}
	if again := draw(); again[0] != got[0] {
		t.Errorf("the same seed gives %+v and %+v", got[0], again[0])
	}
	for _, sizes := range [][2]int{{5, 30}, {30, 5}, {0, 0}} {
		if few := NewBootstrap(1).Intervals(sizes[0], sizes[1], 1, func(_, _ []int, _ []float64) { t.Error("there is a draw") }); few != nil {
			t.Errorf("samples of %v values have the intervals %+v", sizes, few)
		}
	}
}
