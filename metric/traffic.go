package metric

import (
	"iter"
	"strings"

	"wiretime/capture"
)

const (
	portDNS   = 53
	portHTTPS = 443
)

// atClient yields the packets that passed the client's interfaces, in the
// order they did, with what their headers say (nothing where they are not
// IPv4).
func (l *Load) atClient() iter.Seq2[*capture.PacketRecord, capture.Headers] {
	return func(yield func(*capture.PacketRecord, capture.Headers) bool) {
		if l.Packets == nil {
			return
		}
		for i := range l.Packets.Records {
			p := &l.Packets.Records[i]
			if !strings.HasPrefix(l.Packets.Interfaces[p.Interface].Name, "client.") {
				continue
			}
			h, err := capture.Dissect(p.Data)
			if err != nil {
				h = capture.Headers{}
			}
			if !yield(p, h) {
				return
			}
		}
	}
}

// connection is a TCP connection, or a QUIC one (a UDP flow to port 443), as
// the client's interfaces show it.
type connection struct {
	flow       capture.Flow // from the client to the server
	opened     bool         // the client's first packet of a handshake was seen
	answered   bool         // and so was the server's
	flightLost bool         // of what the client sent before that, something never arrived
	syn        uint32       // TCP: the sequence number it was opened with
}

func (c *connection) established() bool { return c.opened && c.answered }

// connections lists every connection with a packet at the client's interfaces,
// in the order of their first packets. DNS is not among them. A flow is several
// connections if a later SYN has another sequence number: of hundreds of connections
// one after another, some get a port that one before them had.
func (l *Load) connections() []*connection {
	var list []*connection
	known := map[capture.Flow]*connection{}
	for p, h := range l.atClient() {
		flow := h.Flow
		if p.Inbound {
			flow = flow.Reverse()
		}
		isTCP := flow.Protocol == capture.TCP && flow.Destination.Port() != portDNS
		isQUIC := flow.Protocol == capture.UDP && flow.Destination.Port() == portHTTPS
		if !isTCP && !isQUIC {
			continue
		}
		c := known[flow]
		isSYN := isTCP && !p.Inbound && opens(h)
		if c == nil || isSYN && c.opened && c.syn != h.Sequence {
			c = &connection{flow: flow}
			known[flow] = c
			list = append(list, c)
		}
		if isSYN {
			c.syn = h.Sequence
		}
		if !p.Inbound && !c.answered && isDropped(p) {
			c.flightLost = true
		}
		switch {
		case !p.Inbound && opens(h):
			c.opened = true
		case p.Inbound && (isQUIC || h.Flags.Has(capture.SYN|capture.ACK)):
			c.answered = true
		}
	}
	return list
}

// opens tells whether a packet is one with which a client opens a connection:
// TCP's SYN, or a QUIC packet with a long header, which all versions use until
// the handshake is done (RFC 8999, section 5.1).
func opens(h capture.Headers) bool {
	if h.Flow.Protocol == capture.TCP {
		return h.Flags.Has(capture.SYN) && !h.Flags.Has(capture.ACK)
	}
	return isLongHeader(h)
}

func isLongHeader(h capture.Headers) bool {
	return h.Flow.Protocol == capture.UDP && h.Flow.Destination.Port() == portHTTPS &&
		len(h.Payload) > 0 && h.Payload[0]&0x80 != 0
}

// stream follows one direction of a TCP connection. Its numbers are sequence
// numbers that do not wrap.
type stream struct {
	start int64 // of the SYN
	next  int64 // after the highest octet seen so far
	acked int64 // after the highest octet acknowledged so far
}

func newStream(syn uint32) *stream {
	return &stream{start: int64(syn), next: int64(syn) + 1, acked: int64(syn) + 1}
}

// number is the octet a sequence number stands for: the one within 2^31 of the
// highest octet seen (RFC 9293, section 3.4).
func (s *stream) number(sequence uint32) int64 {
	return s.next + int64(int32(sequence-uint32(s.next)))
}
