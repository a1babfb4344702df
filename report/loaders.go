package report

import (
	"fmt"
	"math"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// chromium is the loader that others are compared with.
const chromium = "chromium"

// near is the largest distance of the ratio of two medians from 1 at which two loaders count as
// near each other; apart is the distance beyond which one of two protocols counts as faster.
const (
	near  = 0.10
	apart = 0.05
)

// Loaders compares a loader of a run with Chromium.
type Loaders struct {
	Loader string // the other one
	Pairs  []LoaderPair
	// Near and Measured count the pairs whose median onLoad is within 10 %, and all.
	Near, Measured int
	// Ranked counts the pairs of protocols, all else being equal, whose medians with Chromium
	// differ by more than 5 %; SameRank counts those that the other loader ranks alike.
	Ranked, SameRank int
}

// LoaderPair is two cells that differ in nothing but their loader.
type LoaderPair struct {
	Browser, Other   int     // cells
	DCL, OnLoad, PLT float64 // ratios of medians, the other's to Chromium's; 0 where a side has none
	Order            float64 // the share of pairs of resources asked for in the same order; -1: not known
}

// CompareLoaders pairs the cells that a run loaded with Chromium with those of each other loader.
// It returns none if there are no such pairs. Cells are indices of results. asked returns the URLs
// that a cell's median load requested, in order.
func CompareLoaders(results []store.Result, asked func(cell int) ([]string, error)) ([]*Loaders, error) {
	browsers := map[string]int{} // the first cell of Chromium by what it loads
	for i, r := range slices.Backward(results) {
		if r.Cell.By() == chromium {
			browsers[r.Cell.But(study.AxisLoader)] = i
		}
	}
	var all []*Loaders
	byLoader := map[string]*Loaders{}
	for i, other := range results {
		if other.Cell.By() == chromium {
			continue
		}
		j, ok := browsers[other.Cell.But(study.AxisLoader)]
		if !ok || other.Valid == 0 || results[j].Valid == 0 || other.Values["onload"] == nil {
			continue // uploads have no onLoad
		}
		p := LoaderPair{Browser: j, Other: i, Order: -1}
		for metric, ratio := range map[string]*float64{"dcl": &p.DCL, "onload": &p.OnLoad, "plt": &p.PLT} {
			*ratio = quotient(other.Values[metric], results[j].Values[metric])
		}
		first, err := asked(j)
		if err != nil {
			return nil, err
		}
		second, err := asked(i)
		if err != nil {
			return nil, err
		}
		p.Order = sameOrder(first, second)
		l := byLoader[other.Cell.By()]
		if l == nil {
			l = &Loaders{Loader: other.Cell.By()}
			byLoader[l.Loader] = l
			all = append(all, l)
		}
		l.Pairs = append(l.Pairs, p)
	}
	for _, l := range all {
		l.judge(results)
	}
	return all, nil
}

func quotient(of, by []float64) float64 {
	if len(of) == 0 || len(by) == 0 {
		return 0
	}
	divisor := stats.Median(by).Median
	if divisor <= 0 {
		return 0
	}
	return stats.Median(of).Median / divisor
}

// sameOrder returns the share of the pairs of URLs in both lists that have the same order in both,
// or -1 if there are no such pairs.
func sameOrder(a, b []string) float64 {
	at := map[string]int{}
	for i, url := range b {
		at[url] = i
	}
	var places []int
	for _, url := range a {
		if i, ok := at[url]; ok {
			places = append(places, i)
			delete(at, url)
		}
	}
	pairs := len(places) * (len(places) - 1) / 2
	if pairs == 0 {
		return -1
	}
	// A Fenwick tree: element i counts the places so far in (i - i & -i, i].
	counts, same := make([]int, len(b)+1), 0
	for _, place := range places {
		for i := place; i > 0; i -= i & -i {
			same += counts[i]
		}
		for i := place + 1; i <= len(b); i += i & -i {
			counts[i]++
		}
	}
	return float64(same) / float64(pairs)
}

// judge counts the pairs that are near, and those ranked alike.
func (l *Loaders) judge(results []store.Result) {
	type medians struct{ browser, other float64 }
	onload := func(cell int) float64 { return stats.Median(results[cell].Values["onload"]).Median }
	before := map[string][]medians{} // by all but the protocol
	for _, p := range l.Pairs {
		if p.OnLoad == 0 {
			continue
		}
		l.Measured++
		if math.Abs(p.OnLoad-1) <= near {
			l.Near++
		}
		place, a := results[p.Other].Cell.But(study.AxisProtocol), medians{onload(p.Browser), onload(p.Other)}
		for _, b := range before[place] {
			ratio := a.browser / b.browser
			if max(ratio, 1/ratio) <= 1+apart {
				continue
			}
			l.Ranked++
			if (ratio > 1) == (a.other > b.other) {
				l.SameRank++
			}
		}
		before[place] = append(before[place], a)
	}
}

// Verdict puts all pairs into two sentences.
func (l *Loaders) Verdict() string {
	return fmt.Sprintf("onLoad is within 10 %% of Chromium's in %d of %d cells (%.0f %%). Where Chromium's medians of two protocols differ by more than 5 %%, %d of %d pairs are ranked alike.",
		l.Near, l.Measured, 100*float64(l.Near)/float64(max(1, l.Measured)), l.SameRank, l.Ranked)
}
