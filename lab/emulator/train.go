package emulator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// train is a run of packets that are delivered with one write, as a network card hands a
// burst of packets to its host at once. It is the reverse of a cutter: a host without
// segmentation offload receives the same packets.
type train struct {
	datagrams bool // the device takes UDP, too
	packets   []packet
	octets    int // of all payloads
	first     layout
	closed    bool // the last packet ends it
	header    [frameHeader + maxHeaders]byte
	vectors   [1 + maxTrain]unix.Iovec
}

const (
	// maxTrain is the greatest number of packets of a train: Linux takes no more of UDP.
	maxTrain = 64
	// maxApart is how far apart, in ns, packets of a train may be due. On a slower link each packet
	// travels alone however late the loop is, so that hosts acknowledge there as they would without trains.
	maxApart = rest
	// maxIP is the size of the largest IPv4 packet.
	maxIP = 65535
	// maxHeaders is the size of the longest IP and TCP headers that a train can have.
	maxHeaders = size6 + 60
)

// layout is where things are in a packet that may be part of a train; the zero value is that of
// one that may not.
type layout struct {
	protocol  uint8
	transport int
	payload   int
}

// layoutOf finds TCP segments of a stream of data, and UDP datagrams.
func layoutOf(p []byte) (l layout) {
	switch {
	case len(p) > size4 && p[0] == 0x45 && be.Uint16(p[fragment4:])&0x3fff == 0 && int(be.Uint16(p[length4:])) == len(p):
		l = layout{protocol: p[protocol4], transport: size4}
	case len(p) > size6 && p[0]>>4 == 6 && int(be.Uint16(p[length6:])) == len(p)-size6:
		l = layout{protocol: p[protocol6], transport: size6}
	default:
		return layout{}
	}
	t := p[l.transport:]
	switch {
	case l.protocol == unix.IPPROTO_TCP && len(t) > sizeTCP && t[flags]&^(psh|fin) == ack:
		l.payload = l.transport + int(t[dataOffset]>>4)*4
	case l.protocol == unix.IPPROTO_UDP && len(t) > sizeUDP && be.Uint16(t[checksumUDP:]) != 0 && int(be.Uint16(t[lengthUDP:])) == len(t):
		l.payload = l.transport + sizeUDP
	}
	if l.payload < l.transport+sizeUDP || l.payload >= len(p) || l.protocol == unix.IPPROTO_TCP && l.payload < l.transport+sizeTCP {
		return layout{}
	}
	return l
}

// offload makes a TUN device leave checksums and segmentation to the emulator. The train is for
// packets to the same device.
func (t *train) offload(tun int) error {
	t.packets = make([]packet, 0, maxTrain)
	if t.datagrams = unix.IoctlSetInt(tun, unix.TUNSETOFFLOAD, offloadTCP|offloadUDP) == nil; t.datagrams {
		return nil
	}
	if err := unix.IoctlSetInt(tun, unix.TUNSETOFFLOAD, offloadTCP); err != nil {
		return fmt.Errorf("switch on the segmentation offload of a TUN device: %w", err)
	}
	return nil
}

// take adds a packet to the train, if it can be part of it. An empty train takes any packet.
func (t *train) take(p packet) bool {
	if len(t.packets) == 0 {
		t.packets = append(t.packets, p)
		t.first = layoutOf(p.data)
		t.octets = len(p.data) - t.first.payload
		t.closed = t.first == layout{} || t.first.protocol == unix.IPPROTO_UDP && !t.datagrams || t.first.protocol == unix.IPPROTO_TCP && p.data[t.first.transport+flags]&(psh|fin) != 0
		return true
	}
	if t.closed || len(t.packets) == maxTrain || !t.continues(p) {
		return false
	}
	t.packets = append(t.packets, p)
	t.octets += len(p.data) - t.first.payload
	t.closed = len(p.data) < len(t.packets[0].data) || t.first.protocol == unix.IPPROTO_TCP && p.data[t.first.transport+flags]&(psh|fin) != 0
	return true
}

