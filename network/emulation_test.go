package network

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// arrival is a packet and its expected fate.
type arrival struct {
	now  time.Duration
	size int
	due  time.Duration
	fate Fate
}

// oneLink returns a path whose only access link is the same in both directions.
func oneLink(l Link, events ...Event) Path {
	return Path{Name: "test", Access: []Access{{Name: "wlan", Up: l, Down: l}}, Events: events}
}

func start(t testing.TB, p Path, seed uint64) *Emulation {
	t.Helper()
	e, err := p.Start(seed)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func expect(t *testing.T, p Path, arrivals []arrival) {
	t.Helper()
	for _, d := range []Direction{Up, Down} {
		e := start(t, p, 1)
		for i, a := range arrivals {
			due, fate := e.Arrive(0, d, int64(a.now), a.size)
			if fate != a.fate || time.Duration(due) != a.due {
				t.Errorf("%v, packet %d of %d bytes at %v: due %v, %v; want %v, %v",
					d, i, a.size, a.now, time.Duration(due), fate, a.due, a.fate)
			}
		}
	}
}

func trace(millis ...int64) *Trace { return &Trace{Name: "test", Opportunities: millis} }
func packets(n int, a arrival) (all []arrival) {
	for range n {
		all = append(all, a)
	}
	return all
}

func TestSerialiser(t *testing.T) {
	const ms, ns = time.Millisecond, time.Nanosecond
	for _, test := range []struct {
		name     string
		path     Path
		arrivals []arrival
	}{
		{"the zero link passes packets at once", oneLink(Link{}), []arrival{{0, 1500, 0, Delivered}, {7, 40, 7, Delivered}}},
		{"delay is one-way, in each direction", oneLink(Link{Delay: 50 * ms}), []arrival{{1, 1500, 50*ms + 1, Delivered}}},
		{"delay comes after serialisation", oneLink(Link{Rate: mbit, Delay: 50 * ms}), []arrival{{0, 1500, 62 * ms, Delivered}}},
		{"a busy line makes packets wait", oneLink(Link{Rate: mbit}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {1 * ms, 125, 13 * ms, Delivered}, {30 * ms, 125, 31 * ms, Delivered}}},
		// 3 bytes at 7 kbit/s take 3428571 3/7 ns: three of them end at 10285714 2/7 ns.
		{"remainders are carried and rounded up once", oneLink(Link{Rate: 7 * kbit}), []arrival{
			{0, 3, 3428572, Delivered}, {0, 3, 6857143, Delivered}, {0, 3, 10285715, Delivered}}},
		{"a line that was idle carries no remainder", oneLink(Link{Rate: 7 * kbit}), []arrival{
			{0, 3, 3428572, Delivered}, {3428572, 3, 3428572 + 3428572, Delivered}}},
		// The first packet ends at 3428571 3/7 ns, after 3428571: the second one is still behind it.
		{"a line busy for a part of a nanosecond is busy", oneLink(Link{Rate: 7 * kbit}), []arrival{
			{0, 3, 3428572, Delivered}, {3428571, 3, 6857143, Delivered}, {3428571, 3, 10285715, Delivered}}},
		{"a rate change in the middle of a packet", oneLink(Link{Rate: mbit}, Event{At: 4 * ms, Rate: new(2 * mbit)}), []arrival{
			{0, 1500, 8 * ms, Delivered}, {0, 1500, 14 * ms, Delivered}}},
		// 7 kbit/s for 1000 ns = 7e6 bit*ns of 24e9; the rest at 3 kbit/s takes 7997666 2/3 ns.
		{"a rate change leaves an exact rest", oneLink(Link{Rate: 7 * kbit}, Event{At: 1000, Rate: new(3 * kbit)}), []arrival{
			{0, 3, 1000 + 7997667, Delivered}}},
		// 3/7 ns are left of the packet, 3000 bit*ns, which take 3 ns at 1 kbit/s.
		{"a rate change in the last nanosecond of a packet", oneLink(Link{Rate: 7 * kbit}, Event{At: 3428571, Rate: new(kbit)}), []arrival{
			{0, 3, 3428574, Delivered}}},
		{"two rate changes within a packet", oneLink(Link{Rate: mbit}, Event{At: 10 * ms, Rate: new(10 * mbit)}, Event{At: 4 * ms, Rate: new(500 * kbit)}), []arrival{
			{0, 1500, 10*ms + 500*time.Microsecond, Delivered}}},
		{"a rate change at the very end of a packet", oneLink(Link{Rate: mbit}, Event{At: 12 * ms, Rate: new(2 * mbit)}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {0, 1500, 18 * ms, Delivered}}},
		{"the later of two events at one instant wins", oneLink(Link{Rate: mbit}, Event{At: 0, Rate: new(3 * mbit)}, Event{At: 0, Rate: new(2 * mbit)}), []arrival{
			{0, 1500, 6 * ms, Delivered}}},
		{"to unlimited in the middle of a packet", oneLink(Link{Rate: mbit}, Event{At: 4 * ms, Rate: new(BitRate(0))}), []arrival{
			{0, 1500, 4 * ms, Delivered}, {0, 1500, 4 * ms, Delivered}, {5 * ms, 1500, 5 * ms, Delivered}}},
		{"from unlimited", oneLink(Link{}, Event{At: 4 * ms, Rate: new(mbit)}), []arrival{
			{4*ms - ns, 1500, 4*ms - ns, Delivered}, {4 * ms, 1500, 16 * ms, Delivered}}},
		{"a delay change counts from the end of serialisation", oneLink(Link{Rate: mbit, Delay: 10 * ms}, Event{At: 12 * ms, Delay: new(30 * ms)}), []arrival{
			{0, 1499, 12*ms - 8*time.Microsecond + 10*ms, Delivered}, {0, 1, 12*ms + 30*ms, Delivered}}},
		{"a shorter delay does not reorder", oneLink(Link{Delay: 30 * ms}, Event{At: 5 * ms, Delay: new(10 * ms)}), []arrival{
			{0, 1500, 30 * ms, Delivered}, {5 * ms, 1500, 30 * ms, Delivered}, {21 * ms, 1500, 31 * ms, Delivered}}},
		{"a shorter delay may reorder where that is allowed", oneLink(Link{Delay: 30 * ms, Reorder: true}, Event{At: 5 * ms, Delay: new(10 * ms)}), []arrival{
			{0, 1500, 30 * ms, Delivered}, {5 * ms, 1500, 15 * ms, Delivered}}},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, test.path, test.arrivals) })
	}
}

