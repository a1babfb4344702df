package metric

import "wiretime/capture"

var streamRetransmissions = Metric{
	Name: "retransmissions", Unit: "packets", Title: "Retransmissions",
	Definition: "TCP and MPTCP: segments of both directions, as they left their sender, that begin at or before an octet (or SYN) the sender had already sent on the same subflow. " +
		"SCTP in the clear: packets of both directions, as they left their sender, whose first DATA chunk the sender had already sent. " +
		"QUIC, whose retransmissions cannot be told from outside: packets the server declared lost, if it says so. Over DTLS nothing tells them.",
	Of: func(l *Load) (float64, bool) {
		row, _ := transportOf(l.Protocol)
		switch row.wire {
		case wireTCP, wireMPTCP:
			return countRetransmissions(l.Packets)
		case wireSCTP, wireSCTPOverUDP:
			return countChunksAgain(l.Packets, row.wire.protocol())
		case wireQUIC:
			return float64(l.ServerLost), l.Stream != nil && l.ServerLost >= 0
		}
		return 0, false
	},
}

// countChunksAgain counts the packets that repeat a DATA chunk. An association is known
// by its ports, since a host may have several addresses in it.
func countChunksAgain(packets *capture.Packets, protocol uint8) (float64, bool) {
	if packets == nil {
		return 0, false
	}
	n := 0
	streams := map[[2]uint16]*stream{}
	for i := range packets.Records {
		p := &packets.Records[i]
		h, err := capture.Dissect(p.Data)
		if p.Inbound || err != nil || h.Flow.Protocol != protocol {
			continue
		}
		chunks := h.Payload
		if protocol == capture.UDP {
			chunks = chunks[min(12, len(chunks)):] // behind SCTP's own common header (RFC 9260, section 3.1)
		}
		for place, number := range dataChunks(chunks) {
			ports := [2]uint16{h.Flow.Source.Port(), h.Flow.Destination.Port()}
			s := streams[ports]
			if s == nil {
				s = newStream(number - 1)
				streams[ports] = s
			}
			if place == 0 && s.number(number) < s.next {
				n++
			}
			s.next = max(s.next, s.number(number)+1)
		}
	}
	return float64(n), true
}
