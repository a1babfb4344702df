package study

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/network"
)

// small returns a study of one page over three protocols and two networks, changed by edits.
func small(t *testing.T, edits ...func(*Study)) *Study {
	t.Helper()
	s := &Study{
		Name: "small", Seed: 1, Repeats: 3, Workload: Pages(),
		Matrix: map[Axis][]string{
			AxisSite: {"world-flags"}, AxisProtocol: {"http/1.1", "h2", "h3"}, AxisNetwork: {"3g-weak", "cable"}, AxisLoader: {"chromium"},
			AxisClock: {ClockAuto},
		},
	}
	for _, name := range s.Matrix[AxisNetwork] {
		p, err := network.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Networks = append(s.Networks, p)
	}
	for _, edit := range edits {
		edit(s)
	}
	for _, a := range s.Workload.Axes {
		if s.Matrix[a.Axis] == nil {
			s.Matrix[a.Axis] = []string{a.Usual}
		}
	}
	return s
}

// with puts other values on an axis.
func with(axis Axis, words ...string) func(*Study) {
	return func(s *Study) { s.Matrix[axis] = words }
}

func repeats(n int) func(*Study) { return func(s *Study) { s.Repeats = n } }

// onReal resolves an open clock to the real one.
func onReal(Cell) string { return ClockReal }

func planned(t *testing.T, edits ...func(*Study)) []PlannedLoad {
	t.Helper()
	s := small(t, edits...)
	return s.Plan(s.Cells(onReal))
}

func TestEveryBlockHoldsEveryCellOnce(t *testing.T) {
	s := small(t, repeats(5))
	cells := s.Cells(nil)
	plan := s.Plan(cells)
	if len(cells) != 6 || len(plan) != 30 {
		t.Fatalf("%d cells, %d loads; want 6 and 30", len(cells), len(plan))
	}
	orders := map[string]bool{}
	for repeat := range 5 {
		seen, order := map[string]bool{}, ""
		for i, l := range plan[repeat*6 : repeat*6+6] {
			if l.Index != repeat*6+i || l.Repeat != repeat {
				t.Errorf("place %d holds %+v", repeat*6+i, l)
			}
			seen[l.Cell.Key()] = true
			order += l.Cell.Key()
		}
		if len(seen) != 6 {
			t.Errorf("block %d holds %d cells, want 6", repeat, len(seen))
		}
		orders[order] = true
	}
	if len(orders) < 4 {
		t.Errorf("5 blocks have %d orders between them", len(orders))
	}
}