// TestBackToBackPacketsEndExactly checks that a megabyte over 100 kbit/s takes
// 80 s, however it is cut into packets, and that N packets of any size at any
// rate end at N*size*8e9/rate rounded up.
func TestBackToBackPacketsEndExactly(t *testing.T) {
	for _, test := range []struct {
		rate    BitRate
		size, n int
	}{
		{100 * kbit, 1000, 1000}, {100 * kbit, 500, 2000}, {100 * kbit, 1, 1_000_000},
		{3 * mbit, 1500, 666}, {7_777_777, 1499, 100_000}, {61_120 * kbit, 1337, 9999}, {999_999_999_989, 1500, 100_000}, {1009, 40, 50},
	} {
		e := start(t, oneLink(Link{Rate: test.rate}), 1)
		var due int64
		for range test.n {
			due, _ = e.Arrive(0, Down, 0, test.size)
		}
		work := new(big.Int).Mul(big.NewInt(int64(test.n)*int64(test.size)*8), big.NewInt(1e9))
		want, rest := work.DivMod(work, big.NewInt(int64(test.rate)), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		if due != want.Int64() {
			t.Errorf("%d packets of %d bytes at %v end at %d ns, want %v", test.n, test.size, test.rate, due, want)
		}
	}
	e := start(t, oneLink(Link{Rate: 100 * kbit}), 1)
	var due int64
	for left := 1_000_000; left > 0; left -= 1500 {
		due, _ = e.Arrive(0, Down, 0, min(left, 1500))
	}
	if time.Duration(due) != 80*time.Second {
		t.Errorf("1 MB in packets of 1500 bytes at 100 kbit/s ends at %v, want 80s", time.Duration(due))
	}
}

func TestQueue(t *testing.T) {
	const ms, ns = time.Millisecond, time.Nanosecond
	for _, test := range []struct {
		name     string
		path     Path
		arrivals []arrival
	}{
		{"drops at the exact byte", oneLink(Link{Rate: mbit, Queue: Queue{Bytes: 3000}}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {0, 1001, 20_008 * time.Microsecond, Delivered}, {0, 500, 0, DroppedQueue}, {0, 499, 24 * ms, Delivered}, {0, 1, 0, DroppedQueue}}},
		{"the packet in service counts until its last bit has left", oneLink(Link{Rate: mbit, Queue: Queue{Bytes: 1500}}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {12*ms - ns, 1, 0, DroppedQueue}, {12 * ms, 1500, 24 * ms, Delivered}}},
		{"a part of a nanosecond counts as waiting", oneLink(Link{Rate: 7 * kbit, Queue: Queue{Packets: 1}}), []arrival{
			{0, 3, 3428572, Delivered}, {3428571, 3, 0, DroppedQueue}, {3428572, 3, 6857144, Delivered}}},
		{"counts packets", oneLink(Link{Rate: mbit, Queue: Queue{Packets: 2}}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {0, 125, 13 * ms, Delivered}, {11 * ms, 1, 0, DroppedQueue}, {12 * ms, 125, 14 * ms, Delivered}}},
		{"either limit drops", oneLink(Link{Rate: mbit, Queue: Queue{Bytes: 2000, Packets: 2}}), []arrival{
			{0, 1500, 12 * ms, Delivered}, {0, 501, 0, DroppedQueue}, {0, 125, 13 * ms, Delivered}, {0, 1, 0, DroppedQueue}}},
		{"packets on the wire do not count", oneLink(Link{Rate: mbit, Delay: time.Second, Queue: Queue{Packets: 1}}), []arrival{
			{0, 1500, 1012 * ms, Delivered}, {12 * ms, 1500, 1024 * ms, Delivered}}},
		{"an unlimited rate never queues", oneLink(Link{Queue: Queue{Packets: 1}}), packets(5, arrival{0, 1500, 0, Delivered})},
		{"an outage fills the queue", oneLink(Link{Queue: Queue{Packets: 2}}, Event{At: 0, Outage: 10 * ms}), []arrival{
			{0, 1500, 10 * ms, Delivered}, {1, 1500, 10 * ms, Delivered}, {2, 1500, 0, DroppedQueue}, {10 * ms, 1500, 10 * ms, Delivered}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, test.path, test.arrivals)
		})
	}
}

