package critical

import (
	"cmp"
	"slices"
	"sort"
)

// lane is a sequence of octets delivered in order: one direction of a TCP
// connection, of a QUIC stream or of a QUIC handshake.
type lane struct {
	direction direction
	greets    bool // it carries the QUIC handshake
	pieces    []piece
	segments  []*segment // filled in by finish
}

// piece is a transmission of octets [from, to).
type piece struct {
	span
	packet *packet
}

// segment is a run of octets sent together in all their transmissions.
type segment struct {
	span                // positions
	first     *packet   // their first transmission
	packets   []*packet // all of them
	arrived   int64     // their first arrival, or never
	delivered int64     // when all octets up to them had arrived, or never
}

func (l *lane) add(p *packet, from, to int64) {
	if from < to {
		l.pieces = append(l.pieces, piece{span{from, to}, p})
	}
}

// finish builds the segments once all pieces are there in the order they were
// sent.
func (l *lane) finish() {
	var cuts []int64
	for _, p := range l.pieces {
		cuts = append(cuts, p.from, p.to)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	all := make([]segment, max(0, len(cuts)-1))
	for i := range all {
		all[i] = segment{span: span{cuts[i], cuts[i+1]}, arrived: never}
	}
	for _, p := range l.pieces {
		i, _ := slices.BinarySearch(cuts, p.from)
		for ; i < len(all) && all[i].from < p.to; i++ {
			s := &all[i]
			if s.first == nil {
				s.first = p.packet
			}
			s.packets = append(s.packets, p.packet)
			s.arrived = min(s.arrived, p.packet.arrived)
		}
	}
	delivered := int64(0)
	for i := range all {
		if s := &all[i]; s.first != nil {
			delivered = max(delivered, s.arrived)
			s.delivered = delivered
			l.segments = append(l.segments, s)
		}
	}
}

// overlapping returns the segments that hold octets of a span.
func (l *lane) overlapping(s span) []*segment {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].to > s.from })
	j := sort.Search(len(l.segments), func(j int) bool { return l.segments[j].from >= s.to })
	return l.segments[i:max(i, j)]
}

// missing returns the span in which a lost segment was missing: from when it would
// have arrived on an empty path until it did arrive. The span is empty for a
// segment that was not lost.
func (s *segment) missing() span {
	if !s.first.lost {
		return span{}
	}
	from := s.first.sent + s.first.line.least
	return span{from, max(from, s.arrived)}
}

// joined sorts spans and joins those that touch.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if s.from >= s.to {
			continue
		}
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// within reports whether a moment lies in one of the spans, which are joined.
func within(spans []span, at int64) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > at })
	return i < len(spans) && spans[i].from <= at
}
