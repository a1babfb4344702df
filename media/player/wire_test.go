package player

import (
	"container/heap"
	"slices"
	"testing"
	"time"
)

// watched configures a viewing with seeks for half a minute.
func watched(seed uint64) Config {
	c := viewing()
	c.For, c.SeekProbability, c.Seed = 30*time.Second, 0.3, seed
	return c
}

// wire is an idealised network and server whose timing can be computed. Responses share a
// link of fixed rate, one after the other.
type wire struct {
	setUp     time.Duration // of a session
	delay     time.Duration // one-way
	perOctet  time.Duration
	segments  int // of the server's video; 0: 100
	handovers []time.Duration
	loses     []time.Duration // when the session breaks
	delays    []time.Duration // what the manager says at each second
}

// piece is how many octets arrive at once.
const piece = 100_000

// run plays a whole viewing.
func run(t testing.TB, c Config, w wire) Figures {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := running{wire: w, player: p, cancelled: map[int]time.Duration{}}
	for _, at := range w.handovers {
		r.when(at, func() { p.Associate(at, "AP2") })
	}
	for _, at := range w.loses {
		r.when(at, func() { r.session++; p.Lost(at, r.session-1, errGone) })
	}
	for i, delay := range w.delays {
		at := time.Duration(i) * time.Second
		r.when(at, func() { p.LinkDelay(at, delay) })
	}
	for steps := 0; !p.Over(); steps++ {
		if steps > 1_000_000 {
			t.Fatalf("the viewing does not end: %+v", p.Figures())
		}
		r.step(t)
	}
	return p.Figures()
}

type running struct {
	wire
	player    *Player
	events    events
	serial    int
	session   int // the one that is open, or being opened
	free      time.Duration
	cancelled map[int]time.Duration // when the server learns it
}

// step carries out orders and performs the next event.
func (r *running) step(t testing.TB) {
	p := r.player
	for _, o := range p.Orders() {
		r.obey(o)
	}
	at, ok := p.Next()
	if len(r.events) > 0 && (!ok || r.events[0].at <= at) {
		e := heap.Pop(&r.events).(event)
		e.do()
	} else if ok {
		p.Advance(at)
	} else {
		t.Fatal("no event is due")
	}
	r.check(t)
}

func (r *running) obey(o Order) {
	p, now := r.player, r.player.now
	switch o.Kind {
	case Connect:
		r.session = o.Session
		r.when(now+r.setUp, func() { p.Connected(now+r.setUp, o.Session) })
	case Move:
		r.when(now+2*r.delay, func() { p.Moved(now+2*r.delay, o.Session) })
	case Cancel:
		r.cancelled[o.Request] = now + r.delay
	case Ask:
		r.answer(o, now+r.delay)
	}
}

// answer is the server's handling of a request.
func (r *running) answer(o Order, now time.Duration) {
	p, back := r.player, now+r.delay
	segments := r.segments
	if segments == 0 {
		segments = 100
	}
	if o.Segment >= segments {
		r.when(back, func() { p.PastEnd(back, o.Request, segments) })
		return
	}
	size := int64(hdOctets)
	if o.Resolution != Plain {
		size = sizes[o.Resolution-HD]
	}
	r.when(back, func() { p.Answered(back, o.Request, size, segments) })
	left := size - o.Offset
	if o.Length > 0 {
		left = o.Length
	}
	r.send(o, left, now)
}

// send sends what is left of a response from a moment on.
func (r *running) send(o Order, left int64, now time.Duration) {
	if stop, ok := r.cancelled[o.Request]; left == 0 || ok && now >= stop || o.Session != r.session {
		return
	}
	octets := min(left, piece)
	r.free = max(r.free, now) + time.Duration(octets)*r.perOctet
	sent, arrives := r.free, r.free+r.delay
	r.when(arrives, func() { r.player.Received(arrives, o.Request, octets) })
	r.when(sent, func() { r.send(o, left-octets, sent) })
}

func (r *running) when(at time.Duration, do func()) {
	r.serial++
	heap.Push(&r.events, event{at, r.serial, do})
}