func TestOutage(t *testing.T) {
	const ms, ns = time.Millisecond, time.Nanosecond
	holds := Event{At: 4 * ms, Outage: 20 * ms}
	drops := Event{At: 4 * ms, Outage: 20 * ms, OutageDrops: true}
	for _, test := range []struct {
		name     string
		path     Path
		arrivals []arrival
	}{
		{"held packets resume where they stopped", oneLink(Link{Rate: mbit}, holds), []arrival{
			{0, 1500, 32 * ms, Delivered}, {0, 125, 33 * ms, Delivered}, {10 * ms, 125, 34 * ms, Delivered}}},
		{"an outage that holds on an idle line", oneLink(Link{Rate: mbit}, holds), []arrival{
			{10 * ms, 125, 25 * ms, Delivered}}},
		{"a packet that ends as the outage begins is delivered", oneLink(Link{Rate: mbit}, drops), []arrival{
			{0, 500, 4 * ms, Delivered}, {4 * ms, 500, 0, DroppedOutage}}},
		{"an outage that drops loses the packet in service and the queue", oneLink(Link{Rate: mbit, Queue: Queue{Packets: 2}}, drops), []arrival{
			{0, 501, 0, DroppedOutage}, {3 * ms, 125, 0, DroppedOutage}, {3 * ms, 125, 0, DroppedQueue},
			{4 * ms, 125, 0, DroppedOutage}, {24*ms - ns, 125, 0, DroppedOutage}, {24 * ms, 125, 25 * ms, Delivered}}},
		{"an outage does not touch the wire", oneLink(Link{Rate: mbit, Delay: 10 * ms}, drops), []arrival{{0, 500, 14 * ms, Delivered}}},
		{"outages may follow one another", oneLink(Link{Rate: mbit}, holds, Event{At: 24 * ms, Outage: 6 * ms}), []arrival{{0, 1500, 38 * ms, Delivered}}},
		{"a holding outage that ends in a dropping one", oneLink(Link{Rate: mbit}, holds, Event{At: 24 * ms, Outage: 6 * ms, OutageDrops: true}), []arrival{
			{0, 1500, 0, DroppedOutage}, {29 * ms, 125, 0, DroppedOutage}, {30 * ms, 125, 31 * ms, Delivered}}},
		{"a rate change during an outage holds after it", oneLink(Link{Rate: mbit}, holds, Event{At: 8 * ms, Rate: new(2 * mbit)}), []arrival{
			{0, 1500, 28 * ms, Delivered}}},
		{"an outage stops an unlimited rate too", oneLink(Link{}, holds), []arrival{
			{3 * ms, 1500, 3 * ms, Delivered}, {4 * ms, 1500, 24 * ms, Delivered}, {24 * ms, 1500, 24 * ms, Delivered}}},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, test.path, test.arrivals) })
	}
}

