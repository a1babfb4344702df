package capture

import (
	"encoding/binary"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// ipv4 builds a packet with a header of 20 octets and no checksum.
func ipv4(protocol uint8, source, destination string, body []byte) []byte {
	b := make([]byte, 20, 20+len(body))
	b[0], b[8], b[9] = 0x45, 64, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(body)))
	copy(b[12:], netip.MustParseAddr(source).AsSlice())
	copy(b[16:], netip.MustParseAddr(destination).AsSlice())
	return append(b, body...)
}

func tcp(source, destination uint16, sequence, acknowledgment uint32, flags TCPFlags, options int, payload string) []byte {
	b := make([]byte, 20+options, 20+options+len(payload))
	binary.BigEndian.PutUint16(b, source)
	binary.BigEndian.PutUint16(b[2:], destination)
	binary.BigEndian.PutUint32(b[4:], sequence)
	binary.BigEndian.PutUint32(b[8:], acknowledgment)
	b[12], b[13] = byte((20+options)/4)<<4, byte(flags)
	return append(b, payload...)
}

func udp(source, destination uint16, payload string) []byte {
	b := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(b, source)
	binary.BigEndian.PutUint16(b[2:], destination)
	binary.BigEndian.PutUint16(b[4:], uint16(8+len(payload)))
	return append(b, payload...)
}

func flow(protocol uint8, source, destination string) Flow {
	return Flow{Protocol: protocol, Source: netip.MustParseAddrPort(source), Destination: netip.MustParseAddrPort(destination)}
}

// withWindow sets a segment's window and its options.
func withWindow(segment []byte, window uint16, options ...byte) []byte {
	binary.BigEndian.PutUint16(segment[14:], window)
	copy(segment[20:], options)
	return segment
}