// check checks the invariants.
func (r *running) check(t testing.TB) {
	t.Helper()
	f, s := r.player.Figures(), r.player.Status()
	limit := time.Duration(r.player.config.Ahead) * SegmentLength
	if s.Buffer < 0 || s.Buffer > limit {
		t.Fatalf("at %v, %v are buffered of %v", f.Duration, s.Buffer, limit)
	}
	if f.Received != f.Played+f.Wasted+f.Held || min(f.Played, f.Wasted, f.Held) < 0 {
		t.Fatalf("at %v: %d octets received, %d played, %d wasted, %d held", f.Duration, f.Received, f.Played, f.Wasted, f.Held)
	}
	var goodput int64
	for _, octets := range f.Goodput {
		goodput += octets
	}
	if goodput != f.Received {
		t.Fatalf("at %v: goodput of %d octets in all, %d received", f.Duration, goodput, f.Received)
	}
	if sum := f.Times.Starting + f.Times.Playing + f.Times.Stalled + f.Times.Seeking + f.Times.Ended; sum != f.Duration {
		t.Fatalf("at %v the times %+v add up to %v", f.Duration, f.Times, sum)
	}
}

// checkTimeline recomputes a viewing's figures from its timeline alone. With several requests at once a segment that is
// loaded may wait for one before it, or bring such segments along.
func checkTimeline(t testing.TB, f Figures, parallel int) {
	t.Helper()
	var times Times
	var stalls, seeks, switches, whole int
	state, at, buffer := Starting, time.Duration(0), time.Duration(0)
	var shown Resolution
	for i, e := range f.Timeline {
		passed := e.At - at
		if passed < 0 {
			t.Fatalf("entry %d at %v comes after %v", i, e.At, at)
		}
		*times.of(state) += passed
		if state == Playing {
			buffer -= passed
		}
		if buffer < 0 {
			t.Fatalf("entry %d at %v: the buffer holds %v", i, e.At, buffer)
		}
		switch e.Event {
		case Event(Stalled):
			stalls++
		case Sought:
			seeks++
		case Loaded:
			whole++
			switch gathered := e.Buffer - buffer; {
			case e.Resolution == Plain: // a file is not buffered
			case parallel == 1:
				buffer += SegmentLength
			case gathered >= 0 && gathered <= time.Duration(parallel)*SegmentLength && gathered%SegmentLength == 0:
				buffer = e.Buffer
			default:
				t.Fatalf("entry %d at %v: the buffer went from %v to %v", i, e.At, buffer, e.Buffer)
			}
		case Showing:
			if shown != Plain && shown != e.Resolution {
				switches++
			}
			shown = e.Resolution
		}
		// Only seeks discard buffered segments or play them again.
		if e.Buffer != buffer && e.Event != Sought && e.Event != Cancelled && e.Event != Event(Playing) && e.Event != Event(Ended) {
			t.Fatalf("entry %d, %s at %v: %v are buffered, by the entries before %v", i, e.Event, e.At, e.Buffer, buffer)
		}
		state, at, buffer = e.State, e.At, e.Buffer
	}
	loaded := 0
	for _, l := range f.Loads {
		if l.Whole {
			loaded++
		}
		if l.Ended > 0 && l.Ended < max(l.Wanted, l.Asked, l.Began) {
			t.Fatalf("a load ends before it began: %+v", l)
		}
	}
	if times != f.Times || stalls != f.Stalls || seeks != f.Seeks || switches != f.Switches || loaded != whole {
		t.Fatalf("by the timeline %+v, %d stalls, %d seeks, %d switches, %d segments; by the figures %+v, %d, %d, %d, %d",
			times, stalls, seeks, switches, whole, f.Times, f.Stalls, f.Seeks, f.Switches, loaded)
	}
	if last := f.Timeline[len(f.Timeline)-1]; last.Event != Over || last.At != f.Duration {
		t.Fatalf("the last entry is %+v", last)
	}
}

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = slices.Delete(*e, len(*e)-1, len(*e))
	return last
}
