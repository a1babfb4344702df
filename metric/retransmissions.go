package metric

import "wiretime/capture"

var retransmissions = Metric{
	Name: "retransmissions", Unit: "packets", Title: "Retransmissions",
	Definition: "TCP: segments of both directions, as they left their sender, that begin at or before an octet (or SYN) the sender had already sent. " +
		"QUIC, whose retransmissions cannot be told from outside: packets the server declared lost.",
	Of: func(l *Load) (float64, bool) {
		if l.Protocol == "h3" {
			return float64(l.ServerLost), l.ServerLost >= 0
		}
		return countRetransmissions(l.Packets)
	},
}

func countRetransmissions(packets *capture.Packets) (float64, bool) {
	if packets == nil {
		return 0, false
	}
	n := 0
	streams := map[capture.Flow]*stream{}
	for i := range packets.Records {
		p := &packets.Records[i]
		h, err := capture.Dissect(p.Data)
		if p.Inbound || err != nil || h.Flow.Protocol != capture.TCP {
			continue
		}
		s := streams[h.Flow]
		if h.Flags.Has(capture.SYN) {
			if s != nil && uint32(s.start) == h.Sequence {
				n++
			} else {
				streams[h.Flow] = newStream(h.Sequence)
			}
			continue
		}
		if s == nil {
			s = newStream(h.Sequence - 1)
			streams[h.Flow] = s
		}
		if h.PayloadLength == 0 {
			continue
		}
		first := s.number(h.Sequence)
		if first < s.next {
			n++
		}
		s.next = max(s.next, first+int64(h.PayloadLength))
	}
	return float64(n), true
}
