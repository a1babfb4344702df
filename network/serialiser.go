package network

import (
	"slices"
	"time"
)

// transmitter puts packets on the line one after the other.
type transmitter interface {
	// send transmits a packet that arrives at now after all earlier ones. It
	// returns when the packet leaves the queue: when its last bit is on the
	// line, rounded up to a whole nanosecond, or, if cut, when an outage
	// discards it. These times never decrease from packet to packet.
	send(now int64, size int) (leaves int64, cut bool)
}

// serialiser transmits at the rate of its schedule. The line is free at at +
// carry/rate ns, which need not be a whole nanosecond; rate is the one in force
// at time at.
type serialiser struct {
	service schedule[service]
	at      int64 // ns
	carry   int64 // bit*ns, below the rate; 0 where the rate is unlimited
}

func (s *serialiser) send(now int64, size int) (leaves int64, cut bool) {
	if now > s.at {
		s.at, s.carry = now, 0
	}
	work := int64(size) * 8 * int64(time.Second)
	for {
		svc := s.service.read(s.at)
		end := s.service.until()
		switch {
		case svc.outage == dropping:
			return s.at, true
		case svc.outage == holding:
		case svc.rate == 0:
			return s.at, false
		default:
			rate := int64(svc.rate)
			took, carry := (work+s.carry)/rate, (work+s.carry)%rate
			if took < end-s.at || took == end-s.at && carry == 0 {
				s.at, s.carry = s.at+took, carry
				if carry > 0 {
					return s.at + 1, false
				}
				return s.at, false
			}
			// An event cuts the packet in two. It lies on a whole nanosecond, so
			// the work done before it is a whole number of bit*ns.
			work -= (end-s.at)*rate - s.carry
		}
		s.at, s.carry = end, 0
	}
}

// opportunist transmits at the opportunities of a trace. It reads only the outages of its schedule.
type opportunist struct {
	service schedule[service]
	millis  []int64 // the trace's opportunities
	period  int64   // ns
	round   int64   // ns at which the present repetition began
	next    int     // index of the next opportunity
	at      int64   // ns up to which the trace is used
	left    int     // bytes that the opportunity at time at still carries
}

func newOpportunist(trace *Trace, service schedule[service]) *opportunist {
	return &opportunist{service: service, millis: trace.Opportunities, period: int64(trace.Period())}
}

func (o *opportunist) send(now int64, size int) (leaves int64, cut bool) {
	if now >= o.at {
		o.at, o.left = now, 0
		o.seek(now)
	}
	for size > o.left {
		size -= o.left
		if o.left = 0; !o.take() {
			return o.at, true
		}
	}
	o.left -= size
	return o.at, false
}

// take moves to the next opportunity that no outage wastes. It stops, and
// returns false, at the start of an outage that drops.
func (o *opportunist) take() bool {
	for {
		svc := o.service.read(o.at)
		end := o.service.until()
		opportunity := o.round + o.millis[o.next]*int64(time.Millisecond)
		switch {
		case svc.outage == dropping:
			return false
		case svc.outage == holding:
			o.at = end
			o.seek(end - 1)
		case opportunity >= end:
			o.at = end
		default:
			if o.next++; o.next == len(o.millis) {
				o.next = 0
				o.round += o.period
			}
			o.at, o.left = opportunity, OpportunityBytes
			return true
		}
	}
}

// seek makes the first opportunity strictly after a moment the next one.
func (o *opportunist) seek(after int64) {
	into := after % o.period
	o.round = after - into
	// The period is itself an opportunity, so one later than into exists.
	o.next, _ = slices.BinarySearch(o.millis, into/int64(time.Millisecond)+1)
}
