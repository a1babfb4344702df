package evidence

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"wiretime/capture"
)

// Ports by which traffic is told apart.
const (
	PortDNS   = 53
	PortHTTPS = 443
)

// Sighting is one packet at one end of an access link, with what its headers say. They are empty where the packet
// cannot be dissected.
type Sighting struct {
	*capture.PacketRecord
	capture.Headers
	AtClient bool // at the client's end, not at the server's
}

// nodePrefix has the addresses of a third node, such as a network's manager (lab.NodeAddress).
var nodePrefix = netip.MustParsePrefix("198.18.200.0/24")

// Sightings returns the packets of the capture at both ends, in the order of the capture. Those from and to a third
// node, which are no part of what is measured, look as if they could not be dissected and had not passed the client.
func (e *Evidence) Sightings() []Sighting {
	if e.sightings == nil && e.Packets != nil {
		atClient := make([]bool, len(e.Packets.Interfaces))
		for i, n := range e.Packets.Interfaces {
			atClient[i] = strings.HasPrefix(n.Name, "client.")
		}
		node := slices.IndexFunc(e.Packets.Interfaces, func(n capture.Interface) bool { return n.Name == capture.NodeInterface })
		forNode := func(s *Sighting) bool {
			return nodePrefix.Contains(s.Flow.Source.Addr()) || nodePrefix.Contains(s.Flow.Destination.Addr())
		}
		e.sightings = make([]Sighting, len(e.Packets.Records))
		for i := range e.sightings {
			p, s := &e.Packets.Records[i], &e.sightings[i]
			s.PacketRecord, s.AtClient = p, atClient[p.Interface]
			if h, err := capture.Dissect(p.Data); err == nil {
				s.Headers = h
			}
			if node >= 0 && (p.Interface == node || forNode(s)) {
				s.Headers, s.AtClient = capture.Headers{}, false
			}
		}
	}
	return e.sightings
}

// AtClient yields the packets that passed the client's interfaces, in the order of the capture.
func (e *Evidence) AtClient() iter.Seq[*Sighting] {
	return func(yield func(*Sighting) bool) {
		all := e.Sightings()
		for i := range all {
			if all[i].AtClient && !yield(&all[i]) {
				return
			}
		}
	}
}

// Dropped reports whether the emulator did not deliver the packet.
func (s *Sighting) Dropped() bool { return strings.HasPrefix(s.Comment, capture.DroppedPrefix) }

// FromClient returns the packet's flow as the client sends on it. The packet was seen at the client.
func (s *Sighting) FromClient() capture.Flow {
	if s.Inbound {
		return s.Flow.Reverse()
	}
	return s.Flow
}

// Opens reports whether a client opens a connection with such a packet: TCP's SYN, or a QUIC packet with a long
// header, which all versions use until the handshake is done (RFC 8999, section 5.1).
func (s *Sighting) Opens() bool {
	if s.Flow.Protocol == capture.TCP {
		return s.Flags.Has(capture.SYN) && !s.Flags.Has(capture.ACK)
	}
	return s.Flow.Protocol == capture.UDP && s.Flow.Destination.Port() == PortHTTPS && len(s.Payload) > 0 && s.Payload[0]&0x80 != 0
}
