package report

import (
	"math"
	"testing"

	"wiretime/store"
)

// TestAClaimAboutManyPairs: a claim may be about the mean of its ratios, or about all but a few of them.
func TestAClaimAboutManyPairs(t *testing.T) {
	results := cellResults(map[string][]float64{
		"one": {100, 100, 100, 100, 100, 100}, "half": {50, 50, 50, 50, 50, 50}, "twice": {200, 200, 200, 200, 200, 200},
		"few": {50, 50}, "spread": {20, 40, 60, 80, 200, 300}, "none": nil,
	}, "one", "half", "twice", "few", "spread", "none")
	claim := func(ratio string, low, high float64, open bool, compared ...string) store.Claim {
		c := store.Claim{Ratio: ratio, Low: low, High: high, Open: open}
		for _, p := range compared {
			c.Pairs = append(c.Pairs, store.ClaimPair{Metric: "plt", Cell: protocolCell(p).Key(), ToMetric: "plt", ToCell: protocolCell("one").Key()})
		}
		return c
	}
	for _, test := range []struct {
		claim store.Claim
		want  string
	}{
		{claim("1.2 to 1.3 on average", 1.2, 1.3, false, "half", "twice"), Held},
		{claim("below 1 on average", 0, 1, true, "half", "twice"), Refuted},
		{claim("below 1 on average", 0, 1, true, "half", "few"), Undecided},
		{claim("below 1 on average", 0, 1, true, "half", "none"), Unmeasured},
		{claim("below 1 in all but 1", 0, 1, true, "half", "twice"), "held (its range in 1 of 2 protocols)"},
		{claim("below 1 in all but 1", 0, 1, true, "half", "twice", "one"), "refuted (its range in 1 of 3 protocols)"},
		{claim("below 1 in all but 1", 0, 1, true, "half", "twice", "spread"), "not decided (its range in 1 of 3 protocols, not decided or measured in 1)"},
		{claim("at least 2 in at least 1", 2, math.Inf(1), false, "half", "twice"), "held (its range in 1 of 2 protocols)"},
		{claim("at least 3 in at least 1", 3, math.Inf(1), false, "half", "twice"), "refuted (its range in 0 of 2 protocols)"},
		{claim("below 1 in all but 1", 0, 1, true, "none"), "not measured (its range in 0 of 1 pairs of cells, not decided or measured in 1)"},
	} {
		got := JudgeClaims(results, nil, []store.Claim{test.claim}, 1)[0]
		if got.Verdict != test.want {
			t.Errorf("%s: %q, want %q", test.claim.Ratio, got.Verdict, test.want)
		}
	}
	mean := JudgeClaims(results, nil, []store.Claim{claim("below 2 on average", 0, 2, true, "half", "twice", "spread")}, 1)[0]
	if len(mean.Pairs) != 1 || mean.Pairs[0].Name != "the mean of 3 ratios" || math.Abs(mean.Pairs[0].Ratio-(0.5+2+0.7)/3) > 1e-9 {
		t.Errorf("the mean is %+v", mean.Pairs)
	}
	if p := mean.Pairs[0]; !p.Interval || p.Low >= p.Ratio || p.High <= p.Ratio || p.High-p.Low > 2.8/3 {
		t.Errorf("the interval of the mean is %v to %v", p.Low, p.High)
	}
}
