package metric

import (
	"encoding/binary"

	"wiretime/capture"

	"wiretime/evidence"
	"wiretime/study"
)

// streamPackets returns what the stream took on the wire, and how far to trust it.
func streamPackets() []Metric {
	return []Metric{
		ofWhole(bytesUp), ofWhole(bytesDown),
		orCounted(packetsUp, func(c *evidence.Counts) int64 { return c.Up }),
		orCounted(packetsDown, func(c *evidence.Counts) int64 { return c.Down }),
		orCounted(drops, func(c *evidence.Counts) int64 { return c.Drops }),
		ofWhole(streamRetransmissions),
		ofCaptured(lateP50), ofCaptured(lateP99), ofCaptured(lateMax),
	}
}

// ofWhole makes a metric apply only to captures with all packets.
func ofWhole(m Metric) Metric {
	of := m.Of
	m.Definition += " A capture that lacks packets has no value."
	m.Of = func(ev *evidence.Evidence) (float64, bool) {
		if ev.CaptureCut {
			return 0, false
		}
		return of(ev)
	}
	return m
}

// orCounted takes a metric of packets from the emulator's counts where the capture lacks packets.
func orCounted(m Metric, count func(*evidence.Counts) int64) Metric {
	of := m.Of
	m.Definition += " Of a capture that lacks packets: as the emulator counted them."
	m.Of = func(ev *evidence.Evidence) (float64, bool) {
		switch {
		case !ev.CaptureCut:
			return of(ev)
		case ev.Counted == nil:
			return 0, false
		}
		return float64(count(ev.Counted)), true
	}
	return m
}

// ofCaptured describes a metric for which the packets that there are will do.
func ofCaptured(m Metric) Metric {
	m.Definition += " Of a capture that lacks packets: of those that it has, which are the first."
	return m
}

var streamRetransmissions = Metric{
	study.Metric{
		Name: "retransmissions", Unit: "packets", Title: "Retransmissions",
		Definition: "TCP and MPTCP: segments of both directions, as they left their sender, that begin at or before an octet (or SYN) the sender had already sent on the same subflow. " +
			"SCTP in the clear: packets of both directions, as they left their sender, whose first DATA chunk the sender had already sent. " +
			"QUIC, whose retransmissions cannot be told from outside: packets the server declared lost, if it says so. Over DTLS nothing tells them.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		row, _ := transportOf(ev.Protocol)
		switch row.wire {
		case evidence.WireTCP, evidence.WireMPTCP:
			return countRetransmissions(ev)
		case evidence.WireSCTP, evidence.WireSCTPOverUDP:
			return countChunksAgain(ev, row.wire.Protocol())
		case evidence.WireQUIC:
			return float64(ev.ServerLost), ev.Stream != nil && ev.ServerLost >= 0
		}
		return 0, false
	},
}

// countChunksAgain counts the packets that repeat a DATA chunk. An association is known
// by its ports, since a host may have several addresses in it.
func countChunksAgain(ev *evidence.Evidence, protocol uint8) (float64, bool) {
	n := 0
	senders := map[[2]uint16]*sender{}
	for _, p := range ev.Sightings() {
		if p.Inbound || p.Flow.Protocol != protocol {
			continue
		}
		chunks := p.Payload
		if protocol == capture.UDP {
			chunks = chunks[min(12, len(chunks)):] // behind SCTP's own common header (RFC 9260, section 3.1)
		}
		for place, number := range dataChunks(chunks) {
			ports := [2]uint16{p.Flow.Source.Port(), p.Flow.Destination.Port()}
			s := senders[ports]
			if s == nil {
				s = newSender(number - 1)
				senders[ports] = s
			}
			if place == 0 && s.number(number) < s.next {
				n++
			}
			s.next = max(s.next, s.number(number)+1)
		}
	}
	return float64(n), ev.Packets != nil
}

// dataChunks are the numbers (TSN) of the DATA chunks of an SCTP packet (RFC 9260,
// section 3.3.1) and of its I-DATA chunks (RFC 8260, section 2.1), as far as the packet
// was kept.
func dataChunks(chunks []byte) (numbers []uint32) {
	const data, interleaved = 0, 64
	for len(chunks) >= 8 {
		kind, length := chunks[0], int(binary.BigEndian.Uint16(chunks[2:]))
		if kind == data || kind == interleaved {
			numbers = append(numbers, binary.BigEndian.Uint32(chunks[4:]))
		}
		if length = (length + 3) &^ 3; length < 4 || length > len(chunks) {
			break
		}
		chunks = chunks[length:]
	}
	return numbers
}

// transport is what captures show of a row of package transport.
type transport struct {
	name string
	wire evidence.Wire
	tls  bool // is in the server log; DTLS is not
}

func transports() []transport {
	return []transport{
		{name: "tcp", wire: evidence.WireTCP, tls: true},
		{name: "tcp-clear", wire: evidence.WireTCP},
		{name: "mptcp", wire: evidence.WireMPTCP, tls: true},
		{name: "mptcp-clear", wire: evidence.WireMPTCP},
		{name: "sctp", wire: evidence.WireSCTP},
		{name: "sctp-udp", wire: evidence.WireSCTPOverUDP},
		{name: "sctp-udp-dtls", wire: evidence.WireDTLS},
		{name: "quic", wire: evidence.WireQUIC, tls: true},
	}
}

// transportOf returns the row of that name.
func transportOf(name string) (row transport, ok bool) {
	for _, t := range transports() {
		if t.name == name {
			return t, true
		}
	}
	return transport{}, false
}
