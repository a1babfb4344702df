package study

import (
	"cmp"
	"slices"
)

// Growth is a claim's statement that the ratio or the difference of its two sides grows with a number of their cells.
type Growth struct {
	Along string // ID of the number, as "loss"; empty: the claim is about its Ratio
	Of    string // OfRatio or OfDifference
}

// What may grow.
const (
	OfRatio      = "ratio"
	OfDifference = "difference"
)

// FewestSteps is how many values of its number a claim of growth needs: between two, anything that differs grows or shrinks.
const FewestSteps = 3

// Place is a pair of cells at its value of the number along which a claim compares them.
type Place struct {
	Pair int // its index
	At   float64
}

// Along puts those pairs together that differ only in the number, lowest first. Pairs that do not have the number, or
// not the same on both sides, are left out.
func (n Number) Along(pairs [][2]Cell) [][]Place {
	var all [][]Place
	at := map[[2]string]int{}
	for i, p := range pairs {
		a, hasA := n.Of(p[0])
		b, hasB := n.Of(p[1])
		if !hasA || !hasB || a != b {
			continue
		}
		var key [2]string
		for side, c := range p {
			key[side] = c.But(n.Axis) + "\x00" + Beside(c, n)
		}
		g, known := at[key]
		if !known {
			g = len(all)
			at[key], all = g, append(all, nil)
		}
		all[g] = append(all[g], Place{i, a})
	}
	for _, places := range all {
		slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.At, b.At) })
	}
	return all
}
