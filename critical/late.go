package critical

import (
	"cmp"
	"slices"
	"sort"
)

// late bounds, in ns, how far emulator lateness can have moved the end of a link.
// steps are the steps that the link was split into.
//
// Lateness delays the path only while the path waits for a late packet, and it adds
// up only along chains, in which a host sends each packet after the previous one has
// arrived. So the bound is the lateness of the chain with the most of it. While the
// network serialises, only the very last packet counts: the due time of the next
// packet follows from the due times of those before it, not from when they left.
func (l *ledger) late(k link, steps []Step) int64 {
	own := l.carriers(k)
	if own == nil { // the packets that the link waited for are unknown
		return longestChain(l.traffic.packets, l.spans(steps, func(Step) bool { return true }), nil)
	}
	client := l.spans(steps, func(s Step) bool { return s.Kind == Client })
	network := l.spans(steps, func(s Step) bool { return s.Kind != Client })
	serial := l.spans(steps, func(s Step) bool { return s.Kind == Bandwidth || s.Kind == Queueing })
	return longestChain(l.traffic.packets, client, nil) + longestChain(own, network, serial)
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

// carriers returns the packets of the connections that a link can have waited for, or
// nil if they are unknown.
func (l *ledger) carriers(k link) []*packet {
	if k.resource == nil || k.phase == ClientPhase {
		return nil
	}
	x := l.exchanges[k.resource]
	names := l.traffic.names[host(k.resource.url)]
	if x == nil && (k.phase != DNS || names == nil) {
		return nil
	}
	var own []*packet
	if names != nil {
		own = append(own, names.carried()...)
	}
	if x != nil {
		for _, c := range l.traffic.opening(x.connection, k.phase == Blocked) {
			own = append(own, c.packets...)
		}
	}
	slices.SortStableFunc(own, func(a, b *packet) int { return cmp.Compare(a.sent, b.sent) })
	return own
}

// carried returns the packets of a DNS look-up.
func (c *connection) carried() []*packet {
	var list []*packet
	for _, l := range c.lanes {
		for _, p := range l.pieces {
			list = append(list, p.packet)
		}
	}
	return list
}

// longestChain returns the lateness of the chain with the most of it. It considers
// packets that arrived within the spans, in the order they were sent. While the
// network serialises only the last packet counts, in either direction.
func longestChain(packets []*packet, spans, serial []span) int64 {
	var late []*packet
	last := map[int64]*packet{} // by the end of the serial span and the direction
	for _, p := range packets {
		if p.arrived == never || p.late <= 0 || !within(spans, p.arrived-1) {
			continue
		}
		late = append(late, p)
		if end, ok := p.serialUntil(serial); ok {
			if q := last[end]; q == nil || p.arrived > q.arrived {
				last[end] = p
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
		if end, ok := p.serialUntil(serial); !ok || last[end] == p {
			chains[p] += p.late
		}
		longest = max(longest, chains[p])
	}
	return longest
}

// serialUntil returns the end of the span in which the network serialised when p
// arrived. The end is negative for packets from the client, so that each direction
// has its own. Steps describe the client's end; a packet that reaches the server
// shows there one path delay later.
func (p *packet) serialUntil(serial []span) (end int64, ok bool) {
	at := p.arrived - 1
	if p.direction == up {
		at += p.line.least
	}
	i := sort.Search(len(serial), func(i int) bool { return serial[i].to > at })
	if i == len(serial) || serial[i].from > at {
		return 0, false
	}
	if p.direction == up {
		return -serial[i].to, true
	}
	return serial[i].to, true
}
