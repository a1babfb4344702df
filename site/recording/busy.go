package recording

import (
	"cmp"
	"slices"
	"sort"
)

// Span is a period of time, in ms since the first exchange.
type Span struct{ From, To float64 }

// Unite sorts spans and merges those that touch or overlap.
func Unite(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var out []Span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.From <= out[last].To {
			out[last].To = max(out[last].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// within returns how much of the spans lies between two moments.
func within(spans []Span, from, to float64) float64 {
	first := sort.Search(len(spans), func(i int) bool { return spans[i].To > from })
	sum := 0.0
	for _, s := range spans[first:] {
		if s.From >= to {
			break
		}
		sum += min(s.To, to) - max(s.From, from)
	}
	return sum
}
