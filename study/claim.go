package study

import (
	"maps"
	"slices"
)

// Claim states that the ratio of two cells' medians, or of another statistic of them, lies in a range, for every
// pair of cells it compares; or that it grows along a number of the cells.
type Claim struct {
	Text        string
	Statistic   string // of each cell's loads (CheckStatistic)
	Compare, To Side
	For         Selection // narrows both sides, by axes that neither side names
	Ratio       Range     // the claimed range of Compare's statistic divided by To's
	Grows       Growth    // in place of Ratio
}

// Side names one side of a claim: a metric of some cells.
type Side struct {
	Metric string
	Cells  Selection
}

// Range holds a range of ratios, from 0 to +Inf.
type Range struct {
	Low, High float64
	Open      bool   // excludes both ends
	Text      string // as the study writes it, such as "below 1"
}

// Pairs returns the pairs of cells that the claim compares, in the order of cells. Both cells
// of a pair have the same value on every axis that neither side names. On an axis that a side
// names, its cell may have any of the named values. No cell is compared with itself. Loads of sessions are pooled as
// Selection.Pools does it.
func (c Claim) Pairs(cells []Cell) [][2]Cell {
	var pairs [][2]Cell
	to := c.pools(c.To.Cells, cells)
	for _, a := range c.pools(c.Compare.Cells, cells) {
		for _, b := range to {
			if c.match(a, b) && (c.Compare.Metric != c.To.Metric || a.Key() != b.Key()) {
				pairs = append(pairs, [2]Cell{a, b})
			}
		}
	}
	return pairs
}

// pools returns the cells that one side of the claim picks, narrowed by For.
func (c Claim) pools(side Selection, cells []Cell) []Cell {
	narrowed := maps.Clone(c.For)
	if narrowed == nil {
		narrowed = Selection{}
	}
	maps.Copy(narrowed, side) // For names no axis of a side
	return narrowed.Pools(cells)
}

func (c Claim) match(a, b Cell) bool {
	return !slices.ContainsFunc(a.Values, func(v Value) bool { return !c.Names(v.Axis) && v.Word != b.On(v.Axis) })
}

// Names reports whether one of the sides names the axis.
func (c Claim) Names(axis Axis) bool {
	return c.Compare.Cells[axis] != nil || c.To.Cells[axis] != nil
}
