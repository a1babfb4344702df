package emulator

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wiretime/costtest"
)

func octets(v unix.Iovec) []byte { return unsafe.Slice(v.Base, v.Len) }

// segments describes a frame of TCP segments or UDP datagrams.
type segments struct {
	version  int
	protocol uint8
	options  int // octets of TCP options
	flags    byte
	payload  int
	size     int // payload of each packet
}

// frame returns the frame as Linux hands it to a network card: the field for the transport
// checksum holds the sum of the pseudo-header.
func (s segments) frame() []byte {
	transport, headers := size4, sizeUDP
	if s.version == 6 {
		transport = size6
	}
	if s.protocol == unix.IPPROTO_TCP {
		headers = sizeTCP + s.options
	}
	f := make([]byte, frameHeader+transport+headers+s.payload)
	for i := range f {
		f[i] = byte(i * 7)
	}
	ip, length := f[frameHeader:], headers+s.payload
	if s.version == 4 {
		copy(ip, []byte{0x45, 0, 0, 0, 0xff, 0xfe, 0x40, 0, 64, s.protocol, 0, 0, 198, 18, 0, 2, 198, 19, 1, 1})
		be.PutUint16(ip[length4:], uint16(transport+length))
		be.PutUint16(ip[checksum4:], ^naive(ip[:transport], 0))
	} else {
		copy(ip, []byte{0x60, 0, 0, 0, 0, 0, s.protocol, 64, 0xfd, 1, 15: 0, 23: 2, 24: 0xfd, 25: 2, 39: 2}) // fd01::2 to fd02::2
		be.PutUint16(ip[length6:], uint16(length))
	}
	t := ip[transport:]
	offset, kind := checksumUDP, byte(unix.VIRTIO_NET_HDR_GSO_UDP_L4)
	if s.protocol == unix.IPPROTO_TCP {
		offset, kind = checksumTCP, unix.VIRTIO_NET_HDR_GSO_TCPV4
		if s.version == 6 {
			kind = unix.VIRTIO_NET_HDR_GSO_TCPV6
		}
		be.PutUint32(t[sequence:], 0xfffffc00) // which wraps
		t[dataOffset], t[flags] = byte(headers/4)<<4, s.flags
	} else {
		be.PutUint16(t[lengthUDP:], uint16(length))
	}
	be.PutUint16(t[offset:], naive(nil, pseudo(ip, transport, length)))
	if s.payload <= s.size {
		kind = unix.VIRTIO_NET_HDR_GSO_NONE
	}
	f[0], f[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, kind
	for i, v := range []int{transport + headers, s.size, transport, offset} {
		binary.NativeEndian.PutUint16(f[2+2*i:], uint16(v))
	}
	return f
}

// pseudo adds up the pseudo-header as RFC 9293 section 3.1 and RFC 8200 section 8.1 have it.
func pseudo(ip []byte, transport, length int) uint32 {
	if transport == size6 {
		return uint32(naive(ip[source6:size6], uint32(ip[protocol6])+uint32(length)))
	}
	return uint32(naive(ip[source4:size4], uint32(ip[protocol4])+uint32(length)))
}

// naive adds up 16-bit words one by one, as RFC 1071 section 4.1 does.
func naive(b []byte, s uint32) uint16 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(be.Uint16(b))
		s = s>>16 + s&0xffff
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s&0xffff)
}

