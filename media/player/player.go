package player

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// OrderKind is what is to be done.
type OrderKind string

// The kinds of orders.
const (
	// Connect: open session Session from the host's present address, and close the
	// one before it, whatever it is doing.
	Connect OrderKind = "connect"
	// Move: take session Session along to the host's present address.
	Move OrderKind = "move"
	// Ask: ask for segment Segment in resolution Resolution, from octet Offset on, as
	// request Request of session Session. Requests of one session may be on streams
	// of their own.
	Ask OrderKind = "ask"
	// Cancel: nobody waits for request Request any more.
	Cancel OrderKind = "cancel"
)

// Order is what to do next.
type Order struct {
	Kind       OrderKind
	Session    int // counted from 1
	Request    int // counted from 1
	Resolution Resolution
	Segment    int // counted from 0; of a file 0
	Offset     int64
}

// Player is one viewing. Its methods must not be called from several goroutines at
// once.
type Player struct {
	config Config
	now    time.Duration
	over   bool
	orders []Order

	// The connection.
	connection connection
	sessions   []Session
	handovers  []Handover
	longest    time.Duration // silence since the last handover
	failures   int           // since the last octet
	failure    error         // the last
	retryAt    time.Duration // 0: nothing has to wait

	// What is asked for: one segment at a time.
	loads     []Load
	loading   bool     // the last of loads is not whole yet
	kept      int64    // octets of it from requests that failed
	request   *request // under way
	requests  int      // made so far
	lastOctet time.Duration
	samples   []sample

	// What is played.
	state    State
	since    time.Duration // state
	segments int           // of the video, as far as is known
	head     int           // segment that is played, or will be next
	headAt   time.Duration // when it began to play, if it does
	buffer   []segment     // from head on
	shown    Resolution    // what was played last
	fresh    bool          // nothing has been asked for since connecting or the last seek
	told     bool          // what delay is
	delay    time.Duration
	seeks    *rand.Rand
	seekAt   time.Duration // when the viewer next decides whether to seek

	figures Figures
}

// segment is one that is buffered.
type segment struct {
	resolution Resolution
	octets     int64
}

// New begins a viewing, at moment 0. The error says what is wrong with the
// configuration.
func New(c Config) (*Player, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("begin a viewing: %w", err)
	}
	p := &Player{config: c, state: Starting, segments: c.Segments, seeks: rand.New(rand.NewPCG(c.Seed, 0))}
	if c.Mode == File {
		p.segments = 1
	}
	if c.Mode == View && c.SeekProbability > 0 {
		p.seekAt = time.Second
	}
	p.want()
	p.connect()
	return p, nil
}

// Orders are those since the last call, in the order in which to carry them out.
// Those for a session that has been lost meanwhile are void. None says that the
// viewing is over: whoever has the session closes it then.
func (p *Player) Orders() []Order {
	orders := p.orders
	p.orders = nil
	return orders
}

// Over says whether the viewing has ended.
func (p *Player) Over() bool { return p.over }

// End ends the viewing, for a reason or, with nil, because the viewer has had
// enough.
func (p *Player) End(now time.Duration, reason error) {
	if p.at(now) {
		p.end(reason)
	}
}

// Advance says that it is now; what was to happen by itself until then happens.
func (p *Player) Advance(now time.Duration) {
	p.until(now + 1)
	if !p.over {
		p.now = max(p.now, now)
	}
}

// Next is when something happens by itself, if nothing comes before.
func (p *Player) Next() (at time.Duration, ok bool) {
	next, ok := p.next()
	return next.at, ok
}

// at brings the player to a moment, and leaves what happens by itself at that very
// moment for later: what comes from outside comes first. It says whether the
// viewing still goes on.
func (p *Player) at(now time.Duration) bool {
	p.until(now)
	if !p.over {
		p.now = max(p.now, now)
	}
	return !p.over
}

// until lets happen what happens by itself before a moment.
func (p *Player) until(end time.Duration) {
	for {
		next, ok := p.next()
		if !ok || next.at >= end {
			return
		}
		p.now = max(p.now, next.at)
		next.do()
	}
}

// occasion is something that happens by itself.
type occasion struct {
	at time.Duration
	do func()
}

// next is the first occasion; of those at the same moment, the one that comes first
// here.
func (p *Player) next() (first occasion, ok bool) {
	if p.over {
		return occasion{}, false
	}
	consider := func(has bool, at time.Duration, do func()) {
		if has && (!ok || at < first.at) {
			first, ok = occasion{at, do}, true
		}
	}
	consider(p.config.For > 0, p.config.For, func() { p.end(nil) })
	consider(p.state == Playing, p.headAt+SegmentLength, p.played)
	consider(p.seekAt > 0, p.seekAt, p.maybeSeek)
	consider(p.retryAt > 0, p.retryAt, p.retry)
	if p.loading {
		consider(true, p.patience(), p.giveUp)
	}
	return first, ok
}

// patience is when the viewer gives up.
func (p *Player) patience() time.Duration {
	return max(p.lastOctet, p.loads[len(p.loads)-1].Wanted) + p.config.GiveUp
}
