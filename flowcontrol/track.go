package flowcontrol

import (
	"sort"

	"wiretime/capture"
)

// track is one direction of a TCP connection: what its sender sent, and when. Position 0 is the SYN, position 1 the first octet.
type track struct {
	began    bool
	start    uint32    // sequence number of position 0
	next     int64     // after the highest position sent
	segments []segment // first transmissions, in the order of their positions
	data     []byte    // from position 1 to the first gap
	gap      int64     // when the first segment behind octets that the capture lacks left; 0 if it lacks none
	opened   bool      // the capture has the SYN
}

// segment is a run of octets [from, to) that was sent for the first time in one packet.
type segment struct {
	from, to  int64
	sent      int64
	arrived   int64  // or Never
	delivered int64  // when it and all octets before had arrived, or Never
	lost      bool   // its first packet did not arrive
	missing   []span // if lost: its octets that have not arrived since
	latest    int64  // if lost: when the last of the others arrived
	again     int64  // if lost: when the packet left that made it whole, or Never
}

// position returns the position of a sequence number.
func (t *track) position(sequence uint32) int64 {
	return t.next + int64(int32(sequence-t.start-uint32(t.next)))
}

// add reads a packet. Packets must come in the order in which they were sent.
func (t *track) add(p *packet) {
	h := &p.headers
	isSYN := h.Flags.Has(capture.SYN)
	if !t.began {
		if t.start = h.Sequence; !isSYN {
			t.start--
		}
		t.began, t.next = true, 1
	}
	if isSYN {
		t.opened = true
		return
	}
	from := t.position(h.Sequence)
	to := from + int64(len(h.Payload)) // of a packet that was cut short, only these octets are known
	if from < 1 || from == to {
		return
	}
	t.repeat(p, from, min(to, t.next))
	if to > t.next {
		s := segment{from: max(from, t.next), to: to, sent: p.sent, arrived: p.arrived, lost: p.arrived == Never, again: Never}
		if s.lost {
			s.missing = []span{{s.from, s.to}}
		}
		t.segments = append(t.segments, s)
	}
	have := int64(len(t.data)) + 1
	if from <= have && have < to {
		t.data = append(t.data, h.Payload[have-from:]...)
	}
	if t.gap == 0 && (from > have || h.PayloadLength > len(h.Payload)) {
		t.gap = p.sent
	}
	t.next = max(t.next, to)
}

// repeat notes that octets [from, to), which had been sent before, were sent again.
func (t *track) repeat(p *packet, from, to int64) {
	if p.arrived == Never {
		return
	}
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].to > from })
	for ; i < len(t.segments) && t.segments[i].from < to; i++ {
		s := &t.segments[i]
		if from <= s.from && to >= s.to {
			s.arrived = min(s.arrived, p.arrived)
		}
		if len(s.missing) == 0 {
			continue
		}
		s.missing, s.latest = without(s.missing, span{from, to}), max(s.latest, p.arrived)
		if len(s.missing) == 0 {
			s.again, s.arrived = p.sent, min(s.arrived, s.latest)
		}
	}
}

// without returns the parts of spans outside another span.
func without(spans []span, cut span) []span {
	var rest []span
	for _, s := range spans {
		for _, part := range [...]span{{s.from, min(s.to, cut.from)}, {max(s.from, cut.to), s.to}} {
			if part.from < part.to {
				rest = append(rest, part)
			}
		}
	}
	return rest
}

// finish works out when each segment could be delivered to the application.
func (t *track) finish() {
	delivered := int64(0)
	for i := range t.segments {
		s := &t.segments[i]
		delivered = max(delivered, s.arrived)
		s.delivered = delivered
	}
}

// at returns the segment that holds a position, or the first one behind it; nil if there is none.
func (t *track) at(position int64) *segment {
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].to > position })
	if i == len(t.segments) {
		return nil
	}
	return &t.segments[i]
}

// place returns when the octets at from and before to left for the first time, and when all up to readable had been delivered.
func (t *track) place(from, to, readable int64) (sent, left, received int64) {
	sent, left, received = Never, Never, Never
	if s := t.at(from); s != nil {
		sent = s.sent
	}
	if s := t.at(to - 1); s != nil {
		left = s.sent
	}
	if s := t.at(readable - 1); s != nil {
		received = s.delivered
	}
	return sent, left, received
}
