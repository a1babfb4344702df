package emulator

import (
	"cmp"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// maxFrame is the size of the largest frame of a TUN device.
const maxFrame = frameHeader + 65536

// frameHeader is the size of a frame's header, Linux's struct virtio_net_hdr.
const frameHeader = 10

// offloads are what a TUN device leaves to the emulator: checksums, and the segmentation of
// TCP and UDP. Linux before 6.2 does not know the latter.
const (
	offloadTCP = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	offloadUDP = unix.TUN_F_USO4 | unix.TUN_F_USO6
)

// These are offsets in the headers of IP, TCP and UDP.
const (
	length4, identification4, fragment4, protocol4, checksum4, size4  = 2, 4, 6, 9, 10, 20
	length6, protocol6, size6                                         = 4, 6, 40
	sequence, dataOffset, flags, window, checksumTCP, urgent, sizeTCP = 4, 12, 13, 14, 16, 18, 20
	lengthUDP, checksumUDP, sizeUDP                                   = 4, 6, 8
)

// These are flags of TCP.
const fin, psh, ack = 0x01, 0x08, 0x10

var be = binary.BigEndian

// cutter cuts a frame of a TUN device into the packets that a host without segmentation
// offload would have sent, as network cards do. It is used again for each frame.
type cutter struct {
	frame    []byte // without its header
	segments bool   // it consists of several packets
	transport,
	payload int // where these begin
	size     int // payload of every packet but the last
	protocol uint8
	cut      int // packets so far
	most     int // size of a packet; 0: maxPacket
	at       int // where the rest of the payload begins
}

// begin starts with a frame, which the cutter keeps until next returns nil, and whose checksum
// it may complete in place. It returns false if the frame is malformed: no network card could
// send it.
func (c *cutter) begin(frame []byte) bool {
	if len(frame) <= frameHeader {
		return false
	}
	ne := binary.NativeEndian
	needsChecksum, kind := frame[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0, frame[1]
	size, start, offset := int(ne.Uint16(frame[4:])), int(ne.Uint16(frame[6:])), int(ne.Uint16(frame[8:]))
	*c = cutter{frame: frame[frameHeader:], transport: start, size: size, most: cmp.Or(c.most, maxPacket)}
	if needsChecksum && start+offset+2 > len(c.frame) {
		return false
	}
	if kind != unix.VIRTIO_NET_HDR_GSO_NONE {
		return c.beginSegments(kind)
	}
	if len(c.frame) > c.most {
		return false
	}
	if needsChecksum { // the field holds the sum of the pseudo-header
		complete(c.frame[start+offset:], sum(0, c.frame[start:]))
	}
	return true
}

// complete writes a checksum. It never writes 0, which in UDP marks a missing checksum.
func complete(field []byte, s uint64) {
	checksum := ^fold(s)
	if checksum == 0 {
		checksum = 0xffff
	}
	le.PutUint16(field, checksum)
}

// beginSegments does so with a frame of several packets.
func (c *cutter) beginSegments(kind uint8) bool {
	c.segments = true
	headers, least := 0, 1 // octets of the transport header
	switch {
	case !c.transportFits(sizeUDP):
	case kind == unix.VIRTIO_NET_HDR_GSO_UDP_L4:
		c.protocol, headers = unix.IPPROTO_UDP, sizeUDP
	case kind != unix.VIRTIO_NET_HDR_GSO_TCPV4 && kind != unix.VIRTIO_NET_HDR_GSO_TCPV6:
	case c.transportFits(sizeTCP):
		c.protocol, headers, least = unix.IPPROTO_TCP, int(c.frame[c.transport+dataOffset]>>4)*4, sizeTCP
	}
	c.payload = c.transport + headers
	c.at = c.payload
	return headers >= least && c.size > 0 && c.payload+c.size <= c.most && c.payload < len(c.frame)
}

// transportFits reports whether the frame has a whole IP header, and a transport header of that
// size behind it.
func (c *cutter) transportFits(size int) bool {
	if len(c.frame) < c.transport+size {
		return false
	}
	switch c.frame[0] >> 4 {
	case 4:
		return c.transport >= size4 && c.transport == int(c.frame[0]&15)*4
	case 6:
		return c.transport >= size6
	}
	return false
}

// next puts the next packet into buffer, which must have the length of the largest packet, and returns
// it. It returns nil after the last packet.
func (c *cutter) next(buffer []byte) []byte {
	if !c.segments {
		n := copy(buffer, c.frame)
		c.frame = nil
		if n == 0 {
			return nil
		}
		return buffer[:n]
	}
	if c.at >= len(c.frame) {
		return nil
	}
	end := min(c.at+c.size, len(c.frame))
	n := copy(buffer, c.frame[:c.payload])
	n += copy(buffer[n:], c.frame[c.at:end])
	p := buffer[:n]
	if p[0]>>4 == 4 {
		be.PutUint16(p[length4:], uint16(n))
		be.PutUint16(p[identification4:], be.Uint16(p[identification4:])+uint16(c.cut))
		p[checksum4], p[checksum4+1] = 0, 0
		le.PutUint16(p[checksum4:], ^fold(sum(0, p[:c.transport])))
	} else {
		be.PutUint16(p[length6:], uint16(n-size6))
	}
	t := p[c.transport:]
	s := pseudoHeader(p, c.protocol, len(t))
	if c.protocol == unix.IPPROTO_TCP {
		be.PutUint32(t[sequence:], be.Uint32(t[sequence:])+uint32(c.at-c.payload))
		if end < len(c.frame) {
			t[flags] &^= fin | psh
		}
		t[checksumTCP], t[checksumTCP+1] = 0, 0
		le.PutUint16(t[checksumTCP:], ^fold(sum(s, t)))
	} else {
		be.PutUint16(t[lengthUDP:], uint16(len(t)))
		t[checksumUDP], t[checksumUDP+1] = 0, 0
		complete(t[checksumUDP:], sum(s, t))
	}
	c.cut++
	c.at = end
	return p
}
