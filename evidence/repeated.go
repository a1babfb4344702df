package evidence

import (
	"iter"

	"wiretime/capture"
)

// Repeated yields the TCP segments that repeat octets, SYNs among them, as their senders sent them, in the order of the capture.
func (e *Evidence) Repeated() iter.Seq[*Sighting] {
	return func(yield func(*Sighting) bool) {
		senders := map[capture.Flow]*sent{}
		all := e.Sightings()
		for i := range all {
			p := &all[i]
			if p.Inbound || p.Flow.Protocol != capture.TCP {
				continue
			}
			s := senders[p.Flow]
			switch {
			case p.Flags.Has(capture.SYN) && (s == nil || s.syn != p.Sequence):
				senders[p.Flow] = newSent(p.Sequence)
				continue
			case s == nil: // the capture begins within the connection
				s = newSent(p.Sequence - 1)
				senders[p.Flow] = s
			}
			if s.repeats(p) && !yield(p) {
				return
			}
		}
	}
}

// sent is what one end of a TCP connection has sent so far.
type sent struct {
	syn  uint32
	next int64 // after the highest octet
}

func newSent(syn uint32) *sent { return &sent{syn, int64(syn) + 1} }

// repeats adds a segment, and reports whether it was sent before.
func (s *sent) repeats(p *Sighting) bool {
	if p.Flags.Has(capture.SYN) {
		return true
	}
	if p.PayloadLength == 0 {
		return false
	}
	first := s.next + int64(int32(p.Sequence-uint32(s.next))) // the octet within 2^31 of the highest one (RFC 9293, section 3.4)
	again := first < s.next
	s.next = max(s.next, first+int64(p.PayloadLength))
	return again
}