func TestCellsAreInTheOrderOfTheFile(t *testing.T) {
	var got []string
	for _, c := range small(t, with(AxisInitCwnd, "10", "4"), with(AxisProtocol, "h2", "h3")).Cells(nil) {
		got = append(got, fmt.Sprint(c.Network.Name, c.InitCwnd(), c.Over()))
	}
	want := []string{"3g-weak10h2", "3g-weak10h3", "3g-weak4h2", "3g-weak4h3", "cable10h2", "cable10h3", "cable4h2", "cable4h3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestVisitsAndStrategiesAreCells(t *testing.T) {
	s := small(t, with(AxisVisit, VisitCold, VisitZeroRTT), with(AxisStrategy, StrategyBrowser, "sequential"), with(AxisProtocol, "h2", "h3"), with(AxisNetwork, "cable"))
	const place = "network=cable loader=chromium congestion=cubic initcwnd=10"
	var want []string
	for _, visit := range []string{"", " visit=0rtt"} {
		for _, strategy := range []string{"", " strategy=sequential"} {
			for _, protocol := range []string{"h2", "h3"} {
				want = append(want, "site=world-flags protocol="+protocol+" "+place+visit+strategy)
			}
		}
	}
	cells := s.Cells(onReal)
	var got []string
	for _, c := range cells {
		got = append(got, c.Key())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c := cells[7]; c.On(AxisVisit) != VisitZeroRTT || c.On(AxisStrategy) != "sequential" || c.Over() != "h3" || c.Clock() != ClockReal {
		t.Errorf("the last cell is %+v", c)
	}
	seeds := map[uint64]string{}
	for _, l := range s.Plan(cells) {
		if other, taken := seeds[l.Seed]; taken {
			t.Errorf("%s and %s share a seed", l.Cell.Key(), other)
		}
		seeds[l.Seed] = l.Cell.Key()
	}
}

func TestServersAreCells(t *testing.T) {
	s := small(t, with(AxisServer, "nginx", ServerOwn), with(AxisProtocol, "h2", "h3"), with(AxisNetwork, "cable"))
	s.Except = []Selection{{AxisServer: {"nginx"}, AxisProtocol: {"h3"}}}
	const place = "network=cable loader=chromium congestion=cubic initcwnd=10"
	want := []string{
		"site=world-flags protocol=h2 " + place + " server=nginx",
		"site=world-flags protocol=h2 " + place, "site=world-flags protocol=h3 " + place, // as without the axis
	}
	var got []string
	for _, c := range s.Cells(onReal) {
		got = append(got, c.Key())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestThePlanFollowsFromTheSeed(t *testing.T) {
	plan := planned(t)
	if d := cmp.Diff(plan, planned(t)); d != "" {
		t.Error("the same study has two plans:", d)
	}
	other := planned(t, func(s *Study) { s.Seed = 2 })
	same := 0
	seeds := map[uint64]bool{}
	for i := range plan {
		if plan[i].Cell.Key() == other[i].Cell.Key() {
			same++
		}
		seeds[plan[i].Seed], seeds[other[i].Seed] = true, true
	}
	if same == len(plan) {
		t.Error("two seeds give one order")
	}
	if len(seeds) != 2*len(plan) {
		t.Errorf("%d loads have %d seeds between them", 2*len(plan), len(seeds))
	}
}

func TestALoadKeepsItsSeedWhateverElseTheStudyHolds(t *testing.T) {
	type load struct {
		key    string
		repeat int
	}
	larger := map[load]uint64{}
	for _, l := range planned(t, repeats(7), with(AxisProtocol, "https/1.1", "h2", "h3"), with(AxisVisit, VisitCached, VisitCold),
		with(AxisStrategy, "sequential", StrategyBrowser), with(AxisServer, "caddy", ServerOwn)) {
		larger[load{l.Cell.Key(), l.Repeat}] = l.Seed
	}
	shared := 0
	for _, l := range planned(t) {
		if seed, ok := larger[load{l.Cell.Key(), l.Repeat}]; ok {
			shared++
			if seed != l.Seed {
				t.Errorf("%s, repeat %d: seed %d in one study, %d in another", l.Cell.Key(), l.Repeat, l.Seed, seed)
			}
		}
	}
	if shared != 12 {
		t.Errorf("the studies share %d loads, want 12", shared)
	}
}

// Published figures name their seed: the plan of a seed may not change from
// one version of Wiretime to the next.
func TestThePlanOfASeedDoesNotChange(t *testing.T) {
	var got []string
	for _, l := range planned(t)[:6] {
		got = append(got, fmt.Sprintf("%s %s %d", l.Cell.Network.Name, l.Cell.Over(), l.Seed))
	}
	want := []string{
		"3g-weak h2 16933341223498037937",
		"cable h3 10552447609608609945",
		"cable h2 10221330127263557203",
		"3g-weak h3 14755807827977889372",
		"3g-weak http/1.1 5108813213497965299",
		"cable http/1.1 5346087575823786873",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if key, want := small(t).Cells(onReal)[0].Key(), "site=world-flags protocol=http/1.1 network=3g-weak loader=chromium congestion=cubic initcwnd=10"; key != want {
		t.Errorf("the key is %q, want %q", key, want)
	}
}

func TestOpenClocksAreChosenCellByCell(t *testing.T) {
	s := small(t)
	if c := s.Cells(nil)[0]; c.Clock() != ClockAuto {
		t.Errorf("without a choice the clock is %q", c.Clock())
	}
	for _, c := range s.Cells(func(c Cell) string {
		return map[bool]string{true: ClockVirtual, false: ClockReal}[c.Network.Name == "3g-weak"]
	}) {
		want := map[string]string{"3g-weak": ClockVirtual, "cable": ClockReal}[c.Network.Name]
		if c.Clock() != want || strings.HasSuffix(c.Key(), " clock=virtual") != (want == ClockVirtual) || strings.Contains(c.Key(), ClockReal) {
			t.Errorf("%s: clock %q, want %q", c.Key(), c.Clock(), want)
		}
	}
	for _, c := range small(t, with(AxisClock, ClockVirtual)).Cells(onReal) {
		if c.Clock() != ClockVirtual {
			t.Errorf("%s: a clock that the study names was chosen anew", c.Key())
		}
	}
}

// Losses and jitter follow from a load's seed: what differs between the two
// clocks of a cell is then the clock alone.
func TestBothClocksOfACellShareTheirSeeds(t *testing.T) {
	type load struct {
		place  string
		repeat int
	}
	real := map[load]uint64{}
	for _, l := range planned(t) {
		real[load{l.Cell.Key(), l.Repeat}] = l.Seed
	}
	both := planned(t, with(AxisClock, ClockReal, ClockVirtual))
	keys := map[string]bool{}
	for _, l := range both {
		keys[l.Cell.Key()] = true
		if want := real[load{strings.TrimSuffix(l.Cell.Key(), " clock=virtual"), l.Repeat}]; l.Seed != want {
			t.Errorf("%s, repeat %d: seed %d, want %d as on the real clock alone", l.Cell.Key(), l.Repeat, l.Seed, want)
		}
	}
	if len(both) != 2*len(real) || len(keys) != 12 {
		t.Errorf("%d loads of %d cells, want 36 of 12", len(both), len(keys))
	}
}

// An axis of the table that the plan or the key forgets would leave fewer cells, or two cells
// with the same key, and with the same losses.
func TestEveryAxisMakesCellsWithKeysAndSeedsOfTheirOwn(t *testing.T) {
	for _, w := range Workloads() {
		for _, varied := range w.Axes {
			t.Run(w.Name+" by "+string(varied.Axis), func(t *testing.T) {
				s := &Study{Seed: 1, Repeats: 1, Workload: w, Matrix: map[Axis][]string{}, Options: Options{Stream: &Stream{Access: []string{"a"}}}}
				for _, a := range w.Axes {
					s.Matrix[a.Axis] = []string{"1"}
				}
				s.Matrix[varied.Axis] = []string{"1", "2"}
				plan := s.Plan(s.Cells(nil))
				if len(plan) != 2 {
					t.Fatalf("%d cells, want 2", len(plan))
				}
				if key := plan[0].Cell.Key(); key == plan[1].Cell.Key() {
					t.Errorf("both cells have the key %q", key)
				}
				if same := plan[0].Seed == plan[1].Seed; same != (varied.Axis == AxisClock) {
					t.Errorf("the cells share their seed: %v", same)
				}
			})
		}
	}
}

// Keys and seeds of stored runs follow from these orders.
func TestTheOrdersOfAxesDoNotChange(t *testing.T) {
	for _, c := range []struct {
		w          *Workload
		key, cells []Axis
	}{
		{Pages(), []Axis{AxisSite, AxisProtocol, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisVisit, AxisStrategy, AxisServer},
			[]Axis{AxisSite, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisClock, AxisVisit, AxisServer, AxisStrategy, AxisProtocol}},
		{Streams(), []Axis{AxisMedia, AxisTransport, AxisPlayer, AxisLinkDelay, AxisLoss, AxisReconnections, AxisStrategy, AxisCongestion, AxisInitCwnd},
			[]Axis{AxisMedia, AxisLinkDelay, AxisLoss, AxisReconnections, AxisPlayer, AxisCongestion, AxisInitCwnd, AxisClock, AxisStrategy, AxisTransport}},
	} {
		if got := c.w.KeyOrder()[:len(c.key)]; !slices.Equal(got, c.key) {
			t.Errorf("keys of %s begin with %v, want %v", c.w.Name, got, c.key)
		}
		known := slices.DeleteFunc(c.w.CellOrder(), func(a Axis) bool { return !slices.Contains(c.cells, a) })
		if !slices.Equal(known, c.cells) {
			t.Errorf("cells of %s are listed by %v, want %v", c.w.Name, known, c.cells)
		}
	}
}

// TestASessionIsPlannedWhole: sessions are planned whole, in an order of their own, and the first load of each has the
// seed of the same cell without a session.
func TestASessionIsPlannedWhole(t *testing.T) {
	s := &Study{Seed: 7, Repeats: 3, Workload: Pages(), Matrix: map[Axis][]string{
		AxisSite: {"a", "b"}, AxisNetwork: {"n"}, AxisLoader: {"builtin"}, AxisCongestion: {"cubic"}, AxisInitCwnd: {"10"}, AxisClock: {ClockReal},
		AxisVisit: {VisitCached}, AxisProtocol: {"h2", "h3"}, AxisServer: {ServerOwn}, AxisStrategy: {StrategyBrowser}, AxisLoad: {"1"},
		AxisTCPWindow: {WindowDefault}, AxisClientWindow: {WindowDefault}, AxisServerWindow: {WindowDefault}, AxisHint: {HintNone}, AxisTCPSACK: {SACKOn}, AxisTLS: {TLS13}, AxisWithout: {WithoutNothing}, AxisAt: {PlaceAny},
	}}
	alone := s.Plan(s.Cells(nil))
	s.UseSession(Session{Loads: 3})
	plan := s.Plan(s.Cells(nil))
	if len(alone) != 12 || len(plan) != 36 {
		t.Fatalf("%d loads without sessions and %d with them, want 12 and 36", len(alone), len(plan))
	}
	for i, p := range plan {
		first := plan[i/3*3]
		if p.Cell.Load() != i%3+1 || p.Repeat != first.Repeat || p.Cell.But(AxisLoad) != first.Cell.But(AxisLoad) {
			t.Errorf("place %d has load %d of %s", i, p.Cell.Load(), p.Cell.Key())
		}
		if other := alone[i/3]; i%3 == 0 && (p.Seed != other.Seed || p.Cell.Key() != other.Cell.Key() || p.Repeat != other.Repeat) {
			t.Errorf("place %d: %s has another key, seed or order than without a session", i, p.Cell.Key())
		}
		if i%3 > 0 && p.Seed == first.Seed {
			t.Errorf("place %d has the seed of its session's first load", i)
		}
	}
}

func TestSelectionsPoolTheLoadsOfSessions(t *testing.T) {
	cell := func(protocol, load string) Cell {
		return NewCell(Pages(), map[Axis]string{AxisProtocol: protocol, AxisLoad: load}, network.Path{})
	}
	var cells []Cell
	for _, load := range []string{"1", "2", "3"} {
		cells = append(cells, cell("h2", load), cell("h3", load))
	}
	for want, s := range map[string]Selection{
		"h2 1-3 h3 1-3":           {},
		"h2 1-3":                  {AxisProtocol: {"h2"}},
		"h3 2-3":                  {AxisProtocol: {"h3"}, AxisLoad: {"2-3"}},
		"h2 1 h2 2-3 h3 1 h3 2-3": {AxisLoad: {"1", "2-3"}},
		"h3 3 h3 3-5":             {AxisProtocol: {"h3"}, AxisLoad: {"3", "3-5", "4", "4-5"}}, // of a longer session than the quick part has
	} {
		var words []string
		for _, c := range s.Pools(cells) {
			words = append(words, c.Over(), c.On(AxisLoad))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%v picks %s, want %s", s, got, want)
		}
	}
	for _, word := range []string{"", "0", "-1", "3-2", "2-2", "1-", "x", "1-2-3", "+2", "02", "1-03", "2 "} {
		if _, _, err := ParseLoads(word); err == nil {
			t.Errorf("%q was read as loads", word)
		}
	}
}
