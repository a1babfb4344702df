package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// growingRun is a run over losses and rates. h2's onLoad is 100 ms. h3's is that times 1, 2 and 4 at losses of 0, 5 and 10 % and
// 1 Mbit/s, and divided by them at 500 kbit/s.
func growingRun() []store.Result {
	var results []store.Result
	for _, rate := range []network.BitRate{1000, 500} {
		for i, loss := range []float64{0.05, 0.1, 0} {
			for _, protocol := range []string{"h2", "h3"} {
				r := pageOver(protocol, rate, 50*time.Millisecond, loss, nil)
				factor := 1.0
				if protocol == "h3" {
					factor = map[network.BitRate][]float64{1000: {2, 4, 1}, 500: {0.5, 0.25, 1}}[rate][i]
				}
				r.Values = map[string][]float64{}
				for n := range 6 {
					r.Values["onload"] = append(r.Values["onload"], factor*(100+float64(n)/1000))
				}
				results = append(results, r)
			}
		}
	}
	return results
}

// growth is a claim that something of h3's onLoad to h2's grows, over all cells of growingRun.
func growth(along, of string, results []store.Result) store.Claim {
	c := store.Claim{Text: "It grows.", Statistic: study.Median, Grows: of, Along: along}
	for i := 0; i < len(results); i += 2 {
		c.Pairs = append(c.Pairs, store.ClaimPair{Metric: "onload", Cell: results[i+1].Cell.Key(), ToMetric: "onload", ToCell: results[i].Cell.Key()})
	}
	return c
}

// outcomes writes a claim's rows.
func outcomes(c Claim) string {
	var rows []string
	for _, p := range c.Pairs {
		rows = append(rows, strings.TrimSpace(fmt.Sprintf("%s: %s %.2f, %s", p.Name, p.Outcome, p.Ratio, p.Steps)))
	}
	return strings.Join(rows, "; ")
}

func TestAClaimOfGrowthIsJudgedRowByRow(t *testing.T) {
	results := growingRun()
	for of, want := range map[string][4]string{
		study.OfRatio: {"factor by which the ratio of onLoad grows with the loss", "per step",
			"rate 1 Mbit/s: held 2.00, rises at 2 of 2 steps; rate 0.5 Mbit/s: refuted 0.50, rises at 0 of 2 steps and falls for certain at 2", "held in 1 of 2 networks, refuted in 1"},
		study.OfDifference: {"what the difference of onLoad grows by with the loss", "ms per step",
			"rate 1 Mbit/s: held 150.00, rises at 2 of 2 steps; rate 0.5 Mbit/s: refuted -37.50, rises at 0 of 2 steps and falls for certain at 2", "held in 1 of 2 networks, refuted in 1"},
	} {
		got := JudgeClaims(results, onLoad, []store.Claim{growth("loss", of, results)}, 1)[0]
		if said := [4]string{got.Test, got.Per, outcomes(got), got.Verdict}; said != want {
			t.Errorf("%s:\n got %q\nwant %q", of, said, want)
		}
	}
}

func TestAClaimOfGrowthThatIsNotDecided(t *testing.T) {
	equal, few, fewer := growingRun()[:6], growingRun()[:6], growingRun()[:6]
	for i := range equal {
		equal[i].Values["onload"] = []float64{100, 101, 102, 103, 104, 105}
	}
	few[3].Values["onload"] = few[3].Values["onload"][:5]
	fewer[3].Values = nil
	for name, c := range map[string]struct {
		results []store.Result
		want    string
	}{
		"the same everywhere":           {equal, "not decided; it rises at 0 of 2 steps"},
		"too few loads at one value":    {few, "not decided; it rises at 2 of 2 steps"},
		"two values that were measured": {fewer, "not measured"},
		"certain growth":                {growingRun()[:6], "held; it rises at 2 of 2 steps"},
	} {
		if got := JudgeClaims(c.results, onLoad, []store.Claim{growth("loss", study.OfRatio, c.results)}, 1)[0]; got.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, got.Verdict, c.want)
		}
	}
	if got := JudgeClaims(equal, onLoad, []store.Claim{growth("speed", study.OfRatio, equal)}, 1)[0]; got.Verdict != Unmeasured {
		t.Errorf("along a number that is unknown: %s", got.Verdict)
	}
}