// TestCutAndJoin cuts frames into packets, checks these, and makes one frame of them again.
func TestCutAndJoin(t *testing.T) {
	const tcp, udp = unix.IPPROTO_TCP, unix.IPPROTO_UDP
	for _, test := range []struct {
		name  string
		frame segments
		want  []int // the packets' payloads
	}{
		{"TCP", segments{4, tcp, 0, ack, 4380, 1460}, []int{1460, 1460, 1460}},
		{"TCP with time stamps, the last one short", segments{4, tcp, 12, ack | psh, 3000, 1448}, []int{1448, 1448, 104}},
		{"TCP to its end", segments{4, tcp, 12, ack | psh | fin, 1449, 1448}, []int{1448, 1}},
		{"TCP with all options", segments{4, tcp, 40, ack, 2000, 1000}, []int{1000, 1000}},
		{"one TCP segment", segments{4, tcp, 12, ack | psh, 100, 1448}, []int{100}},
		{"one TCP acknowledgement", segments{4, tcp, 12, ack, 0, 1448}, []int{0}},
		{"TCP over IPv6", segments{6, tcp, 12, ack | psh, 3000, 1428}, []int{1428, 1428, 144}},
		{"UDP", segments{4, udp, 0, 0, 2500, 1200}, []int{1200, 1200, 100}},
		{"UDP over IPv6", segments{6, udp, 0, 0, 2400, 1200}, []int{1200, 1200}},
		{"small UDP datagrams", segments{4, udp, 0, 0, 3, 1}, []int{1, 1, 1}},
		{"one UDP datagram", segments{4, udp, 0, 0, 33, 1200}, []int{33}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := test.frame
			original := f.frame()
			packets, err := Cut(slices.Clone(original))
			if err != nil || len(packets) != len(test.want) {
				t.Fatalf("%d packets, error %v; want %d", len(packets), err, len(test.want))
			}
			transport := map[int]int{4: size4, 6: size6}[f.version]
			headers := len(original) - frameHeader - f.payload
			for i, p := range packets {
				if len(p) != headers+test.want[i] || !bytes.Equal(p[headers:], original[frameHeader+headers+i*f.size:][:test.want[i]]) {
					t.Fatalf("packet %d has %d octets of payload, or others; want %d", i, len(p)-headers, test.want[i])
				}
				if sum := naive(p[transport:], pseudo(p, transport, len(p)-transport)); sum != 0xffff {
					t.Errorf("packet %d: the transport checksum is wrong: %#x", i, sum)
				}
				if f.version == 4 {
					if sum := naive(p[:transport], 0); sum != 0xffff {
						t.Errorf("packet %d: the IP checksum is wrong: %#x", i, sum)
					}
					if id := be.Uint16(p[identification4:]); id != uint16(0xfffe+i) || int(be.Uint16(p[length4:])) != len(p) {
						t.Errorf("packet %d has the identification %#x and the length %d", i, id, be.Uint16(p[length4:]))
					}
				}
				if f.protocol != tcp {
					continue
				}
				want := f.flags
				if i < len(packets)-1 {
					want &^= fin | psh
				}
				if s := be.Uint32(p[transport+sequence:]); s != uint32(0xfffffc00+i*f.size) || p[transport+flags] != want {
					t.Errorf("packet %d has the sequence number %#x and the flags %#x", i, s, p[transport+flags])
				}
			}
			joined := Join(packets)
			if len(packets) == 1 { // it goes with its checksum
				copy(original, make([]byte, frameHeader))
				copy(original[frameHeader:], packets[0])
			}
			if len(joined) != 1 || !bytes.Equal(joined[0], original) {
				t.Errorf("joined again they are %d frames, or other octets", len(joined))
			}
		})
	}
}

// TestWhatEndsATrain changes the second of two packets: each change makes it a packet that goes by itself.
func TestWhatEndsATrain(t *testing.T) {
	tcp := segments{4, unix.IPPROTO_TCP, 12, ack, 2896, 1448}
	tcp6, udp := tcp, segments{4, unix.IPPROTO_UDP, 0, 0, 2400, 1200}
	tcp6.version = 6
	set := func(at int, value byte) func([]byte) []byte {
		return func(p []byte) []byte { p[at] = value; return p }
	}
	for _, test := range []struct {
		name   string
		frame  segments
		change func([]byte) []byte
		want   int // frames
	}{
		{"nothing", tcp, func(p []byte) []byte { return p }, 1},
		{"PSH", tcp, set(20+flags, ack|psh), 1},
		{"FIN", tcp, set(20+flags, ack|fin), 1},
		{"another service class", tcp, set(1, 4), 2},
		{"another identification", tcp, set(5, 9), 2},
		{"a fragment", tcp, set(fragment4, 0x20), 2},
		{"another hop limit", tcp, set(8, 63), 2},
		{"another protocol", tcp, set(protocol4, unix.IPPROTO_UDP), 2},
		{"another source", tcp, set(source4, 10), 2},
		{"another destination", tcp, set(destination4+3, 2), 2},
		{"IP options", tcp, set(0, 0x46), 2},
		{"another port", tcp, set(20, 1), 2},
		{"another sequence number", tcp, set(20+sequence, 1), 2},
		{"another acknowledgement", tcp, set(20+8, 1), 2},
		{"another header length", tcp, set(20+dataOffset, 0x50), 2},
		{"SYN", tcp, set(20+flags, ack|2), 2},
		{"RST", tcp, set(20+flags, ack|4), 2},
		{"URG", tcp, set(20+flags, ack|0x20), 2},
		{"ECE", tcp, set(20+flags, ack|0x40), 2},
		{"CWR", tcp, set(20+flags, ack|0x80), 2},
		{"no ACK", tcp, set(20+flags, 0), 2},
		{"another window", tcp, set(20+window, 1), 2},
		{"an urgent pointer", tcp, set(20+urgent, 1), 2},
		{"another time stamp", tcp, set(20+sizeTCP+5, 1), 2},
		{"no payload", tcp, func(p []byte) []byte { return resized(p, 52) }, 2},
		{"more payload", tcp, func(p []byte) []byte { return resized(p, 1501) }, 2},
		{"a length that is not its own", tcp, func(p []byte) []byte { return p[:len(p)-1] }, 2},
		{"nothing, over IPv6", tcp6, func(p []byte) []byte { return p }, 1},
		{"another flow label", tcp6, set(3, 1), 2},
		{"another address, over IPv6", tcp6, set(source6, 1), 2},
		{"nothing, of UDP", udp, func(p []byte) []byte { return p }, 1},
		{"another port of UDP", udp, set(20, 1), 2},
		{"no checksum", udp, func(p []byte) []byte { p[20+checksumUDP], p[20+checksumUDP+1] = 0, 0; return p }, 2},
		{"another length of UDP", udp, set(20+lengthUDP, 1), 2},
	} {
		packets, err := Cut(test.frame.frame())
		if err != nil || len(packets) != 2 {
			t.Fatal(len(packets), err)
		}
		packets[1] = test.change(packets[1])
		if frames := Join(packets); len(frames) != test.want {
			t.Errorf("%s: %d frames, want %d", test.name, len(frames), test.want)
		}
	}
	full, err := Cut(segments{4, unix.IPPROTO_UDP, 0, 0, 65 * 100, 100}.frame())
	if frames := Join(full); err != nil || len(frames) != 2 {
		t.Errorf("of %d datagrams become %d frames, want 2 as Linux takes at most %d in one", len(full), len(frames), maxTrain)
	}
	apart := &train{}
	packets, _ := Cut(tcp.frame())
	if apart.take(packet{data: packets[0], due: 1}); apart.take(packet{data: packets[1], due: 2 + maxApart}) {
		t.Error("packets that are due at different times go together")
	}
}

