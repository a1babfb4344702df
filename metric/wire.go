package metric

import (
	"encoding/binary"
	"strings"
	"time"

	"wiretime/capture"
)

// wire is what a stream's packets are, as far as the first packet of a session shows.
type wire string

const (
	wireTCP         wire = "TCP"
	wireMPTCP       wire = "MPTCP"
	wireSCTP        wire = "SCTP"
	wireSCTPOverUDP wire = "SCTP over UDP"
	wireDTLS        wire = "DTLS over UDP"
	wireQUIC        wire = "QUIC"
)

// protocol is the number of the protocol that IP carries.
func (w wire) protocol() uint8 {
	switch w {
	case wireTCP, wireMPTCP:
		return capture.TCP
	case wireSCTP:
		return capture.SCTP
	}
	return capture.UDP
}

// transport is a row of the media transports, as captures show it.
type transport struct {
	wire wire
	tls  bool // is in the server log; DTLS is not
}

// transportOf gives the row that is called name.
func transportOf(name string) (row transport, ok bool) {
	switch name {
	case "tcp":
		return transport{wire: wireTCP, tls: true}, true
	case "tcp-clear":
		return transport{wire: wireTCP}, true
	case "mptcp":
		return transport{wire: wireMPTCP, tls: true}, true
	case "mptcp-clear":
		return transport{wire: wireMPTCP}, true
	case "sctp":
		return transport{wire: wireSCTP}, true
	case "sctp-udp":
		return transport{wire: wireSCTPOverUDP}, true
	case "sctp-udp-dtls":
		return transport{wire: wireDTLS}, true
	case "quic":
		return transport{wire: wireQUIC, tls: true}, true
	}
	return transport{}, false
}

// mediaFlow is what a stream's packets at the client's interfaces show of one flow.
type mediaFlow struct {
	flow capture.Flow // from the client to the server
	// opens is what the flow's first packet opens a session of; empty if it opens none,
	// as when a session has come along from another address, or has several.
	opens wire
}

// mediaFlows lists the flows of TCP, UDP and SCTP at the client's interfaces, in the
// order of their first packets. DNS is not among them.
func (l *Load) mediaFlows() (list []mediaFlow) {
	known := map[capture.Flow]bool{}
	for p, h := range l.atClient() {
		flow := h.Flow
		if p.Inbound {
			flow = flow.Reverse()
		}
		if known[flow] || flow.Destination.Port() == 0 || flow.Destination.Port() == portDNS {
			continue
		}
		known[flow] = true
		f := mediaFlow{flow: flow}
		if !p.Inbound {
			f.opens = openedBy(p, h)
		}
		list = append(list, f)
	}
	return list
}

// openedBy tells what a packet from the client opens a session of; empty if it opens
// none.
func openedBy(p *capture.PacketRecord, h capture.Headers) wire {
	const (
		initiation  = 1    // the chunk INIT of SCTP (RFC 9260, section 3.3.2)
		commonSCTP  = 12   // octets before the first chunk (section 3.1)
		tagOfINIT   = 0    // in the second four of them (section 8.5.1)
		handshake   = 22   // a record of DTLS (RFC 6347, section 4.1)
		versionDTLS = 0xfe // its first octet, of all versions that announce themselves so
		longHeader  = 0xc0 // of QUIC, and its fixed bit (RFC 9000, section 17.2)
	)
	b := h.Payload
	switch {
	case h.Flow.Protocol == capture.TCP:
		if !opens(h) {
			return ""
		}
		return openedBySYN(p.Data)
	case h.Flow.Protocol == capture.SCTP && len(b) > 0 && b[0] == initiation:
		return wireSCTP
	case h.Flow.Protocol != capture.UDP:
		return ""
	case len(b) > 0 && b[0]&longHeader == longHeader:
		return wireQUIC
	case len(b) > 1 && b[0] == handshake && b[1] == versionDTLS:
		return wireDTLS
	case len(b) > commonSCTP && b[commonSCTP] == initiation && binary.BigEndian.Uint32(b[4:]) == tagOfINIT:
		return wireSCTPOverUDP
	}
	return ""
}

// openedBySYN looks for MPTCP's option in a SYN (RFC 8684, section 3): MP_CAPABLE
// opens a connection, MP_JOIN adds a subflow to one. The packet has been dissected.
func openedBySYN(packet []byte) wire {
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
				return wireMPTCP
			}
			return ""
		}
		options = options[options[1]:]
	}
	return wireTCP
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

// lastCaptured is when the last packet of the capture passed; the zero time without
// any.
func (l *Load) lastCaptured() (last time.Time) {
	for i := range l.Packets.Records {
		if at := time.Unix(0, l.Packets.Records[i].Time); at.After(last) {
			last = at
		}
	}
	return last
}

// isDropped tells whether the emulator did not deliver a packet.
func isDropped(p *capture.PacketRecord) bool {
	return strings.HasPrefix(p.Comment, capture.DroppedPrefix)
}
