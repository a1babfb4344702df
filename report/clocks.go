package report

import (
	"fmt"
	"math"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// VirtualClock tells readers what figures from the virtual clock leave out.
const VirtualClock = "On the virtual clock processor time counts as zero: its figures show what network and protocols cost, not what the machine does."

// virtual is the name of that clock in a store.
const virtual = "virtual"

// OnVirtualClock reports whether the cell of any of the results is on the
// virtual clock.
func OnVirtualClock(results []store.Result) bool {
	return slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.Clock() == virtual })
}

// agreement is the largest distance of the ratio of two medians from 1 at which the clocks
// agree.
const agreement = 0.01

// Clocks compares the two clocks of a run by their median PLT, or TTD or loading delay.
type Clocks struct {
	Metric  string      `json:"metric"`  // by its name
	Pairs   []ClockPair `json:"pairs"`   // in the order of the study
	Verdict string      `json:"verdict"` // how many pairs agree, and the range of all ratios
}

// ClockPair is two cells that differ in nothing but their clock.
type ClockPair struct {
	Real     int     `json:"real"`     // cell
	Virtual  int     `json:"virtual"`  // cell
	Lossy    bool    `json:"lossy"`    // the path loses packets at random or in outages
	Ratio    float64 `json:"ratio"`    // of the medians, virtual to real; 0 where a side has none
	Interval bool    `json:"interval"` // whether [Low, High] is a 95 % bootstrap interval of Ratio; false with fewer than 6 values on a side
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Agrees   bool    `json:"agrees"` // Ratio is within 1 % of 1
}

// CompareClocks pairs the cells that a run measured on both clocks. It returns nil if there are
// none. Cells are indices of results; seed seeds the bootstrap.
//
// The samples of a pair are taken as independent, although they share the seeds
// of loss and jitter: that makes the intervals too wide rather than too narrow.
func CompareClocks(results []store.Result, seed uint64) (*Clocks, error) {
	of := func(c study.Cell) string { return c.But(study.AxisClock) }
	onVirtual := map[string]int{}
	for i, r := range results {
		if r.Cell.Clock() == virtual {
			onVirtual[of(r.Cell)] = i
		}
	}
	clocks := &Clocks{Metric: AxesOf(results).clockMetric(results)}
	bootstrap := stats.NewBootstrap(seed)
	for i, real := range results {
		j, both := onVirtual[of(real.Cell)]
		if !both || i == j {
			continue
		}
		r := bootstrap.CompareRatio(results[j].Values[clocks.Metric], real.Values[clocks.Metric])
		clocks.Pairs = append(clocks.Pairs, ClockPair{
			Real: i, Virtual: j, Lossy: lossy(real.Cell.Network), Ratio: r.Value, Interval: r.Enough, Low: r.Low, High: r.High,
			Agrees: math.Abs(r.Value-1) <= agreement,
		})
	}
	if len(clocks.Pairs) == 0 {
		return nil, nil
	}
	clocks.Verdict = judge(clocks.Pairs)
	return clocks, nil
}

// judge puts all pairs into a sentence or two.
func judge(pairs []ClockPair) string {
	var ratios []float64
	lossless, agree := 0, 0
	for _, p := range pairs {
		if p.Ratio == 0 {
			continue
		}
		ratios = append(ratios, p.Ratio)
		if p.Lossy {
			continue
		}
		lossless++
		if p.Agrees {
			agree++
		}
	}
	words := "No pair on a network without loss has valid loads on both clocks."
	if lossless > 0 {
		words = fmt.Sprintf("%d of %d pairs on networks without loss (%.0f %%) agree within 1 %%.", agree, lossless, 100*float64(agree)/float64(lossless))
	}
	if len(ratios) > 1 {
		s := stats.Summarize(ratios)
		words += fmt.Sprintf(" Over all %d pairs that were measured the ratio, virtual to real, lies between %.3f and %.3f, with a median of %.3f.", s.N, s.Min, s.Max, s.Median)
	}
	return words
}
