package study

import "slices"

// Claim states that the ratio of two cells' medians lies in a range, for every pair of cells
// it compares.
type Claim struct {
	Text        string
	Compare, To Side
	For         Selection // narrows both sides, by axes that neither side names
	Ratio       Range     // the claimed range of Compare's median divided by To's
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
// names, its cell may have any of the named values.
func (c Claim) Pairs(cells []Cell) [][2]Cell {
	var pairs [][2]Cell
	for _, a := range cells {
		if !c.Compare.Cells.Picks(a) || !c.For.Picks(a) {
			continue
		}
		for _, b := range cells {
			if c.To.Cells.Picks(b) && c.For.Picks(b) && c.match(a, b) {
				pairs = append(pairs, [2]Cell{a, b})
			}
		}
	}
	return pairs
}

func (c Claim) match(a, b Cell) bool {
	return !slices.ContainsFunc(a.Values, func(v Value) bool { return !c.Names(v.Axis) && v.Word != b.On(v.Axis) })
}

// Names reports whether one of the sides names the axis.
func (c Claim) Names(axis Axis) bool {
	return c.Compare.Cells[axis] != nil || c.To.Cells[axis] != nil
}