func TestEventsConcernOneLink(t *testing.T) {
	const ms = time.Millisecond
	p := Path{Name: "two", Access: []Access{{Name: "wlan"}, {Name: "lte"}}, Events: []Event{
		{At: 0, Access: "wlan", Direction: "up", Delay: new(1 * ms)},
		{At: 0, Access: "wlan", Direction: "down", Delay: new(2 * ms)},
		{At: 0, Access: "lte", Delay: new(3 * ms)},
		{At: 10 * ms, Direction: "up", Delay: new(4 * ms)},
		{At: 5 * ms, Handover: "lte"},
		{At: 10 * ms, Handover: "wlan"},
	}}
	e := start(t, p, 1)
	for _, test := range []struct {
		now    time.Duration
		access int
		d      Direction
		delay  time.Duration
		fate   Fate
	}{
		{0, 0, Up, 1 * ms, Delivered}, {0, 0, Down, 2 * ms, Delivered}, {0, 1, Up, 0, DroppedHandover}, {5*ms - 1, 0, Up, 1 * ms, Delivered},
		{5 * ms, 0, Up, 0, DroppedHandover}, {5 * ms, 1, Up, 3 * ms, Delivered}, {6 * ms, 1, Down, 3 * ms, Delivered},
		{10 * ms, 1, Up, 0, DroppedHandover}, {10 * ms, 0, Up, 4 * ms, Delivered}, {10 * ms, 0, Down, 2 * ms, Delivered},
	} {
		due, fate := e.Arrive(test.access, test.d, int64(test.now), 1500)
		want := int64(0)
		if test.fate == Delivered {
			want = int64(test.now + test.delay)
		}
		if due != want || fate != test.fate {
			t.Errorf("at %v on %d, %v: due %d, %v; want %d, %v", test.now, test.access, test.d, due, fate, want, test.fate)
		}
	}
	for now, want := range map[time.Duration]int{0: 0, 5*ms - 1: 0, 5 * ms: 1, 9 * ms: 1, 10 * ms: 0, time.Hour: 0} {
		if got := e.Active(int64(now)); got != want {
			t.Errorf("Active(%v) = %d, want %d", now, got, want)
		}
	}
	want := []Handover{{At: 5 * ms, From: 0, To: 1}, {At: 10 * ms, From: 1, To: 0}}
	if got := p.Handovers(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Handovers() = %v, want %v", got, want)
	}
}

