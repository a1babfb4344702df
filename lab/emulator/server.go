package emulator

import (
	"net/netip"

	"wiretime/network"
)

// These are the offsets of the addresses in the headers of IPv4 (RFC 791 section 3.1) and
// IPv6 (RFC 8200 section 3).
const (
	source4, destination4 = 12, 16
	source6, destination6 = 8, 24
)

// server returns the address of the server that a packet goes to or comes from, or the zero
// address if the packet has none.
func server(d network.Direction, packet []byte) netip.Addr {
	if len(packet) == 0 {
		return netip.Addr{}
	}
	at, size := destination4, 4
	switch version := packet[0] >> 4; {
	case version == 4 && d == network.Down:
		at = source4
	case version == 6 && d == network.Down:
		at, size = source6, 16
	case version == 6:
		at, size = destination6, 16
	}
	if len(packet) < at+size {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(packet[at : at+size]) // the slice has the size of an address
	return a
}
