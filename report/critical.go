package report

import (
	"fmt"
	"math"

	"wiretime/critical"
	"wiretime/stats"
	"wiretime/store"
)

// Critical describes the critical path of the load that represents a cell: the valid one whose
// onLoad is nearest to the median. It is one load, not an average.
type Critical struct {
	Load    int     `json:"load"`
	OnLoad  int64   `json:"onLoad"`  // ns; of a visit to several pages the sum
	Kinds   []int64 `json:"kinds"`   // ns, in the order of Data.Kinds; they add up to OnLoad
	Verdict string  `json:"verdict"` // in words; of the last page
}

// Explain adds the critical path to each cell of a run. find returns the paths of a load's pages,
// none if the load left no artefacts; its errors end Explain.
func (d *Data) Explain(st *store.Store, find func(store.Load) ([]*critical.Path, error)) error {
	loads, err := st.Loads(d.Run)
	if err != nil {
		return err
	}
	d.Kinds = nil
	for _, k := range critical.Kinds() {
		d.Kinds = append(d.Kinds, k.String())
	}
	for i := range d.Cells {
		l := medianOnLoad(d.Cells[i].Loads, loads)
		if l < 0 {
			continue
		}
		paths, err := find(loads[l])
		if err != nil {
			return fmt.Errorf("find the critical path of load %s: %w", loads[l].ID, err)
		}
		if len(paths) == 0 {
			continue
		}
		c := &Critical{Load: l, Kinds: make([]int64, len(d.Kinds))}
		for _, p := range paths {
			for k, sum := range p.Sums() {
				c.Kinds[k] += sum
			}
			c.OnLoad += p.OnLoad
			c.Verdict = p.Verdict()
		}
		d.Cells[i].Critical = c
	}
	return nil
}

// medianOnLoad returns the index in loads of the cell's valid load with artefacts whose onLoad is
// nearest to the median, or -1 if there is none.
func medianOnLoad(cell []int, loads []store.Load) int {
	var values []float64
	var usable []int
	for _, i := range cell {
		if v, ok := loads[i].Values["onload"]; ok && loads[i].Validity == store.Valid && loads[i].Artefacts != "" {
			values, usable = append(values, v), append(usable, i)
		}
	}
	if len(values) == 0 {
		return -1
	}
	median, best, nearest := stats.Median(values).Median, -1, math.Inf(1)
	for _, i := range usable {
		if gap := math.Abs(loads[i].Values["onload"] - median); gap < nearest {
			best, nearest = i, gap
		}
	}
	return best
}
