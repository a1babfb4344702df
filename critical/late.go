package critical

import (
	"cmp"
	"slices"
	"sort"
)

// late returns an upper bound, in ns, on how far late packets can have moved the end
// of a link, which was split into steps.
//
// A late packet delays the link only if the link was waiting for it. Lateness adds up
// only along a chain of packets, each sent after the previous one had arrived. The
// bound is therefore the lateness of the chain that has the most.
//
// Lateness does not add up while the network serialises packets back to back: the
// emulator computes when a packet is due from when the earlier ones were due, not from
// when they were delivered. In such a span only the last packet counts.
func (l *ledger) late(k link, steps []Step) int64 {
	carries := l.carriers(k)
	if carries == nil { // the packets that the link waited for are unknown
		return longestChain(l.traffic.lateWithin(l.spans(steps, func(Step) bool { return true })), nil)
	}
	client := l.spans(steps, func(s Step) bool { return s.Kind == Client })
	network := l.spans(steps, func(s Step) bool { return s.Kind != Client })
	serial := l.spans(steps, func(s Step) bool { return s.Kind == Bandwidth || s.Kind == Queueing })
	own := slices.DeleteFunc(l.traffic.lateWithin(network), func(p *packet) bool { return !carries(p) })
	return longestChain(l.traffic.lateWithin(client), nil) + longestChain(own, serial)
}

// lateWithin returns the late packets that arrived within spans, which are joined, in the
// order in which they were sent.
func (t *traffic) lateWithin(spans []span) []*packet {
	var list []*packet
	for _, s := range spans {
		i := sort.Search(len(t.late), func(i int) bool { return t.late[i].arrived > s.from })
		for ; i < len(t.late) && t.late[i].arrived <= s.to; i++ {
			list = append(list, t.late[i])
		}
	}
	slices.SortFunc(list, func(a, b *packet) int { return cmp.Compare(a.number, b.number) })
	return list
}

// spans returns the steps that fit, joined, in ns since the Unix epoch.
func (l *ledger) spans(steps []Step, fits func(Step) bool) []span {
	var list []span
	for _, s := range steps {
		if fits(s) {
			list = append(list, span{l.epoch + s.From, l.epoch + s.To})
		}
	}
	return joined(list)
}

// carriers returns a function that reports whether a packet belongs to a connection that a
// link can have waited for, or nil if these connections are unknown.
func (l *ledger) carriers(k link) func(*packet) bool {
	if k.resource == nil || k.phase == ClientPhase {
		return nil
	}
	x := l.exchanges[k.resource]
	names := l.traffic.names[host(k.resource.url)]
	if x == nil && (k.phase != DNS || names == nil) {
		return nil
	}
	return func(p *packet) bool {
		switch c := p.connection; {
		case c == nil || c == names:
			return c != nil
		case x == nil:
			return false
		case c == x.connection:
			return true
		default:
			return k.phase == Blocked && c.precedes(x.connection)
		}
	}
}

// precedes reports whether a connection was opened to the same address as another, before it.
func (c *connection) precedes(other *connection) bool {
	return c.flow.Destination == other.flow.Destination && c.opening.from < other.opening.from
}

// longestChain returns the lateness of the chain of late packets that has the most. The
// packets must be in the order they were sent. In each serial span, in which the network
// serialised, only the last packet of each direction counts.
func longestChain(late []*packet, serial []span) int64 {
	last := map[serialising]*packet{}
	for _, p := range late {
		if during, ok := p.arrivedIn(serial); ok {
			if q := last[during]; q == nil || p.arrived > q.arrived {
				last[during] = p
			}
		}
	}
	arriving := slices.Clone(late)
	slices.SortStableFunc(arriving, func(a, b *packet) int { return cmp.Compare(a.arrived, b.arrived) })
	chains := map[*packet]int64{}
	var best [2]int64 // lateness of the chains that have arrived, by the direction of their last packet
	longest := int64(0)
	for _, p := range late {
		for len(arriving) > 0 && arriving[0].arrived <= p.sent {
			q := arriving[0]
			best[q.direction] = max(best[q.direction], chains[q])
			arriving = arriving[1:]
		}
		chains[p] = best[1-p.direction]
		if during, ok := p.arrivedIn(serial); !ok || last[during] == p {
			chains[p] += p.late
		}
		longest = max(longest, chains[p])
	}
	return longest
}

// serialising is a span in which the network serialised packets of one direction.
type serialising struct {
	direction direction
	end       int64 // ns since the Unix epoch
}

// arrivedIn returns the serial span in which p arrived, if any. Spans are in the
// client's time; what happens at the server shows there one path delay later.
func (p *packet) arrivedIn(serial []span) (during serialising, ok bool) {
	at := p.arrived - 1
	if p.direction == up {
		at += p.line.least
	}
	i := sort.Search(len(serial), func(i int) bool { return serial[i].to > at })
	if i == len(serial) || serial[i].from > at {
		return serialising{}, false
	}
	return serialising{p.direction, serial[i].to}, true
}
