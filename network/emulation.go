package network

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Fate is what happened to a packet.
type Fate uint8

// The fates; the drops of access links are listed in the order in which they are decided.
const (
	Delivered       Fate = iota
	DroppedHandover      // it arrived on an access link that is not the active one
	LostRandom           // it was lost by chance, independently or in a Gilbert-Elliott burst
	DroppedQueue         // the queue was full
	DroppedOutage        // it arrived during an outage that drops, or was waiting when one began
	DroppedBinding       // it came from a server for a binding that the NAT has forgotten, and never reached the access link
)

// String returns the fate in the words that captures use for a dropped packet:
// "random loss", "queue full", "outage", "handover", "no binding"; or "delivered".
func (f Fate) String() string {
	switch f {
	case Delivered:
		return "delivered"
	case DroppedHandover:
		return "handover"
	case DroppedOutage:
		return "outage"
	case LostRandom:
		return "random loss"
	case DroppedQueue:
		return "queue full"
	case DroppedBinding:
		return "no binding"
	}
	return fmt.Sprintf("unknown fate %d", uint8(f))
}

// Emulation is a path in use. It belongs to one goroutine.
type Emulation struct {
	lines      []line // access links by index, up before down
	handovers  []Handover
	rebindings []RebindingAt
	together   bool
	from       int64 // the path's time at the emulation's time 0, in ns
	far        map[netip.Addr]time.Duration
}

// Start begins an emulation of the path at time 0. All randomness follows from
// the seed. It fails if the path is not valid.
func (p Path) Start(seed uint64) (*Emulation, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("start emulation: %w", err)
	}
	e := &Emulation{handovers: p.Handovers(), rebindings: p.Rebindings(), together: p.Together, far: p.Far}
	for i := range p.Access {
		up, down := p.line(i, Up, seed), p.line(i, Down, seed)
		if p.Access[i].Shared {
			down.backlog, down.transmitter = up.backlog, up.transmitter
		}
		e.lines = append(e.lines, up, down)
	}
	return e, nil
}

// StartAt begins an emulation as Start does, but in the middle of the path's time: at the emulation's
// time 0, the path's time is from, which must not be negative.
func (p Path) StartAt(from time.Duration, seed uint64) (*Emulation, error) {
	if from < 0 {
		return nil, fmt.Errorf("start emulation: at %v of the path's time: must not be negative", from)
	}
	e, err := p.Start(seed)
	if err != nil {
		return nil, err
	}
	e.from = int64(from)
	return e, nil
}

// Arrive takes a packet of size bytes (IP header included, at least 1) that
// reaches the given direction of an access link, by its index in Path.Access,
// at now ns since the epoch. It returns the packet's fate and, if that is
// Delivered, the time at which the packet reaches the other end. now must not
// decrease from call to call. Arrive allocates only to grow the queue's
// bookkeeping, when more packets wait than ever before.
func (e *Emulation) Arrive(access int, d Direction, now int64, size int) (due int64, fate Fate) {
	due, fate = e.lines[2*access+int(d)].arrive(now+e.from, size, e.together || e.Active(now) == access)
	if fate == Delivered {
		due -= e.from
	}
	return due, fate
}

// Far returns the delay in ns of a packet from or to that server beyond the
// access links. Add it to the due time of [Emulation.Arrive].
func (e *Emulation) Far(server netip.Addr) int64 { return int64(e.far[server]) }

// Active returns the index of the access link in use at now ns since the epoch.
func (e *Emulation) Active(now int64) int {
	for _, h := range slices.Backward(e.handovers) {
		if now+e.from >= int64(h.At) {
			return h.To
		}
	}
	return 0
}

// line is one direction of one access link in use. The directions of a shared one have one backlog
// and one transmitter.
type line struct {
	luck        luck
	backlog     *backlog
	transmitter transmitter
	delay       schedule[int64]
	loss        schedule[float64]
	jitter      float64 // ns
	reorder     bool
	lastDue     int64
}

func (p Path) line(access int, d Direction, seed uint64) line {
	link, events := p.Access[access].link(d), p.timeline(access, d)
	l := line{
		luck:        newLuck(seed, access, d, link.Loss.GilbertElliott),
		backlog:     &backlog{limit: link.Queue},
		transmitter: &serialiser{service: events.service},
		delay:       events.delay,
		loss:        events.loss,
		jitter:      float64(link.Jitter),
		reorder:     link.Reorder,
	}
	if link.Trace != nil {
		l.transmitter = newOpportunist(link.Trace, events.service)
	}
	return l
}

func (l *line) arrive(now int64, size int, active bool) (due int64, fate Fate) {
	lost, deviations := l.luck.draw(l.loss.read(now))
	l.backlog.dequeue(now)
	switch {
	case !active:
		return 0, DroppedHandover
	case lost:
		return 0, LostRandom
	case !l.backlog.admits(size):
		return 0, DroppedQueue
	}
	leaves, cut := l.transmitter.send(now, size)
	l.backlog.enqueue(leaves, size)
	if cut {
		return 0, DroppedOutage
	}
	delay := l.delay.read(leaves) + int64(math.Round(l.jitter*deviations))
	due = leaves + max(delay, 0)
	if !l.reorder {
		due = max(due, l.lastDue)
	}
	l.lastDue = due
	return due, Delivered
}

// LeastDelay returns a time in ns that every delivered packet spends on the path at
// least, whatever events are still to come and however near its server is.
func (e *Emulation) LeastDelay() int64 {
	least := int64(forever)
	for i := range e.lines {
		least = min(least, e.lines[i].leastDelay())
	}
	return least
}

// leastDelay returns 0 where jitter leaves the delay without a lower bound.
func (l *line) leastDelay() int64 {
	if l.jitter > 0 {
		return 0
	}
	least := int64(forever)
	for _, s := range l.delay.steps {
		least = min(least, s.value)
	}
	return least
}
