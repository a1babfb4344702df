package emulator

import (
	"hash/crc32"

	"golang.org/x/sys/unix"

	"wiretime/network"
)

// nat is the network address translator of a path with rebindings. It stands where the access links
// end, in front of the servers. Until the first rebinding it changes nothing. With each rebinding it
// forgets all bindings and makes new ones as packets come from the client: one for each of the client's
// endpoints, whichever servers it talks to (endpoint-independent mapping, RFC 4787 section 4.1). What
// servers send to a binding that is forgotten, it drops without an answer, as NATs do: an ICMP message
// would be spoofable (RFC 5382 section 4.3 and RFC 5508 section 4.2 ask for none here). Bindings do not expire.
type nat struct {
	rebindings []network.RebindingAt
	outside    map[bound]endpoint
	inside     map[endpoint]bound
	ports      int // taken so far
}

// endpoint is one end of a flow: an IPv4 address with a port of TCP, UDP or SCTP, or 0 for what has no ports.
type endpoint struct {
	protocol uint8
	address  [4]byte
	port     uint16
}

// bound is an endpoint of the client at a time: after so many rebindings.
type bound struct {
	endpoint
	rebound int
}

// The NAT's own ports are below those that Linux gives to clients (32768 and above), so that an old
// endpoint never becomes somebody else's.
const (
	firstPort = 16384
	natPorts  = 16384
)

func newNAT(rebindings []network.RebindingAt) *nat {
	if len(rebindings) == 0 {
		return nil
	}
	return &nat{rebindings: rebindings, outside: map[bound]endpoint{}, inside: map[endpoint]bound{}}
}

// up translates the source of a packet from the client after so many rebindings, in place. It
// reports whether it changed the packet.
func (n *nat) up(packet []byte, rebound int) bool {
	from, ok := source(packet)
	if n == nil || !ok || rebound == 0 {
		return false
	}
	b := bound{from, rebound}
	to, known := n.outside[b]
	if !known {
		to = n.bind(b)
		n.outside[b], n.inside[to] = to, b
	}
	setEndpoint(packet, source4, 0, to)
	return true
}

// bind chooses the outside of a binding.
func (n *nat) bind(b bound) endpoint {
	to := b.endpoint
	for _, r := range n.rebindings[:b.rebound] {
		if r.Kind == network.RebindAddress {
			to.address[3]++ // of the client's own access link, so that servers find the way back
		}
	}
	if n.rebindings[b.rebound-1].Kind == network.RebindPort && to.port != 0 {
		to.port = uint16(firstPort + n.ports%natPorts)
		n.ports++
	}
	return to
}

// down translates the destination of a packet from a server after so many rebindings, in place.
// It reports whether it changed the packet, and whether there is a binding at all.
func (n *nat) down(packet []byte, rebound int) (changed, ok bool) {
	to, known := destination(packet)
	if n == nil || !known || rebound == 0 {
		return false, true
	}
	if carried := aboutFlow(packet); carried != nil {
		from, _ := source(carried)
		b, ok := n.inside[from]
		if !ok || b.rebound != rebound {
			return false, false
		}
		setEndpoint(carried, source4, 0, b.endpoint)
		setEndpoint(packet, destination4, 2, endpoint{protocol: unix.IPPROTO_ICMP, address: b.address})
		t := packet[headerLength(packet):]
		t[2], t[3] = 0, 0
		le.PutUint16(t[2:], ^fold(sum(0, t)))
		return true, true
	}
	b, ok := n.inside[to]
	if !ok || b.rebound != rebound {
		return false, false
	}
	setEndpoint(packet, destination4, 2, b.endpoint)
	return true, true
}

// headerLength is that of an IPv4 packet's header.
func headerLength(packet []byte) int { return int(packet[0]&15) * 4 }

func source(packet []byte) (endpoint, bool)      { return endpointAt(packet, source4, 0) }
func destination(packet []byte) (endpoint, bool) { return endpointAt(packet, destination4, 2) }

// endpointAt reads an endpoint whose address and port are at these offsets of their headers. ok is
// false for what is not IPv4. A later fragment has no ports.
func endpointAt(packet []byte, address, port int) (e endpoint, ok bool) {
	if len(packet) < size4 || packet[0]>>4 != 4 || len(packet) < headerLength(packet)+4 || headerLength(packet) < size4 {
		return e, false
	}
	e.protocol = packet[protocol4]
	copy(e.address[:], packet[address:])
	if hasPorts(packet) {
		e.port = be.Uint16(packet[headerLength(packet)+port:])
	}
	return e, true
}

func hasPorts(packet []byte) bool {
	const offset = 0x1fff
	if be.Uint16(packet[fragment4:])&offset != 0 {
		return false
	}
	switch packet[protocol4] {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP:
		return true
	}
	return false
}

// aboutFlow returns the beginning of the packet that an ICMP error is about, or nil (RFC 792).
func aboutFlow(packet []byte) []byte {
	const unreachable, timeExceeded, parameterProblem = 3, 11, 12
	at := headerLength(packet)
	if packet[protocol4] != unix.IPPROTO_ICMP || len(packet) < at+8+size4+8 {
		return nil
	}
	switch packet[at] {
	case unreachable, timeExceeded, parameterProblem:
		if carried := packet[at+8:]; len(carried) >= headerLength(carried)+8 {
			return carried
		}
	}
	return nil
}

// setEndpoint writes an endpoint, and makes the packet's checksums right again. The offsets are as
// in endpointAt.
func setEndpoint(packet []byte, address, port int, e endpoint) {
	at := headerLength(packet)
	before := sum(0, packet[address:address+4])
	copy(packet[address:], e.address[:])
	after := sum(0, packet[address:address+4])
	update(packet[checksum4:], before, after)
	if !hasPorts(packet) {
		return
	}
	t := packet[at:]
	before = sum(before, t[port:port+2])
	be.PutUint16(t[port:], e.port)
	after = sum(after, t[port:port+2])
	switch packet[protocol4] {
	case unix.IPPROTO_TCP:
		if len(t) >= sizeTCP {
			update(t[checksumTCP:], before, after)
		}
	case unix.IPPROTO_UDP:
		if len(t) < sizeUDP || le.Uint16(t[checksumUDP:]) == 0 { // 0: it has none
			return
		}
		update(t[checksumUDP:], before, after)
		if le.Uint16(t[checksumUDP:]) == 0 {
			le.PutUint16(t[checksumUDP:], 0xffff)
		}
	case unix.IPPROTO_SCTP:
		if len(t) >= sizeSCTP {
			le.PutUint32(t[checksumSCTP:], 0)
			le.PutUint32(t[checksumSCTP:], crc32.Checksum(t, castagnoli))
		}
	}
}

// These are offsets in SCTP's common header (RFC 9260 section 3.1), and its size.
const checksumSCTP, sizeSCTP = 8, 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// update makes a checksum right again after words with the sum before have become words with the
// sum after (RFC 1624 section 3).
func update(field []byte, before, after uint64) {
	s := uint64(^le.Uint16(field)) + uint64(^fold(before)) + uint64(fold(after))
	le.PutUint16(field, ^fold(s))
}
