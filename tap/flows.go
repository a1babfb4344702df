package tap

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/lab/emulator"
)

// Sizes of headers, in octets.
const (
	virtioHeader   = 10 // struct virtio_net_hdr
	ethernetHeader = 14
)

// portDNS is where resolvers listen.
const portDNS = 53

// Recording is what a tap has seen.
type Recording struct {
	// Interfaces are the network devices on which packets were seen, by their names.
	Interfaces []string
	Packets    []Packet // in the order in which the kernel showed them
	// Lost is how many packets of all connections on this machine the kernel dropped because they were not read in
	// time (PACKET_STATISTICS).
	Lost int
	// Full says that packets are missing because there were more than a tap keeps.
	Full bool
}

// Packet is one IP packet of a connection that this machine opened.
type Packet struct {
	Interface int          // index into Recording.Interfaces
	Time      int64        // ns since the Unix epoch
	Inbound   bool         // this machine received it
	Flow      capture.Flow // from this machine to the other
	Headers   capture.Headers
	Data      []byte
}

// flows tells the packets of connections that this machine opens from all others.
type flows struct {
	recording Recording
	devices   map[int]int          // index into Recording.Interfaces, by the kernel's number
	opened    map[capture.Flow]int // the device that showed the first packet; a bridge and its device both show the same one
	kept      int                  // octets
	buffer    []byte               // a packet
}

func newFlows() *flows {
	return &flows{devices: map[int]int{}, opened: map[capture.Flow]int{}, buffer: make([]byte, 65536)}
}

// add takes a frame, as the packet socket delivers it.
func (f *flows) add(frame []byte, at *unix.SockaddrLinklayer, when int64) {
	frame = withoutLink(frame, at)
	if frame == nil || at.Pkttype != unix.PACKET_OUTGOING && at.Pkttype != unix.PACKET_HOST {
		return
	}
	first := true
	for packet := range emulator.Packets(frame, f.buffer) {
		headers, err := capture.Dissect(packet)
		if err != nil || headers.Flow.Source.Port() == 0 || first && !f.known(headers, at) {
			return
		}
		first = false
		f.keep(packet, headers, at, when)
	}
}

// withoutLink takes the link header out of a frame of the packet socket, so that it is like one of a TUN device. It
// returns nil for frames of other protocols and links, and for malformed ones.
func withoutLink(frame []byte, at *unix.SockaddrLinklayer) []byte {
	link := 0
	switch at.Hatype {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		link = ethernetHeader
	case unix.ARPHRD_NONE, unix.ARPHRD_PPP, unix.ARPHRD_RAWIP, unix.ARPHRD_TUNNEL, unix.ARPHRD_TUNNEL6, unix.ARPHRD_SIT:
	default:
		return nil
	}
	start := link + virtioHeader
	if len(frame) < start+20 {
		return nil
	}
	header := [virtioHeader]byte(frame)
	packet := frame[start:]
	ne := binary.NativeEndian
	if header[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 {
		if int(ne.Uint16(header[6:])) < link {
			return nil
		}
		ne.PutUint16(header[6:], ne.Uint16(header[6:])-uint16(link))
	}
	if header[1] &^= unix.VIRTIO_NET_HDR_GSO_ECN; header[1] != unix.VIRTIO_NET_HDR_GSO_NONE {
		// Where the transport header begins is told only for packets without a checksum.
		ne.PutUint16(header[6:], transportAt(packet))
	} else if whole := totalLength(packet); whole <= len(packet) {
		frame = frame[:start+whole] // Ethernet pads short packets
	}
	frame = frame[link:]
	copy(frame, header[:])
	return frame
}

// transportAt returns where the transport header of an IP packet begins.
func transportAt(packet []byte) uint16 {
	if packet[0]>>4 == 4 {
		return uint16(packet[0]&15) * 4
	}
	return 40
}

// totalLength returns the length that an IP packet says it has.
func totalLength(packet []byte) int {
	switch packet[0] >> 4 {
	case 4:
		return int(binary.BigEndian.Uint16(packet[2:]))
	case 6:
		return 40 + int(binary.BigEndian.Uint16(packet[4:]))
	}
	return len(packet)
}

// clientFlow returns a packet's flow from this machine to the other.
func clientFlow(flow capture.Flow, at *unix.SockaddrLinklayer) capture.Flow {
	if at.Pkttype == unix.PACKET_HOST {
		return flow.Reverse()
	}
	return flow
}

// known reports whether a packet belongs to a connection that this machine has opened since the tap is open, or opens one.
// A packet on the loopback device is seen twice, when it is sent and when it is received: then it is what the connection's
// client sends, or receives.
func (f *flows) known(h capture.Headers, at *unix.SockaddrLinklayer) bool {
	flow := clientFlow(h.Flow, at)
	device, known := f.opened[flow]
	if at.Pkttype == unix.PACKET_OUTGOING && !known && opens(h) {
		if _, isAnswer := f.opened[flow.Reverse()]; !isAnswer {
			f.opened[flow] = at.Ifindex
			return true
		}
	}
	return known && device == at.Ifindex
}

// opens reports whether a client opens a connection with such a packet: TCP's SYN, a QUIC packet with a long header
// (RFC 9000, section 17.2), or a query for a name.
func opens(h capture.Headers) bool {
	if h.Flow.Protocol == capture.TCP {
		return h.Flags.Has(capture.SYN) && !h.Flags.Has(capture.ACK)
	}
	isQUIC := len(h.Payload) > 0 && h.Payload[0]&0xc0 == 0xc0
	return h.Flow.Protocol == capture.UDP && (isQUIC || h.Flow.Destination.Port() == portDNS)
}

// keep adds a packet to the recording.
func (f *flows) keep(packet []byte, h capture.Headers, at *unix.SockaddrLinklayer, when int64) {
	if f.kept += len(packet); f.kept > most {
		f.recording.Full = true
		return
	}
	device, ok := f.devices[at.Ifindex]
	if !ok {
		device = len(f.recording.Interfaces)
		f.devices[at.Ifindex] = device
		f.recording.Interfaces = append(f.recording.Interfaces, deviceName(at.Ifindex))
	}
	p := Packet{Interface: device, Time: when, Inbound: at.Pkttype == unix.PACKET_HOST, Flow: clientFlow(h.Flow, at), Data: append([]byte(nil), packet...)}
	p.Headers, _ = capture.Dissect(p.Data) // as before, but of the copy
	f.recording.Packets = append(f.recording.Packets, p)
}
