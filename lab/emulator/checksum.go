package emulator

import (
	"encoding/binary"
	"math/bits"
)

// Internet checksums (RFC 1071) do not depend on the order of octets within a word, as long as
// sums are read and written in the same order. Here that is little-endian.
var le = binary.LittleEndian

// sum adds the 16-bit words of b to s. Its result must be folded.
func sum(s uint64, b []byte) uint64 {
	var carry uint64
	for len(b) >= 32 {
		s, carry = bits.Add64(s, le.Uint64(b), 0)
		s, carry = bits.Add64(s, le.Uint64(b[8:]), carry)
		s, carry = bits.Add64(s, le.Uint64(b[16:]), carry)
		s, carry = bits.Add64(s, le.Uint64(b[24:]), carry)
		s, carry = bits.Add64(s, 0, carry)
		s += carry
		b = b[32:]
	}
	for len(b) >= 8 {
		s, carry = bits.Add64(s, le.Uint64(b), 0)
		s += carry
		b = b[8:]
	}
	var last [8]byte
	copy(last[:], b)
	s, carry = bits.Add64(s, le.Uint64(last[:]), 0)
	return s + carry
}

// fold returns the 16-bit sum of the words that s is the sum of.
func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// pseudoHeader returns the sum of the pseudo-header of TCP or UDP (RFC 9293 section 3.1, RFC 8200
// section 8.1). header is the packet's IP header, length that of the transport header and its payload.
func pseudoHeader(header []byte, protocol uint8, length int) uint64 {
	addresses := header[source4 : destination4+4]
	if header[0]>>4 == 6 {
		addresses = header[source6 : destination6+16]
	}
	return sum(uint64(protocol)<<8+uint64(bits.ReverseBytes16(uint16(length))), addresses)
}
