package evidence

import (
	"encoding/binary"

	"wiretime/capture"
)

// Wire is what the first packet of a session shows of the session's protocols.
type Wire string

// The kinds of sessions that packets tell apart.
const (
	WireTCP         Wire = "TCP"
	WireMPTCP       Wire = "MPTCP"
	WireSCTP        Wire = "SCTP"
	WireSCTPOverUDP Wire = "SCTP over UDP"
	WireDTLS        Wire = "DTLS over UDP"
	WireQUIC        Wire = "QUIC"
)

// Protocol returns the number of the protocol that IP carries.
func (w Wire) Protocol() uint8 {
	switch w {
	case WireTCP, WireMPTCP:
		return capture.TCP
	case WireSCTP:
		return capture.SCTP
	}
	return capture.UDP
}

// Flow is a flow of TCP, UDP or SCTP at the client's interfaces.
type Flow struct {
	capture.Flow // from the client to the server
	// Opens is the kind of session that the flow's first packet opens. It is empty if the packet opens none, as when a
	// session moves to another address, or has several.
	Opens Wire
}

// Flows returns the flows at the client's interfaces, in the order of their first packets. DNS is not among them.
func (e *Evidence) Flows() []Flow {
	if e.flows == nil {
		e.flows = flows(e)
	}
	return e.flows
}

func flows(e *Evidence) (list []Flow) {
	known := map[capture.Flow]bool{}
	for p := range e.AtClient() {
		flow := p.FromClient()
		if known[flow] || flow.Destination.Port() == 0 || flow.Destination.Port() == PortDNS {
			continue
		}
		known[flow] = true
		f := Flow{Flow: flow}
		if !p.Inbound {
			f.Opens = openedBy(p)
		}
		list = append(list, f)
	}
	return list
}

// openedBy returns the kind of session that a packet from the client opens; empty if it opens none.
func openedBy(p *Sighting) Wire {
	const (
		initiation  = 1    // the chunk INIT of SCTP (RFC 9260, section 3.3.2)
		commonSCTP  = 12   // octets before the first chunk (section 3.1)
		tagOfINIT   = 0    // in the second four of them (section 8.5.1)
		handshake   = 22   // a record of DTLS (RFC 6347, section 4.1)
		versionDTLS = 0xfe // its first octet, of all versions that announce themselves so
		longHeader  = 0xc0 // of QUIC, and its fixed bit (RFC 9000, section 17.2)
	)
	b := p.Payload
	switch {
	case p.Flow.Protocol == capture.TCP:
		if !p.Opens() {
			return ""
		}
		return openedBySYN(p.Data)
	case p.Flow.Protocol == capture.SCTP && len(b) > 0 && b[0] == initiation:
		return WireSCTP
	case p.Flow.Protocol != capture.UDP:
		return ""
	case len(b) > 0 && b[0]&longHeader == longHeader:
		return WireQUIC
	case len(b) > 1 && b[0] == handshake && b[1] == versionDTLS:
		return WireDTLS
	case len(b) > commonSCTP && b[commonSCTP] == initiation && binary.BigEndian.Uint32(b[4:]) == tagOfINIT:
		return WireSCTPOverUDP
	}
	return ""
}

// openedBySYN looks for MPTCP's option in a SYN (RFC 8684, section 3): MP_CAPABLE
// opens a connection, MP_JOIN adds a subflow to one. The packet has been dissected.
func openedBySYN(packet []byte) Wire {
	const (
		end, padding = 0, 1 // the options of TCP that have no length (RFC 9293, section 3.1)
		multipath    = 30
		capable      = 0
	)
	segment := packet[int(packet[0]&15)*4:]
	options := segment[20 : int(segment[12]>>4)*4]
	for len(options) > 0 && options[0] != end {
		if options[0] == padding {
			options = options[1:]
			continue
		}
		if len(options) < 3 || options[1] < 2 || int(options[1]) > len(options) {
			break
		}
		if options[0] == multipath {
			if options[2]>>4 == capable {
				return WireMPTCP
			}
			return ""
		}
		options = options[options[1]:]
	}
	return WireTCP
}
