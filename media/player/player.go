package player

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// OrderKind says what an order asks for.
type OrderKind string

// The kinds of orders.
const (
	// Connect opens session Session from the host's current address and closes the previous
	// session, whatever it is doing.
	Connect OrderKind = "connect"
	// Move moves session Session to the host's current address.
	Move OrderKind = "move"
	// Ask requests Length octets of segment Segment in resolution Resolution, from octet Offset
	// on, as request Request of session Session. Requests of one session may use separate streams.
	Ask OrderKind = "ask"
	// Cancel says that the result of request Request is no longer needed.
	Cancel OrderKind = "cancel"
)

// Order is an instruction to the owner of the connections.
type Order struct {
	Kind       OrderKind
	Session    int // counted from 1
	Request    int // counted from 1
	Resolution Resolution
	Segment    int // counted from 0; of a file 0
	Offset     int64
	Length     int64 // in octets; 0: to the end
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
	rebindings []Rebinding
	silence    time.Duration // the longest since the last rebinding
	failures   int           // since the last octet
	failure    error         // the last
	retryAt    time.Duration // 0: no retry is pending

	// The loading state.
	loads     []Load
	fetches   []*fetch // what is being loaded, in the order of the segments; the first is not whole
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
	fresh    bool          // no request since connecting or the last seek
	told     bool          // the manager has stated delay
	delay    time.Duration
	seeks    *rand.Rand
	seekAt   time.Duration // when the viewer next decides whether to seek

	figures Figures
}

// segment is a buffered segment.
type segment struct {
	resolution Resolution
	octets     int64
}

// New starts a viewing at moment 0. The error says what is wrong with the configuration.
func New(c Config) (*Player, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("start a viewing: %w", err)
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

// Orders returns the orders since the last call, in the order in which to carry them out.
// Orders for a session that has been lost meanwhile are void. No order says that the
// viewing is over: the owner of the session then closes it.
func (p *Player) Orders() []Order {
	orders := p.orders
	p.orders = nil
	return orders
}

// Over reports whether the viewing has ended.
func (p *Player) Over() bool { return p.over }

// End ends the viewing for a reason, or with nil because the viewer stops watching.
func (p *Player) End(now time.Duration, reason error) {
	if p.at(now) {
		p.end(reason)
	}
}

// Advance moves the time to now and performs everything that is due until then.
func (p *Player) Advance(now time.Duration) {
	p.until(now + 1)
	if !p.over {
		p.now = max(p.now, now)
	}
}

// Next returns when the player acts by itself unless an event comes first.
func (p *Player) Next() (at time.Duration, ok bool) {
	next, ok := p.next()
	return next.at, ok
}

// at moves the time to now. It leaves what is due at that very moment for later, since
// external events come first. It reports whether the viewing continues.
func (p *Player) at(now time.Duration) bool {
	p.until(now)
	if !p.over {
		p.now = max(p.now, now)
	}
	return !p.over
}

// until performs everything that is due before end.
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

// occasion is a timed action of the player.
type occasion struct {
	at time.Duration
	do func()
}

// next returns the first occasion; of several at the same moment, the first in the order
// below.
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
	if len(p.fetches) > 0 {
		consider(true, p.patience(), p.giveUp)
	}
	return first, ok
}

// patience returns when the viewer gives up.
func (p *Player) patience() time.Duration {
	return max(p.lastOctet, p.loads[len(p.loads)-1].Wanted) + p.config.GiveUp
}
