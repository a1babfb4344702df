// Package capturetest builds IPv4 packets for tests. They have no checksums.
package capturetest

import (
	"encoding/binary"
	"net/netip"

	"wiretime/capture"
)

// Segment returns a packet with a TCP segment. Addresses are written with their ports, such as
// "10.0.0.2:4000". Options are padded to whole words.
func Segment(source, destination string, sequence, acknowledgment uint32, flags capture.TCPFlags, options, payload []byte) []byte {
	words := (len(options) + 3) / 4
	b := make([]byte, 20+4*words, 20+4*words+len(payload))
	binary.BigEndian.PutUint32(b[4:], sequence)
	binary.BigEndian.PutUint32(b[8:], acknowledgment)
	b[12], b[13] = byte(5+words)<<4, byte(flags)
	copy(b[20:], options)
	return Packet(capture.TCP, source, destination, append(b, payload...))
}

// Datagram returns a packet with a UDP datagram.
func Datagram(source, destination string, payload []byte) []byte {
	b := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(b[4:], uint16(8+len(payload)))
	return Packet(capture.UDP, source, destination, append(b, payload...))
}

// Packet returns a packet with a body of the given IP protocol, and writes the ports into the body's
// first four octets, where TCP, UDP and SCTP have them.
func Packet(protocol uint8, source, destination string, body []byte) []byte {
	from, to := netip.MustParseAddrPort(source), netip.MustParseAddrPort(destination)
	b := make([]byte, 20, 20+len(body))
	b[0], b[9] = 0x45, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(body)))
	copy(b[12:], from.Addr().AsSlice())
	copy(b[16:], to.Addr().AsSlice())
	b = append(b, body...)
	binary.BigEndian.PutUint16(b[20:], from.Port())
	binary.BigEndian.PutUint16(b[22:], to.Port())
	return b
}
