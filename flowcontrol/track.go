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
	gap      int64     // when a segment left of which octets are missing in the capture; 0 if none are
}

// segment is a run of octets [from, to) that was sent for the first time in one packet.
type segment struct {
	from, to  int64
	sent      int64
	arrived   int64 // or Never
	delivered int64 // when it and all octets before had arrived, or Never
	lost      bool  // its first packet did not arrive
	again     int64 // when it was first sent again, or Never
	filled    int64 // how many of its first octets arrived in several packets
	latest    int64 // when the last of these did
}

// position returns where a sequence number lies.
func (t *track) position(sequence uint32) int64 {
	return t.next + int64(int32(sequence-t.start-uint32(t.next)))
}

// add takes in a packet. Packets have to come in the order in which they were sent.
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
		return
	}
	from := t.position(h.Sequence)
	to := from + int64(len(h.Payload)) // how many octets a packet that was cut had before is its word alone
	if from < 1 || from == to {
		return
	}
	t.repeat(p, from, min(to, t.next))
	if to > t.next {
		t.segments = append(t.segments, segment{from: max(from, t.next), to: to, sent: p.sent, arrived: p.arrived, lost: p.arrived == Never, again: Never})
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

// repeat takes in octets [from, to) that were sent before.
func (t *track) repeat(p *packet, from, to int64) {
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].to > from })
	for ; i < len(t.segments) && t.segments[i].from < to; i++ {
		s := &t.segments[i]
		if s.again == Never {
			s.again = p.sent
		}
		if p.arrived == Never {
			continue
		}
		if from > s.from+s.filled {
			continue
		}
		s.filled, s.latest = max(s.filled, min(to, s.to)-s.from), max(s.latest, p.arrived)
		if from <= s.from && to >= s.to {
			s.arrived = min(s.arrived, p.arrived)
		} else if s.filled >= s.to-s.from {
			s.arrived = min(s.arrived, s.latest)
		}
	}
}

// finish works out when octets were delivered and when some were missing.
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