// TestHandoverDeliversWhatWasTakenIn checks that a packet taken in before a
// handover is delivered after it.
func TestHandoverDeliversWhatWasTakenIn(t *testing.T) {
	slow := Link{Rate: mbit}
	p := Path{Name: "two", Access: []Access{{Name: "wlan", Up: slow, Down: slow}, {Name: "lte", Up: slow, Down: slow}}, Events: []Event{{At: 1, Handover: "lte"}}}
	e := start(t, p, 1)
	if due, fate := e.Arrive(0, Down, 0, 1500); due != 12_000_000 || fate != Delivered {
		t.Errorf("due %d, %v; want 12 ms, delivered", due, fate)
	}
}

func TestIndependentLoss(t *testing.T) {
	const n = 1_000_000
	for _, p := range []float64{0, 0.01, 0.2, 1} {
		got := lossRate(start(t, oneLink(Link{Loss: Loss{Rate: p}}), 7), n)
		if tolerance := 4 * math.Sqrt(p*(1-p)/n); math.Abs(got-p) > tolerance {
			t.Errorf("loss %v: lost %v of %d packets, tolerance %v", p, got, n, tolerance)
		}
	}
}

func TestGilbertElliottLoss(t *testing.T) {
	const n = 2_000_000
	for _, g := range []GilbertElliott{
		{P: 0.01, R: 0.2, BadLoss: 1}, {P: 0.002, R: 0.05, BadLoss: 0.7}, {P: 0.1, R: 0.3, GoodLoss: 0.01, BadLoss: 0.5},
	} {
		want := (g.P*g.BadLoss + g.R*g.GoodLoss) / (g.P + g.R)
		got := lossRate(start(t, oneLink(Link{Loss: Loss{GilbertElliott: &g}}), 7), n)
		if math.Abs(got-want) > 0.03*want {
			t.Errorf("%+v: lost %v, want %v within 3 %%", g, got, want)
		}
	}
}

// TestGilbertElliottBursts checks that with BadLoss 1 and GoodLoss 0 a burst lasts
// as long as the bad state: 1/R packets.
func TestGilbertElliottBursts(t *testing.T) {
	e := start(t, oneLink(Link{Loss: Loss{GilbertElliott: &GilbertElliott{P: 0.01, R: 0.2, BadLoss: 1}}}), 7)
	lost, bursts, before := 0, 0, Delivered
	for i := range 2_000_000 {
		_, fate := e.Arrive(0, Up, int64(i), 1500)
		if fate == LostRandom {
			lost++
			if before == Delivered {
				bursts++
			}
		}
		before = fate
	}
	if mean := float64(lost) / float64(bursts); math.Abs(mean-5) > 0.1 {
		t.Errorf("bursts last %v packets, want 5", mean)
	}
}

func lossRate(e *Emulation, n int) float64 {
	lost := 0
	for i := range n {
		if _, fate := e.Arrive(0, Up, int64(i), 1500); fate == LostRandom {
			lost++
		}
	}
	return float64(lost) / float64(n)
}

func TestLossEvent(t *testing.T) {
	e := start(t, oneLink(Link{}, Event{At: 10, Loss: new(1.0)}, Event{At: 20, Loss: new(0.0)}), 1)
	for now := range int64(30) {
		want := Delivered
		if now >= 10 && now < 20 {
			want = LostRandom
		}
		if _, fate := e.Arrive(0, Up, now, 1500); fate != want {
			t.Errorf("at %d: %v, want %v", now, fate, want)
		}
	}
}

