package capture

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Transport protocol numbers (IANA), as they stand in the IPv4 header.
const (
	TCP  = 6
	UDP  = 17
	SCTP = 132
)

// Flow is one direction of the traffic between two endpoints.
type Flow struct {
	Protocol            uint8 // TCP, UDP, SCTP, or another protocol without ports
	Source, Destination netip.AddrPort
}

// Reverse returns the other direction of the same traffic.
func (f Flow) Reverse() Flow {
	return Flow{Protocol: f.Protocol, Source: f.Destination, Destination: f.Source}
}

// String writes the flow as a reader would: "tcp 10.0.0.2:4000 > 10.0.1.2:80".
func (f Flow) String() string {
	name := fmt.Sprintf("protocol %d", f.Protocol)
	switch f.Protocol {
	case TCP:
		name = "tcp"
	case UDP:
		name = "udp"
	case SCTP:
		name = "sctp"
	}
	return fmt.Sprintf("%s %s > %s", name, f.Source, f.Destination)
}

// TCPFlags are the control bits of a TCP header (RFC 9293, section 3.1).
type TCPFlags uint8

// The control bits that matter to a load's figures.
const (
	FIN TCPFlags = 0x01
	SYN TCPFlags = 0x02
	RST TCPFlags = 0x04
	ACK TCPFlags = 0x10
)

// Has reports whether all the given bits are set.
func (f TCPFlags) Has(bits TCPFlags) bool { return f&bits == bits }

// Headers holds what the headers of one packet say.
type Headers struct {
	Flow    Flow
	Payload []byte // what follows the transport header; shares the packet's memory
	// PayloadLength is the payload's original length in octets. Payload is shorter if
	// the packet was cut.
	PayloadLength int

	Sequence       uint32 // TCP only, as the rest: number of the first octet of the payload, or of SYN
	Acknowledgment uint32 // valid where Flags has ACK
	Flags          TCPFlags
	Window         uint16 // before scaling (RFC 7323, section 2.3)
	Scale          uint8  // the window scale option of a SYN (RFC 7323, section 2.2)
	SACK           bool   // whether a SYN permits selective acknowledgements (RFC 2018, section 2)
}

// synOptions reads the options of a SYN: the shift count of the window scale option (RFC 7323, section 2.2), or 0 if there is
// none, and whether there is a SACK-permitted option (RFC 2018, section 2).
func synOptions(options []byte) (shift uint8, sack bool) {
	const end, none, scale, sackPermitted = 0, 1, 3, 4
	for len(options) > 0 && options[0] != end {
		if options[0] == none {
			options = options[1:]
			continue
		}
		if len(options) < 2 || int(options[1]) < 2 || int(options[1]) > len(options) {
			break
		}
		switch {
		case options[0] == scale && options[1] == 3:
			shift = options[2]
		case options[0] == sackPermitted && options[1] == 2:
			sack = true
		}
		options = options[options[1]:]
	}
	return shift, sack
}

// Dissect reads the headers of an IP packet, of version 4 (RFC 791) or 6 (RFC 8200), that carries TCP (RFC
// 9293), UDP (RFC 768) or SCTP (RFC 9260, whose chunks are the payload). Other
// protocols, IPv6 extension headers among them, and all fragments but the first, yield a flow without ports and
// without payload. The packet may have been cut after its headers. Checksums are ignored, since
// a kernel may leave them to a network card, which a TUN device does not have.
func Dissect(packet []byte) (Headers, error) {
	if len(packet) < 20 {
		return Headers{}, fmt.Errorf("IP packet of %d octets, want at least 20", len(packet))
	}
	be := binary.BigEndian
	var head, total int
	var h Headers
	switch version := packet[0] >> 4; version {
	case 4:
		head, total = int(packet[0]&15)*4, int(be.Uint16(packet[2:]))
		if head < 20 || total < head || head > len(packet) {
			return Headers{}, fmt.Errorf("IPv4 packet of %d octets with a header of %d and a total length of %d", len(packet), head, total)
		}
		h.Flow = between(packet[9], packet[12:16], packet[16:20])
		if later := be.Uint16(packet[6:])&0x1fff != 0; later {
			return h, nil
		}
	case 6:
		if head = 40; len(packet) < head {
			return Headers{}, fmt.Errorf("IPv6 packet of %d octets, want at least %d", len(packet), head)
		}
		total = head + int(be.Uint16(packet[4:]))
		h.Flow = between(packet[6], packet[8:24], packet[24:40])
	default:
		return Headers{}, fmt.Errorf("IP version %d is not supported, only versions 4 and 6", version)
	}
	source, destination := h.Flow.Source.Addr(), h.Flow.Destination.Addr()
	body, offset := packet[head:min(total, len(packet))], 0
	switch h.Flow.Protocol {
	case TCP:
		if len(body) < 20 {
			return Headers{}, fmt.Errorf("TCP segment of %d octets, want at least 20", len(body))
		}
		offset = int(body[12]>>4) * 4
		if offset < 20 || offset > len(body) {
			return Headers{}, fmt.Errorf("TCP segment of %d octets with a header of %d", len(body), offset)
		}
		h.Sequence, h.Acknowledgment = be.Uint32(body[4:]), be.Uint32(body[8:])
		h.Flags, h.Window = TCPFlags(body[13]), be.Uint16(body[14:])
		if h.Flags.Has(SYN) {
			h.Scale, h.SACK = synOptions(body[20:offset])
		}
	case UDP:
		if len(body) < 8 {
			return Headers{}, fmt.Errorf("UDP datagram of %d octets, want at least 8", len(body))
		}
		offset = 8
	case SCTP:
		if len(body) < 12 {
			return Headers{}, fmt.Errorf("SCTP packet of %d octets, want at least 12", len(body))
		}
		offset = 12
	default:
		return h, nil
	}
	h.Payload, h.PayloadLength = body[offset:], total-head-offset
	h.Flow.Source = netip.AddrPortFrom(source, be.Uint16(body))
	h.Flow.Destination = netip.AddrPortFrom(destination, be.Uint16(body[2:]))
	return h, nil
}

// between returns the flow between two addresses, still without ports.
func between(protocol uint8, source, destination []byte) Flow {
	from, _ := netip.AddrFromSlice(source) // both have the size of an address
	to, _ := netip.AddrFromSlice(destination)
	return Flow{Protocol: protocol, Source: netip.AddrPortFrom(from, 0), Destination: netip.AddrPortFrom(to, 0)}
}
