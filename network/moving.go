package network

import (
	"slices"
	"time"
)

// events returns the path's events with those of its access links' rides.
func (p Path) events() []Event {
	var all []Event
	for _, a := range p.Access {
		if a.Ride != nil {
			all = append(all, a.Ride.events(a.Name)...)
		}
	}
	return append(all, p.Events...)
}

// events returns the rows as events of the access link with that name.
func (ride *Ride) events(access string) []Event {
	events := make([]Event, 0, 2*len(ride.Rows))
	for i := range ride.Rows {
		r := &ride.Rows[i]
		if r.Link != LinkUp {
			events = append(events, Event{At: r.At, Access: access, Outage: ride.until(i) - r.At, OutageDrops: r.Link == LinkDropping})
			continue
		}
		events = append(events,
			Event{At: r.At, Access: access, Direction: Down.String(), Rate: &r.Down, Delay: &r.DownDelay},
			Event{At: r.At, Access: access, Direction: Up.String(), Rate: &r.Up, Delay: &r.UpDelay})
	}
	return events
}

// until returns when row i ends: when the next row begins, or at the ride's end.
func (ride *Ride) until(i int) time.Duration {
	if i+1 < len(ride.Rows) {
		return ride.Rows[i+1].At
	}
	return ride.End
}

// Access returns an access link that follows the ride. up and down have the loss, jitter and queue,
// which a ride does not set. Their rates become the means over the whole ride, outages included,
// in whole kbit/s but at least 1; their delays become the means over the time that the link is up,
// to 1 ms.
func (ride *Ride) Access(name string, up, down Link) Access {
	var rates, delays [2]float64
	var ridden float64
	for i, r := range ride.Rows {
		if r.Link == LinkUp {
			took := float64(ride.until(i) - r.At)
			ridden += took
			rates[Up], rates[Down] = rates[Up]+took*float64(r.Up), rates[Down]+took*float64(r.Down)
			delays[Up], delays[Down] = delays[Up]+took*float64(r.UpDelay), delays[Down]+took*float64(r.DownDelay)
		}
	}
	for d, l := range map[Direction]*Link{Up: &up, Down: &down} {
		l.Rate = max(1, BitRate(rates[d]/float64(ride.End))/kbit) * kbit
		l.Delay = time.Duration(delays[d] / ridden).Round(time.Millisecond)
	}
	return Access{Name: name, Up: up, Down: down, Ride: ride}
}

// Outages returns how many outages the ride has, and how long they last together.
func (ride *Ride) Outages() (count int, sum time.Duration) {
	for i, r := range ride.Rows {
		if r.Link != LinkUp {
			sum += ride.until(i) - r.At
			if i == 0 || ride.Rows[i-1].Link == LinkUp {
				count++
			}
		}
	}
	return count, sum
}

// Moves reports whether the rate of the path's links changes by a ride or a trace.
func (p Path) Moves() bool {
	for _, a := range p.Access {
		if a.Ride != nil || a.Up.Trace != nil || a.Down.Trace != nil {
			return true
		}
	}
	return false
}

// TraceOutage is how long a trace has no delivery opportunity before that counts as an outage.
const TraceOutage = time.Second

// Offer says what one direction of a path could have carried in some time.
type Offer struct {
	Rate   float64       // mean, in bit/s; an outage counts as 0
	Outage time.Duration // how long the link was down, or its trace paused for TraceOutage or longer
}

// Offered returns what one direction of the path's first access link offers between two moments
// since the path's first packet, whatever passes. It returns false if the rate is not limited then, if
// to is not after from, or if the path has several access links. The path must be valid.
func (p Path) Offered(d Direction, from, to time.Duration) (Offer, bool) {
	from = max(from, 0)
	if to <= from || len(p.Access) != 1 {
		return Offer{}, false
	}
	var o Offer
	var bits float64
	trace, services := p.Access[0].link(d).Trace, p.timeline(0, d).service
	for at := int64(from); at < int64(to); {
		now := services.read(at)
		end := min(services.until(), int64(to))
		switch {
		case now.outage != noOutage:
			o.Outage += time.Duration(end - at)
		case trace != nil:
			bits += 8 * OpportunityBytes * float64(trace.upTo(end)-trace.upTo(at))
			o.Outage += trace.paused(at, end)
		case now.rate == 0:
			return Offer{}, false
		default:
			bits += float64(now.rate) * float64(end-at) / 1e9
		}
		at = end
	}
	o.Rate = bits / (to - from).Seconds()
	return o, true
}

// paused returns how much of the time between two moments, in ns since the trace's start, lies in
// pauses of TraceOutage or longer.
func (t *Trace) paused(from, to int64) time.Duration {
	var sum time.Duration
	for n := t.upTo(from); ; n++ {
		before, next := t.at(n-1), t.at(n)
		if before >= to {
			return sum
		}
		if next-before >= int64(TraceOutage) {
			sum += time.Duration(min(next, to) - max(before, from))
		}
	}
}

// at returns when the trace's opportunity of a number is, in ns since its start, however often it has
// repeated. Before the first is the start.
func (t *Trace) at(n int64) int64 {
	if n < 0 {
		return 0
	}
	each := int64(len(t.Opportunities))
	return n/each*int64(t.Period()) + t.Opportunities[n%each]*int64(time.Millisecond)
}

// upTo returns how many opportunities the trace has until a moment, and in it, in ns since its
// start.
func (t *Trace) upTo(moment int64) int64 {
	rounds, into := moment/int64(t.Period()), moment%int64(t.Period())
	inRound, _ := slices.BinarySearch(t.Opportunities, into/int64(time.Millisecond)+1)
	return rounds*int64(len(t.Opportunities)) + int64(inRound)
}
