package metric

import (
	"math"
	"slices"

	"wiretime/evidence"
	"wiretime/study"
)

var bytesUp = Metric{
	study.Metric{
		Name: "bytes_up", Unit: "B", Title: "Bytes up",
		Definition: "Octets of the IP packets that the client sent during the capture, headers and DNS included, also those dropped on their way.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return passed(ev, false, octets) },
}

var bytesDown = Metric{
	study.Metric{
		Name: "bytes_down", Unit: "B", Title: "Bytes down",
		Definition: "Octets of the IP packets that reached the client during the capture, headers and DNS included.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return passed(ev, true, octets) },
}

var packetsUp = Metric{
	study.Metric{
		Name: "packets_up", Unit: "packets", Title: "Packets up",
		Definition: "IP packets that the client sent during the capture, DNS included, also those dropped on their way.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return passed(ev, false, once) },
}

var packetsDown = Metric{
	study.Metric{
		Name: "packets_down", Unit: "packets", Title: "Packets down",
		Definition: "IP packets that reached the client during the capture, DNS included.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return passed(ev, true, once) },
}

// passed adds up what there is of each packet that entered or left the client.
func passed(ev *evidence.Evidence, inbound bool, of func(*evidence.Sighting) int) (float64, bool) {
	n := 0
	for p := range ev.AtClient() {
		if p.Inbound == inbound {
			n += of(p)
		}
	}
	return float64(n), ev.Packets != nil
}

func octets(p *evidence.Sighting) int { return p.Length }
func once(*evidence.Sighting) int     { return 1 }

var drops = Metric{
	study.Metric{
		Name: "drops", Unit: "packets", Title: "Drops",
		Definition: "Packets of both directions that the emulator dropped, for whatever reason: random loss, full queue, outage, handover.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		n := 0
		for _, p := range ev.Sightings() {
			if p.Dropped() {
				n++
			}
		}
		return float64(n), ev.Packets != nil && ev.Live == nil
	},
}

var connectionCount = Metric{
	study.Metric{
		Name: "connections", Unit: "connections", Title: "Connections",
		Definition: "Connections that the client's interfaces show the client opened and that were answered, used or not: " +
			"TCP with SYN and SYN-ACK (DNS left out); QUIC as UDP flows to port 443 that begin with a long header and had an answer, " +
			"so that a flow a connection migrated to does not count again.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		n := 0
		for _, c := range ev.Connections() {
			if c.Established() {
				n++
			}
		}
		return float64(n), ev.Packets != nil
	},
}

var retransmissions = Metric{
	study.Metric{
		Name: "retransmissions", Unit: "packets", Title: "Retransmissions",
		Definition: "TCP: segments of both directions, as they left their sender, that begin at or before an octet (or SYN) the sender had already sent. " +
			"QUIC, whose retransmissions cannot be told from outside: packets the server declared lost.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		if ev.Live != nil {
			return 0, false // what servers sent in vain was never seen
		}
		if ev.Protocol == "h3" {
			return float64(ev.ServerLost), ev.ServerLost >= 0
		}
		return countRetransmissions(ev)
	},
}

// countRetransmissions counts the TCP segments that repeat octets.
func countRetransmissions(ev *evidence.Evidence) (float64, bool) {
	n := 0
	for range ev.Repeated() {
		n++
	}
	return float64(n), ev.Packets != nil
}

// sender follows one direction of a TCP connection. Its numbers are sequence numbers that do not wrap.
type sender struct {
	start int64 // of the SYN
	next  int64 // after the highest octet seen so far
	acked int64 // after the highest octet acknowledged so far
}

func newSender(syn uint32) *sender {
	return &sender{start: int64(syn), next: int64(syn) + 1, acked: int64(syn) + 1}
}

// number returns the octet a sequence number stands for: the one within 2^31 of the
// highest octet seen (RFC 9293, section 3.4).
func (s *sender) number(sequence uint32) int64 {
	return s.next + int64(int32(sequence-uint32(s.next)))
}

var lateP50 = Metric{
	study.Metric{
		Name: "late_p50", Unit: "ms", Title: "Lateness p50",
		Definition: "Median of the time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return lateness(ev, 0.5) },
}

var lateP99 = Metric{
	study.Metric{
		Name: "late_p99", Unit: "ms", Title: "Lateness p99",
		Definition: "The 99th percentile (nearest rank) of the time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return lateness(ev, 0.99) },
}

var lateMax = Metric{
	study.Metric{
		Name: "late_max", Unit: "ms", Title: "Lateness max",
		Definition: "The longest time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	},
	func(ev *evidence.Evidence) (float64, bool) { return lateness(ev, 1) },
}

// LateP99 returns the load's value of the metric late_p99 in ms, on which package runner judges the
// load. It returns false if the capture has no delivered packet.
func LateP99(ev *evidence.Evidence) (ms float64, known bool) { return lateP99.Of(ev) }

// lateness returns the q-quantile (0 < q <= 1, nearest rank) of how late the
// emulator let the delivered packets go, in ms.
func lateness(ev *evidence.Evidence, q float64) (float64, bool) {
	var late []int64
	for _, p := range ev.Sightings() {
		if p.HasLateness {
			late = append(late, p.Lateness)
		}
	}
	if len(late) == 0 {
		return 0, false
	}
	slices.Sort(late)
	rank := int(math.Ceil(q * float64(len(late))))
	return milliseconds(late[rank-1]), true
}