func TestJitterIsNormalAroundTheDelay(t *testing.T) {
	const n = 200_000
	e := start(t, oneLink(Link{Delay: 100 * time.Millisecond, Jitter: 10 * time.Millisecond, Reorder: true}), 3)
	var sum, squares float64
	within := 0
	for range n {
		due, _ := e.Arrive(0, Down, 0, 1500)
		off := (float64(due) - 100e6) / 10e6
		sum, squares = sum+off, squares+off*off
		if math.Abs(off) < 1 {
			within++
		}
	}
	mean, deviation, share := sum/n, math.Sqrt(squares/n), float64(within)/n
	if math.Abs(mean) > 0.01 || math.Abs(deviation-1) > 0.01 || math.Abs(share-0.6827) > 0.005 {
		t.Errorf("jitter has mean %.4f, deviation %.4f, %.4f within one deviation; want 0, 1, 0.6827", mean, deviation, share)
	}
}

// TestLossAndJitterAreIndependent checks that losing a packet says nothing
// about its delay.
func TestLossAndJitterAreIndependent(t *testing.T) {
	e := start(t, oneLink(Link{Delay: time.Second, Jitter: time.Millisecond, Reorder: true, Loss: Loss{Rate: 0.5}}), 3)
	var sum, n float64
	for range 100_000 {
		if due, fate := e.Arrive(0, Up, 0, 1500); fate == Delivered {
			sum, n = sum+float64(due-1e9)/1e6, n+1
		}
	}
	if math.Abs(sum/n) > 0.02 {
		t.Errorf("delivered packets are off the delay by %.3f deviations on average, want 0", sum/n)
	}
}

func TestJitterOrder(t *testing.T) {
	link := Link{Delay: 5 * time.Millisecond, Jitter: 10 * time.Millisecond}
	kept := start(t, oneLink(link), 3)
	link.Reorder = true
	free := start(t, oneLink(link), 3)
	overtaken, atOnce := 0, 0
	var lastKept, lastFree int64
	for i := range int64(10_000) {
		now := i * 1000
		due, _ := kept.Arrive(0, Up, now, 1500)
		if due < lastKept {
			t.Fatalf("packet %d is due at %d, before %d", i, due, lastKept)
		}
		lastKept = due
		if due, _ = free.Arrive(0, Up, now, 1500); due < now {
			t.Fatalf("packet %d is due at %d, before its arrival at %d", i, due, now)
		} else if due == now {
			atOnce++
		}
		if due < lastFree {
			overtaken++
		}
		lastFree = due
	}
	// P(N(5,10) < 0) = 0.3085.
	if overtaken == 0 || math.Abs(float64(atOnce)/10_000-0.3085) > 0.02 {
		t.Errorf("%d packets overtook another, %d had no delay; want some and about 3085", overtaken, atOnce)
	}
}

func TestSameSeedSameFates(t *testing.T) {
	type result struct {
		due  int64
		fate Fate
	}
	run := func(p Path, seed uint64, access int, d Direction) (all []result) {
		e := start(t, p, seed)
		for i := range int64(2000) {
			due, fate := e.Arrive(access, d, i*1_000_000, 1500)
			all = append(all, result{due, fate})
		}
		return all
	}
	differ := func(a, b []result) (n int) {
		for i := range a {
			if a[i] != b[i] {
				n++
			}
		}
		return n
	}
	p := oneLink(Link{Rate: 10 * mbit, Delay: time.Second, Jitter: time.Millisecond, Loss: Loss{Rate: 0.1}})
	first := run(p, 42, 0, Up)
	if n := differ(first, run(p, 42, 0, Up)); n != 0 {
		t.Errorf("%d packets differ between two runs with one seed", n)
	}
	if differ(first, run(p, 43, 0, Up)) == 0 || differ(first, run(p, 42, 0, Down)) == 0 {
		t.Error("another seed or direction draws the same losses")
	}

	// The luck of a packet does not depend on the link's settings: a lower
	// loss rate loses a subset of the same packets.
	p.Access[0].Up = Link{Rate: 5 * mbit, Loss: Loss{Rate: 0.05}}
	p.Events = []Event{{At: 0, Delay: new(time.Second)}, {At: time.Second, Access: "wlan", Outage: 100 * time.Millisecond, OutageDrops: true}}
	lost := 0
	for i, r := range run(p, 42, 0, Up) {
		if r.fate == LostRandom {
			lost++
			if first[i].fate != LostRandom {
				t.Fatalf("packet %d is lost at 5 %% but not at 10 %%", i)
			}
		}
	}
	if lost < 60 || lost > 140 {
		t.Errorf("lost %d of 2000 packets at 5 %%", lost)
	}
}