// continues reports whether a packet is what follows in the train's flow, with the headers
// that cutting a longer packet would have given it.
func (t *train) continues(p packet) bool {
	first, last := t.packets[0], t.packets[len(t.packets)-1]
	a, b, l := first.data, p.data, t.first
	if len(b) > len(a) || p.due-first.due > maxApart || layoutOf(b) != l ||
		t.octets+len(b) > maxIP {
		return false
	}
	if a[0]>>4 == 4 {
		if !bytes.Equal(a[:length4], b[:length4]) || !bytes.Equal(a[fragment4:checksum4], b[fragment4:checksum4]) ||
			!bytes.Equal(a[source4:l.transport], b[source4:l.transport]) ||
			be.Uint16(b[identification4:]) != be.Uint16(last.data[identification4:])+1 {
			return false
		}
	} else if !bytes.Equal(a[:length6], b[:length6]) || !bytes.Equal(a[protocol6:l.transport], b[protocol6:l.transport]) {
		return false
	}
	a, b = a[l.transport:l.payload], b[l.transport:l.payload]
	if l.protocol == unix.IPPROTO_UDP {
		return bytes.Equal(a[:lengthUDP], b[:lengthUDP])
	}
	return bytes.Equal(a[:sequence], b[:sequence]) && be.Uint32(b[sequence:]) == be.Uint32(a[sequence:])+uint32(t.octets) &&
		bytes.Equal(a[sequence+4:flags], b[sequence+4:flags]) && bytes.Equal(a[window:checksumTCP], b[window:checksumTCP]) &&
		bytes.Equal(a[urgent:], b[urgent:])
}

// frame returns the train as a frame of a TUN device, in parts that are to be written in turn.
// They are valid until the train changes.
func (t *train) frame() []unix.Iovec {
	clear(t.header[:frameHeader])
	one := t.packets[0].data
	if len(t.packets) == 1 {
		return append(t.vectors[:0], vector(t.header[:frameHeader]), vector(one))
	}
	l, h := t.first, t.header[:frameHeader+t.first.payload]
	copy(h[frameHeader:], one)
	ne, kind := binary.NativeEndian, byte(unix.VIRTIO_NET_HDR_GSO_UDP_L4)
	offset, length := checksumUDP, l.payload-l.transport+t.octets
	ip := h[frameHeader:]
	tp := ip[l.transport:]
	if ip[0]>>4 == 4 {
		be.PutUint16(ip[length4:], uint16(l.transport+length))
		ip[checksum4], ip[checksum4+1] = 0, 0
		le.PutUint16(ip[checksum4:], ^fold(sum(0, ip[:l.transport])))
	} else {
		be.PutUint16(ip[length6:], uint16(length))
	}
	if l.protocol == unix.IPPROTO_TCP {
		offset, kind = checksumTCP, unix.VIRTIO_NET_HDR_GSO_TCPV4
		if ip[0]>>4 == 6 {
			kind = unix.VIRTIO_NET_HDR_GSO_TCPV6
		}
		tp[flags] = t.packets[len(t.packets)-1].data[l.transport+flags]
	} else {
		be.PutUint16(tp[lengthUDP:], uint16(length))
	}
	le.PutUint16(tp[offset:], fold(pseudoHeader(ip, l.protocol, length)))
	h[0], h[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, kind
	ne.PutUint16(h[2:], uint16(l.payload))
	ne.PutUint16(h[4:], uint16(len(one)-l.payload))
	ne.PutUint16(h[6:], uint16(l.transport))
	ne.PutUint16(h[8:], uint16(offset))
	v := append(t.vectors[:0], vector(h))
	for i := range t.packets {
		v = append(v, vector(t.packets[i].data[l.payload:]))
	}
	return v
}

func vector(b []byte) unix.Iovec {
	return unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
}
