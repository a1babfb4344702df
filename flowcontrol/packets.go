package flowcontrol

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"wiretime/capture"
	"wiretime/evidence"
)

// Never is the time of what did not happen, or was not seen.
const Never = math.MaxInt64

// Side is an end of a connection.
type Side uint8

// The two ends.
const (
	Client Side = iota
	Server
)

// String returns the side's name.
func (s Side) String() string { return [...]string{"client", "server"}[s] }

// packet is a packet and its fate. Times are ns since the Unix epoch.
type packet struct {
	sender         Side
	line           int // the sender's interface
	data           []byte
	headers        capture.Headers
	sent, arrived  int64 // arrived: or Never
	begins, served int64 // when the link serialised it; Never if it did not arrive
}

// readPackets joins the sightings of each packet at its sender and its receiver, in the order in which packets were sent.
func readPackets(sightings []evidence.Sighting) []*packet {
	var packets []*packet
	under := map[uint64]*packet{}
	for i := range sightings {
		s := &sightings[i]
		if s.Inbound {
			if p := under[s.ID]; p != nil {
				delete(under, s.ID)
				p.arrived = s.Time
			}
			continue
		}
		p := &packet{
			sender: Server, line: s.Interface, data: s.Data, headers: s.Headers, sent: s.Time,
			arrived: Never, begins: Never, served: Never,
		}
		if s.AtClient {
			p.sender = Client
		}
		if !s.Dropped() {
			under[s.ID] = p
		}
		packets = append(packets, p)
	}
	serve(packets)
	slices.SortStableFunc(packets, func(a, b *packet) int { return cmp.Compare(a.sent, b.sent) })
	return packets
}

// serve works out when each line serialised its packets.
func serve(packets []*packet) {
	lines := map[int][]*packet{}
	for _, p := range packets {
		if p.arrived != Never {
			lines[p.line] = append(lines[p.line], p)
		}
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b *packet) int { return cmp.Compare(a.arrived, b.arrived) })
		least := int64(Never)
		for _, p := range line {
			least = min(least, max(0, p.arrived-p.sent))
		}
		free := int64(math.MinInt64)
		for _, p := range line {
			p.served = p.arrived - least
			p.begins = min(p.served, max(p.sent, free))
			free = max(free, p.served)
		}
	}
}

// busy returns when a side's links were serialising packets, in order and joined.
func busy(packets []*packet, sender Side) []span {
	var spans []span
	for _, p := range packets {
		if p.sender == sender && p.served != Never && p.begins < p.served {
			spans = append(spans, span{p.begins, p.served})
		}
	}
	return joined(spans)
}

// span is [from, to).
type span struct{ from, to int64 }

// tcpWindow returns the window field of a TCP packet that has been dissected (RFC 9293 section 3.1).
func tcpWindow(data []byte) int64 {
	segment := data[int(data[0]&15)*4:]
	return int64(binary.BigEndian.Uint16(segment[14:]))
}

// windowScale returns the shift that a SYN announces for its sender's window (RFC 7323 section 2.2), or -1. The packet has been
// dissected.
func windowScale(data []byte) int {
	const end, padding, scale, most = 0, 1, 3, 14
	segment := data[int(data[0]&15)*4:]
	options := segment[20 : int(segment[12]>>4)*4]
	for len(options) > 0 && options[0] != end {
		if options[0] == padding {
			options = options[1:]
			continue
		}
		if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
			break
		}
		if options[0] == scale && options[1] == 3 {
			return min(int(options[2]), most)
		}
		options = options[options[1]:]
	}
	return -1
}