func TestDissect(t *testing.T) {
	fragment := ipv4(UDP, "10.0.0.2", "10.0.1.2", []byte("the rest of a datagram"))
	binary.BigEndian.PutUint16(fragment[6:], 100)
	for _, c := range []struct {
		name   string
		packet []byte
		want   Headers
	}{
		{"a TCP segment with options", ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(4000, 80, 7, 9, ACK, 12, "GET /")), Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Payload: []byte("GET /"), PayloadLength: 5, Sequence: 7, Acknowledgment: 9, Flags: ACK}},
		{"a TCP SYN", ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(4000, 80, 7, 0, SYN, 20, "")), Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Sequence: 7, Flags: SYN, Payload: []byte{}}},
		{"a TCP SYN with a window scale after other options", ipv4(TCP, "10.0.0.2", "10.0.1.2", withWindow(tcp(4000, 80, 7, 0, SYN, 12, ""), 0xfaf0, 2, 4, 5, 0xb4, 1, 3, 3, 7)), Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Sequence: 7, Flags: SYN, Payload: []byte{}, Window: 0xfaf0, Scale: 7}},
		{"a TCP SYN that permits selective acknowledgements", ipv4(TCP, "10.0.0.2", "10.0.1.2", withWindow(tcp(4000, 80, 7, 0, SYN, 12, ""), 0xfaf0, 2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7, 0, 0)), Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Sequence: 7, Flags: SYN, Payload: []byte{}, Window: 0xfaf0, Scale: 7, SACK: true}},
		{"a TCP SYN with an option of no length", ipv4(TCP, "10.0.0.2", "10.0.1.2", withWindow(tcp(4000, 80, 7, 0, SYN, 4, ""), 1, 2, 0, 3, 3)), Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Sequence: 7, Flags: SYN, Payload: []byte{}, Window: 1}},
		{"a UDP datagram", ipv4(UDP, "10.0.1.2", "10.0.0.2", udp(443, 5000, "xyz")), Headers{
			Flow: flow(UDP, "10.0.1.2:443", "10.0.0.2:5000"), Payload: []byte("xyz"), PayloadLength: 3}},
		{"an SCTP packet", ipv4(SCTP, "10.0.0.2", "10.0.1.2", []byte("\x0f\xa0\x00\x50tag.sum.chunks")), Headers{
			Flow: flow(SCTP, "10.0.0.2:4000", "10.0.1.2:80"), Payload: []byte("chunks"), PayloadLength: 6}},
		{"a TCP segment cut in its payload", ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(4000, 80, 7, 9, ACK, 12, "GET /"))[:54], Headers{
			Flow: flow(TCP, "10.0.0.2:4000", "10.0.1.2:80"), Payload: []byte("GE"), PayloadLength: 5, Sequence: 7, Acknowledgment: 9, Flags: ACK}},
		{"a UDP datagram cut after its header", ipv4(UDP, "10.0.1.2", "10.0.0.2", udp(4433, 5001, "four"))[:28], Headers{
			Flow: flow(UDP, "10.0.1.2:4433", "10.0.0.2:5001"), Payload: []byte{}, PayloadLength: 4}},
		{"an ICMP message has no ports", ipv4(1, "10.0.1.2", "10.0.0.2", make([]byte, 8)), Headers{
			Flow: flow(1, "10.0.1.2:0", "10.0.0.2:0")}},
		{"a later fragment has no ports", fragment, Headers{
			Flow: flow(UDP, "10.0.0.2:0", "10.0.1.2:0")}},
		{"octets after the IP packet do not count", append(ipv4(UDP, "10.0.1.2", "10.0.0.2", udp(443, 5000, "xyz")), 0, 0, 0), Headers{
			Flow: flow(UDP, "10.0.1.2:443", "10.0.0.2:5000"), Payload: []byte("xyz"), PayloadLength: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Dissect(c.packet)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("Dissect = %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestDissectRefuses(t *testing.T) {
	short := ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(1, 2, 0, 0, ACK, 0, ""))
	short[20+12] = 0xf0
	options := ipv4(UDP, "10.0.0.2", "10.0.1.2", nil)
	options[0], options[3] = 0x4f, 60
	for _, c := range []struct {
		name   string
		packet []byte
		want   string
	}{
		{"nothing", nil, "IP packet of 0 octets"},
		{"IPv6 without its header", append([]byte{0x60}, make([]byte, 38)...), "IPv6 packet of 39 octets"},
		{"IP of another version", append([]byte{0x50}, make([]byte, 39)...), "IP version 5"},
		{"an IP header past the end", options, "packet of 20 octets with a header of 60"},
		{"a TCP header past the end", short, "with a header of 60"},
		{"a TCP segment without its header", ipv4(TCP, "10.0.0.2", "10.0.1.2", make([]byte, 19)), "TCP segment of 19 octets"},
		{"a TCP segment cut in its options", ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(1, 2, 0, 0, ACK, 12, ""))[:50], "TCP segment of 30 octets with a header of 32"},
		{"an SCTP packet without its header", ipv4(SCTP, "10.0.0.2", "10.0.1.2", make([]byte, 11)), "SCTP packet of 11 octets"},
		{"a UDP datagram without its header", ipv4(UDP, "10.0.0.2", "10.0.1.2", make([]byte, 7)), "UDP datagram of 7 octets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Dissect(c.packet); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Dissect error = %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestFlow(t *testing.T) {
	f := flow(TCP, "10.0.0.2:4000", "10.0.1.2:80")
	if got, want := f.String(), "tcp 10.0.0.2:4000 > 10.0.1.2:80"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got, want := f.Reverse().String(), "tcp 10.0.1.2:80 > 10.0.0.2:4000"; got != want {
		t.Errorf("Reverse = %q, want %q", got, want)
	}
}

func FuzzDissect(f *testing.F) {
	f.Add(ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(4000, 80, 7, 9, ACK, 12, "GET /")))
	f.Add(ipv4(UDP, "10.0.1.2", "10.0.0.2", udp(443, 5000, "xyz")))
	f.Add(ipv4(SCTP, "10.0.1.2", "10.0.0.2", make([]byte, 16))[:34])
	f.Add([]byte{0x4f, 0, 0, 60})
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, err := Dissect(packet)
		if err == nil && (len(h.Payload) > len(packet)-20 || len(h.Payload) > h.PayloadLength) {
			t.Errorf("%d octets of a payload of %d in a packet of %d", len(h.Payload), h.PayloadLength, len(packet))
		}
	})
}

// TestDissectIPv6 reads a TCP segment over IPv6, and an IPv6 packet with an extension header.
func TestDissectIPv6(t *testing.T) {
	packet := append(make([]byte, 40), tcp(4000, 443, 7, 9, ACK, 0, "abc")...)
	packet[0], packet[5], packet[6], packet[23], packet[39] = 0x60, 23, TCP, 1, 2
	h, err := Dissect(packet)
	if err != nil || h.Flow.String() != "tcp [::1]:4000 > [::2]:443" || h.Sequence != 7 || string(h.Payload) != "abc" || h.PayloadLength != 3 {
		t.Errorf("%+v, %v", h, err)
	}
	packet[6] = 0 // hop-by-hop options (RFC 8200 section 4.3)
	if h, err := Dissect(packet); err != nil || h.Flow.Source.Port() != 0 || h.Payload != nil {
		t.Errorf("%+v, %v", h, err)
	}
}
