package flowcontrol

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"wiretime/capture"
	"wiretime/evidence"
)

// Never stands for the time of an event that did not happen, or was not seen.
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
	headers        capture.Headers
	sent, arrived  int64 // arrived: or Never
	begins, served int64 // when the line serialised it; Never if it did not arrive
}

// readPackets joins the sightings of each packet at its sender and its receiver, in the order in which packets were sent.
func readPackets(sightings []evidence.Sighting) []*packet {
	var packets []*packet
	onTheWay := map[uint64]*packet{}
	for i := range sightings {
		s := &sightings[i]
		if s.Inbound {
			if p := onTheWay[s.ID]; p != nil {
				delete(onTheWay, s.ID)
				p.arrived = s.Time
			}
			continue
		}
		p := &packet{
			sender: Server, line: s.Interface, headers: s.Headers, sent: s.Time,
			arrived: Never, begins: Never, served: Never,
		}
		if s.AtClient {
			p.sender = Client
		}
		if !s.Dropped() {
			onTheWay[s.ID] = p
		}
		packets = append(packets, p)
	}
	serve(packets)
	slices.SortStableFunc(packets, func(a, b *packet) int { return cmp.Compare(a.sent, b.sent) })
	return packets
}

// server returns the address of the packet's end that is not the client.
func (p *packet) server() netip.Addr {
	if p.sender == Client {
		return p.headers.Flow.Destination.Addr()
	}
	return p.headers.Flow.Source.Addr()
}

// serve works out when each line serialised its packets: until the least delay of the line before they arrived, less the distance of
// servers behind the line.
func serve(packets []*packet) {
	least, far := distances(packets)
	lines := map[int][]*packet{}
	for _, p := range packets {
		if p.arrived != Never {
			p.served = p.arrived - least[p.line] - far[p.server()]
			lines[p.line] = append(lines[p.line], p)
		}
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b *packet) int { return cmp.Compare(a.served, b.served) })
		free := int64(math.MinInt64)
		for _, p := range line {
			p.begins = min(p.served, max(p.sent, free))
			free = max(free, p.served)
		}
	}
}

// distances returns the least delay of any packet over each line, and by how much the least delay of a server's packets exceeds it:
// servers may be at different distances behind the line. The direction with the smaller excess counts, since packets may have waited
// in the other. Both are ns.
func distances(packets []*packet) (least map[int]int64, far map[netip.Addr]int64) {
	type route struct {
		line   int
		server netip.Addr
	}
	least, far = map[int]int64{}, map[netip.Addr]int64{}
	routes := map[route]int64{}
	for _, p := range packets {
		if p.arrived != Never {
			delay := max(0, p.arrived-p.sent)
			keepLeast(least, p.line, delay)
			keepLeast(routes, route{p.line, p.server()}, delay)
		}
	}
	for r, delay := range routes {
		keepLeast(far, r.server, delay-least[r.line])
	}
	return least, far
}

func keepLeast[K comparable](m map[K]int64, key K, value int64) {
	if least, known := m[key]; !known || value < least {
		m[key] = value
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
