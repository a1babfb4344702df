package report

import (
	"fmt"
	"math"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// together judges a claim that is not about each ratio by itself (study.Scope). Of a claim about the mean one pair
// remains, which stands for all.
func (j *Claim) together(c store.Claim, noun string) {
	_, scope, err := study.CutScope(c.Ratio)
	if err != nil || scope.Single() || len(j.Pairs) == 0 {
		return
	}
	if scope.Mean {
		mean := meanPair(c, j.Pairs)
		j.Pairs, j.Verdict = []ClaimPair{mean}, mean.Outcome
		return
	}
	count := map[string]int{}
	for _, p := range j.Pairs {
		count[p.Outcome]++
	}
	outcome := Undecided
	switch needed := scope.Needed(len(j.Pairs)); {
	case count[Unmeasured] == len(j.Pairs):
		outcome = Unmeasured
	case count[Held] >= needed:
		outcome = Held
	case len(j.Pairs)-count[Refuted] < needed:
		outcome = Refuted
	}
	in := fmt.Sprintf("its range in %d of %d %s", count[Held], len(j.Pairs), noun)
	if n := count[Undecided] + count[Unmeasured]; n > 0 {
		in += fmt.Sprintf(", not decided or measured in %d", n)
	}
	j.Verdict = outcome + " (" + in + ")"
}

// meanPair returns the mean of the pairs' ratios as a pair of its own. The intervals of the pairs are taken as those
// of independent errors: the squares of their halves add up. It has no interval if a pair has none.
func meanPair(c store.Claim, pairs []ClaimPair) ClaimPair {
	mean := ClaimPair{Name: fmt.Sprintf("the mean of %d ratios", len(pairs)), Interval: true, Outcome: Unmeasured}
	var below, above float64
	for _, p := range pairs {
		if p.Ratio == 0 {
			return ClaimPair{Name: mean.Name, Outcome: Unmeasured}
		}
		mean.Ratio += p.Ratio
		mean.Interval = mean.Interval && p.Interval
		below += (p.Ratio - p.Low) * (p.Ratio - p.Low)
		above += (p.High - p.Ratio) * (p.High - p.Ratio)
	}
	n := float64(len(pairs))
	mean.Ratio /= n
	if mean.Interval {
		mean.Low, mean.High = mean.Ratio-math.Sqrt(below)/n, mean.Ratio+math.Sqrt(above)/n
	}
	mean.Outcome = outcome(c, stats.Ratio{Value: mean.Ratio, Low: mean.Low, High: mean.High, Enough: mean.Interval})
	return mean
}