func TestArriveDoesNotAllocate(t *testing.T) {
	jittery := Link{Rate: 10 * mbit, Delay: 20 * time.Millisecond, Jitter: time.Millisecond, Loss: Loss{Rate: 0.01}, Queue: Queue{Bytes: 64_000}}
	along := jittery
	along.Rate, along.Trace = 0, trace(1, 1, 2, 5, 7)
	for name, p := range map[string]Path{"rate": oneLink(jittery, Event{At: time.Second, Outage: time.Second}), "trace": oneLink(along)} {
		e := start(t, p, 1)
		now := int64(0)
		if n := testing.AllocsPerRun(10_000, func() {
			e.Arrive(0, Down, now, 1500)
			now += 1_000_000
		}); n != 0 {
			t.Errorf("%s: Arrive allocates %v times", name, n)
		}
	}
}

func BenchmarkArrive(b *testing.B) {
	link := Link{Rate: 100 * mbit, Delay: 20 * time.Millisecond, Jitter: time.Millisecond, Loss: Loss{Rate: 0.01}, Queue: Queue{Bytes: 64_000}}
	along := link
	along.Rate, along.Trace = 0, trace(1, 1, 2, 5, 7)
	for name, l := range map[string]Link{"rate": link, "trace": along} {
		b.Run(name, func(b *testing.B) {
			e := start(b, oneLink(l), 1)
			b.ReportAllocs()
			now := int64(0)
			for b.Loop() {
				e.Arrive(0, Down, now, 1500)
				now += 100_000
			}
		})
	}
}

// TestAnEmulationMayBeginInTheMiddleOfItsPath sends the same packets, at the same times of a path, through an emulation
// that began at its time 0 and through one that began later. The fate and the arrival of each packet must agree.
func TestAnEmulationMayBeginInTheMiddleOfItsPath(t *testing.T) {
	const from = 2500 * time.Millisecond
	rate := BitRate(1_000_000)
	trace := &Trace{Name: "made", Opportunities: []int64{3, 40, 41, 42, 700}}
	for name, link := range map[string]Link{
		"rate":  {Rate: 5_000_000, Delay: 20 * time.Millisecond},
		"trace": {Trace: trace, Delay: 20 * time.Millisecond},
	} {
		p := Path{Name: name, Access: []Access{{Name: "access", Up: link, Down: link}}, Events: []Event{
			{At: time.Second, Outage: 100 * time.Millisecond}, {At: 2600 * time.Millisecond, Outage: 300 * time.Millisecond, OutageDrops: true},
		}}
		if name == "rate" {
			p.Events = append(p.Events, Event{At: 3 * time.Second, Rate: &rate})
		}
		whole, err := p.Start(1)
		if err != nil {
			t.Fatal(err)
		}
		later, err := p.StartAt(from, 1)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Duration(0); at < 3*time.Second; at += 37 * time.Millisecond {
			want, wantFate := whole.Arrive(0, Down, int64(from+at), 1200)
			got, fate := later.Arrive(0, Down, int64(at), 1200)
			if fate != wantFate || fate == Delivered && got+int64(from) != want {
				t.Errorf("%s, %v into the path: %v, due %v; from its beginning %v, due %v", name, from+at, fate, time.Duration(got)+from, wantFate, time.Duration(want))
			}
		}
	}
	if _, err := oneLink(Link{}).StartAt(-1, 1); err == nil {
		t.Error("a path was started before its beginning")
	}
}