func resized(p []byte, size int) []byte {
	p = append(p, 0)[:size]
	be.PutUint16(p[length4:], uint16(size))
	return p
}

// TestMalformedFrames: frames that no kernel hands over are refused.
func TestMalformedFrames(t *testing.T) {
	good := segments{4, unix.IPPROTO_TCP, 12, ack, 2896, 1448}
	set := func(at int, value uint16) []byte {
		f := good.frame()
		binary.NativeEndian.PutUint16(f[at:], value)
		return f
	}
	octet := func(at int, value byte) []byte {
		f := good.frame()
		f[at] = value
		return f
	}
	for name, frame := range map[string][]byte{
		"nothing":                         nil,
		"a header only":                   make([]byte, frameHeader),
		"an unknown type":                 octet(1, 9),
		"UDP fragmentation":               octet(1, unix.VIRTIO_NET_HDR_GSO_UDP),
		"segments of 0 octets":            set(4, 0),
		"segments larger than a packet":   set(4, maxPacket),
		"a transport header within IP's":  set(6, 19),
		"a transport header past the end": set(6, 2950),
		"a checksum past the end":         set(8, 3000),
		"IP version 5":                    octet(frameHeader, 0x55),
		"a TCP header of 16 octets":       octet(frameHeader+size4+dataOffset, 0x40),
		"headers only":                    good.frame()[:frameHeader+52],
		"a packet above the limit":        make([]byte, frameHeader+maxPacket+1),
	} {
		if packets, err := Cut(frame); err == nil {
			t.Errorf("%s: %d packets, want an error", name, len(packets))
		}
	}
}

// FuzzCut cuts any frame. What comes of it, joined and cut again, is the same packets.
func FuzzCut(f *testing.F) {
	for _, version := range []int{4, 6} {
		f.Add(segments{version, unix.IPPROTO_TCP, 12, ack | psh, 5000, 1400}.frame())
		f.Add(segments{version, unix.IPPROTO_UDP, 0, 0, 500, 100}.frame())
		f.Add(segments{version, unix.IPPROTO_UDP, 0, 0, 50, 100}.frame())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > maxFrame {
			return
		}
		// A frame may ask for segments of one octet; each has a buffer and headers of its own.
		costtest.Check(t, len(frame), costtest.Limit{Fixed: 64 << 10, PerOctet: 4 * maxPacket, Time: 10 * time.Microsecond}, func() {
			packets, err := Cut(frame)
			if err != nil {
				return
			}
			var again [][]byte
			for _, joined := range Join(packets) {
				cut, err := Cut(joined)
				if err != nil {
					t.Fatalf("the joined packets: %v", err)
				}
				again = append(again, cut...)
			}
			if len(again) != len(packets) {
				t.Fatalf("%d packets, joined and cut again %d", len(packets), len(again))
			}
			for i := range again {
				if len(again[i]) > maxPacket || !bytes.Equal(again[i], packets[i]) {
					t.Fatalf("packet %d of %d:\n%x\njoined and cut again:\n%x", i, len(packets), packets[i], again[i])
				}
			}
		})
	})
}

// TestSum compares checksums of all lengths and alignments with the plain algorithm.
func TestSum(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i*i + 255)
	}
	for from := range 9 {
		for to := from; to < len(data); to++ {
			var b [2]byte
			le.PutUint16(b[:], fold(sum(0, data[from:to])))
			if want := naive(data[from:to], 0); be.Uint16(b[:]) != want {
				t.Fatalf("octets %d to %d: %#x, want %#x", from, to, b, want)
			}
		}
	}
	full := bytes.Repeat([]byte{0xff}, 64) // every addition carries
	if got := fold(sum(1<<64-1, full)); got != 0xffff {
		t.Errorf("the sum of ones is %#x", got)
	}
}
