package report

import (
	"fmt"

	"wiretime/critical"
	"wiretime/store"
)

// Critical describes the critical path of a cell's median load. It is one load, not an average.
type Critical struct {
	Load    int     `json:"load"`
	OnLoad  int64   `json:"onLoad"`  // ns; of a visit to several pages the sum
	Kinds   []int64 `json:"kinds"`   // ns, in the order of Data.Kinds; they add up to OnLoad
	Verdict string  `json:"verdict"` // in words; of the last page
}

// Explain adds the critical path of its median load to each cell. find returns the paths of a load's pages,
// none if the load left no artefacts; its errors end Explain.
func (d *Data) Explain(find func(store.Load) ([]*critical.Path, error)) error {
	d.Kinds = nil
	for _, k := range critical.Kinds() {
		d.Kinds = append(d.Kinds, k.String())
	}
	for i := range d.Cells {
		l := d.Cells[i].MedianLoad
		if l < 0 {
			continue
		}
		paths, err := find(d.loads[l])
		if err != nil {
			return fmt.Errorf("find the critical path of load %s: %w", d.loads[l].ID, err)
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
