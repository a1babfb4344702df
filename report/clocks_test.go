package report

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

func TestClocksAreComparedAndNeverMixed(t *testing.T) {
	st, run := clockStudy.keep(t)
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Sections) != 6 || d.ClockNote != VirtualClock {
		t.Errorf("%d sections, note %q; want one for each of 3 networks on each of 2 clocks, and the note", len(d.Sections), d.ClockNote)
	}
	for _, s := range d.Sections {
		for _, c := range s.Cells {
			if d.Cells[c].Clock != s.Clock || d.Cells[c].Network != s.Network {
				t.Errorf("section %s, %s holds a cell of %s, %s", s.Network, s.Clock, d.Cells[c].Network, d.Cells[c].Clock)
			}
		}
	}
	if len(d.Clocks.Pairs) != 9 {
		t.Fatalf("%d pairs, want 9", len(d.Clocks.Pairs))
	}
	for _, p := range d.Clocks.Pairs {
		real, virtual := d.Cells[p.Real], d.Cells[p.Virtual]
		if real.Clock != "real" || virtual.Clock != "virtual" || real.Protocol != virtual.Protocol || real.Network != virtual.Network {
			t.Errorf("%+v is paired with %+v", real, virtual)
		}
		want := virtual.Summaries["plt"].Median / real.Summaries["plt"].Median
		if math.Abs(p.Ratio-want) > 1e-9 || !p.Interval || p.Low > p.Ratio || p.High < p.Ratio {
			t.Errorf("%s on %s: %+v, the medians' ratio is %v", real.Label, real.Network, p, want)
		}
		if p.Lossy != (real.Network == "cable-lossy") {
			t.Errorf("%s: lossy is %v", real.Network, p.Lossy)
		}
		// 30 ms of processor time are much of a page over LTE, and little over a weak 3G signal.
		if h3 := real.Protocol == "h3"; h3 && real.Network == "lte" && p.High >= 1 || h3 && real.Network == "3g-weak" && !p.Agrees {
			t.Errorf("%s on %s: %+v", real.Label, real.Network, p)
		}
	}
	if *keepReport != "" {
		if err := Write(strings.TrimSuffix(*keepReport, ".html")+"-clocks.html", d); err != nil && !errors.Is(err, ErrNotBuilt) {
			t.Error(err)
		}
	}
}

func TestClocksOfOneKindAreNotCompared(t *testing.T) {
	for _, clock := range []string{"real", "virtual"} {
		one := clockStudy
		one.clocks, one.networks, one.repeats = []string{clock}, clockStudy.networks[:1], 1
		st, run := one.keep(t)
		d, err := Collect(st, run, Files{HAR: readSynthetic})
		if err != nil {
			t.Fatal(err)
		}
		if d.Clocks != nil || (d.ClockNote != "") != (clock == "virtual") {
			t.Errorf("%s: comparison %+v, note %q", clock, d.Clocks, d.ClockNote)
		}
	}
}

func TestTheVerdictOnClocksCountsPairsWithoutLoss(t *testing.T) {
	pair := func(ratio float64, lossy bool) ClockPair {
		return ClockPair{Ratio: ratio, Lossy: lossy, Agrees: math.Abs(ratio-1) <= agreement}
	}
	for _, c := range []struct {
		pairs []ClockPair
		want  string
	}{
		{[]ClockPair{pair(0.992, false), pair(1.009, false), pair(0.95, false), pair(1, true), pair(0, false)},
			"2 of 3 pairs on networks without loss (67 %) agree within 1 %. Over all 4 pairs that were measured the ratio, virtual to real, lies between 0.950 and 1.009, with a median of 0.996."},
		{[]ClockPair{pair(1, false)}, "1 of 1 pairs on networks without loss (100 %) agree within 1 %."},
		{[]ClockPair{pair(1, true), pair(0, false)}, "No pair on a network without loss has valid loads on both clocks."},
	} {
		if got := judge(c.pairs); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.pairs, got, c.want)
		}
	}
}

func TestPairsShareAllAxesButTheClock(t *testing.T) {
	result := func(network, congestion, clock string, plt ...float64) store.Result {
		return store.Result{Values: map[string][]float64{"plt": plt}, Cell: page(network, map[study.Axis]string{
			study.AxisProtocol: "h2", study.AxisCongestion: congestion, study.AxisClock: clock})}
	}
	got, err := CompareClocks([]store.Result{
		result("a", "cubic", "real", 100), result("a", "bbr", "virtual", 70), result("b", "cubic", "virtual", 80), result("a", "cubic", "virtual", 90), result("b", "cubic", "real"),
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pairs) != 2 || got.Pairs[0].Real != 0 || got.Pairs[0].Virtual != 3 || got.Pairs[0].Ratio != 0.9 || got.Pairs[1].Real != 4 || got.Pairs[1].Virtual != 2 || got.Pairs[1].Ratio != 0 {
		t.Errorf("pairs are %+v", got.Pairs)
	}
}

func TestWhichNetworksLosePackets(t *testing.T) {
	for stored, want := range map[string]bool{
		`{"access":[{"up":{"loss":{"rate":0.01}}}]}`:                                   true,
		`{"access":[{"up":{}},{"down":{"loss":{"gilbert_elliott":{"p":0.1,"r":1}}}}]}`: true,
		`{"access":[{"up":{"queue":{"bytes":3000}},"down":{"jitter":5}}]}`:             false,
		`{"events":[{"at":1,"loss":0.1}]}`:                                             true,
		`{"events":[{"at":1,"loss":0},{"at":2,"outage":5},{"at":3,"handover":"x"}]}`:   false,
		`{"events":[{"at":1,"outage":5,"outage_drops":true}]}`:                         true,
	} {
		var p network.Path
		if err := json.Unmarshal([]byte(stored), &p); err != nil {
			t.Fatal(err)
		}
		if lossy(p) != want {
			t.Errorf("%s: lossy is %v", stored, !want)
		}
	}
}
