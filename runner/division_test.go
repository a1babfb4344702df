package runner

import (
	"fmt"
	"slices"
	"testing"

	"wiretime/network"
	"wiretime/study"
)

// TestBatchesOfPlaces: a batch is of one place, has ten loads at most, and has them in the order of the plan. A session stays whole
// whatever its length, and beside batches of places those of guests are what they are without.
func TestBatchesOfPlaces(t *testing.T) {
	page := flags(t)
	var d batching
	place := func(index int, at string, loads int) {
		var jobs []*job
		for n := range loads {
			values := map[study.Axis]string{study.AxisAt: at, study.AxisProtocol: "h2", study.AxisLoader: "builtin", study.AxisClock: study.ClockReal}
			if at == study.PlaceAny {
				values[study.AxisClock] = study.ClockVirtual
			}
			j := pageJob(t, &run{}, page, network.Path{}, values)
			j.planned.Index = index + n
			jobs = append(jobs, j)
		}
		b := d.batchOf(jobs)
		for _, j := range jobs {
			b.Loads = append(b.Loads, BatchLoad{Index: j.planned.Index})
		}
	}
	for i := range 22 {
		place(i, []string{"a", "b"}[i%2], 1)
		if i%10 == 0 {
			place(100+i, study.PlaceAny, 1)
		}
	}
	place(200, "b", 12)
	place(300, "b", 1)
	place(400, "a", 4)
	place(500, "a", 5)
	place(600, "a", 1)
	var got []string
	for _, b := range d.all {
		var indices []int
		for _, l := range b.Loads {
			indices = append(indices, l.Index)
		}
		got = append(got, fmt.Sprintf("%s %d %v", b.At, b.Number, indices))
	}
	want := []string{
		"a 0 [0 2 4 6 8 10 12 14 16 18]", " 0 [100 110 120]", "b 0 [1 3 5 7 9 11 13 15 17 19]", "a 0 [20 400 401 402 403 500 501 502 503 504]", "b 0 [21]",
		"b 0 [200 201 202 203 204 205 206 207 208 209 210 211]", "b 0 [300]", "a 0 [600]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the batches are\n%q\nwant\n%q", got, want)
	}
}
