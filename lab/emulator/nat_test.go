package emulator

import (
	"hash/crc32"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/network"
)

const (
	client, web, other = "198.18.0.2:40000", "198.19.1.1:443", "198.19.1.2:80"
)

// natOf is a NAT with these rebindings.
func natOf(kinds ...network.Rebinding) *nat {
	var list []network.RebindingAt
	for _, k := range kinds {
		list = append(list, network.RebindingAt{Kind: k})
	}
	return newNAT(list)
}

// dissected returns what a packet's headers say, and checks its checksums.
func dissected(t *testing.T, packet []byte) capture.Headers {
	t.Helper()
	h, err := capture.Dissect(packet)
	if err != nil {
		t.Fatal(err)
	}
	if s := fold(sum(0, packet[:size4])); s != 0xffff {
		t.Errorf("IP's checksum adds up to %x", s)
	}
	switch p := packet[size4:]; packet[protocol4] {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP:
		if s := fold(pseudoHeader(packet, packet[protocol4], len(p)) + sum(0, p)); s != 0xffff {
			t.Errorf("the checksum of protocol %d adds up to %x", packet[protocol4], s)
		}
	case unix.IPPROTO_SCTP:
		whole := le.Uint32(p[checksumSCTP:])
		le.PutUint32(p[checksumSCTP:], 0)
		if want := crc32.Checksum(p, castagnoli); whole != want {
			t.Errorf("SCTP's checksum is %x, want %x", whole, want)
		}
		le.PutUint32(p[checksumSCTP:], whole)
	}
	return h
}

// summed fills in the checksums of a packet.
func summed(packet []byte) []byte {
	p := packet[size4:]
	packet[checksum4], packet[checksum4+1] = 0, 0
	le.PutUint16(packet[checksum4:], ^fold(sum(0, packet[:size4])))
	switch packet[protocol4] {
	case unix.IPPROTO_TCP:
		le.PutUint16(p[checksumTCP:], 0)
		le.PutUint16(p[checksumTCP:], ^fold(pseudoHeader(packet, unix.IPPROTO_TCP, len(p))+sum(0, p)))
	case unix.IPPROTO_UDP:
		le.PutUint16(p[checksumUDP:], 0)
		complete(p[checksumUDP:], pseudoHeader(packet, unix.IPPROTO_UDP, len(p))+sum(0, p))
	case unix.IPPROTO_SCTP:
		le.PutUint32(p[checksumSCTP:], 0)
		le.PutUint32(p[checksumSCTP:], crc32.Checksum(p, castagnoli))
	}
	return packet
}

var carriers = map[string]func(from, to string) []byte{
	"TCP": func(from, to string) []byte {
		return summed(capturetest.Segment(from, to, 7, 9, capture.ACK, nil, []byte("odd")))
	},
	"UDP": func(from, to string) []byte { return summed(capturetest.Datagram(from, to, []byte("even"))) },
	"SCTP": func(from, to string) []byte {
		return summed(capturetest.Packet(capture.SCTP, from, to, make([]byte, 28)))
	},
}

// TestNAT: a packet's way out and back, by what has happened to the NAT before.
func TestNAT(t *testing.T) {
	for name, carry := range carriers {
		t.Run(name, func(t *testing.T) {
			n := natOf(network.RebindPort, network.RebindAddress, network.RebindPort)
			outside := func(from, to string, rebound int) string {
				p := carry(from, to)
				changed := n.up(p, rebound)
				h := dissected(t, p)
				if h.Flow.Destination.String() != to || changed == (h.Flow.Source.String() == from) {
					t.Errorf("a packet from %s to %s becomes one from %s to %s", from, to, h.Flow.Source, h.Flow.Destination)
				}
				return h.Flow.Source.String()
			}
			back := func(to string, rebound int) string {
				p := carry(web, to)
				if _, ok := n.down(p, rebound); !ok {
					return "dropped"
				}
				return dissected(t, p).Flow.Destination.String()
			}
			if got := outside(client, web, 0); got != client {
				t.Errorf("before the first rebinding %s leaves as %s", client, got)
			}
			port := outside(client, web, 1)
			if a := netip.MustParseAddrPort(port); a.Addr().String() != "198.18.0.2" || a.Port() == 40000 {
				t.Errorf("after the port's rebinding %s leaves as %s", client, port)
			}
			if again := outside(client, other, 1); again != port {
				t.Errorf("to another server it leaves as %s, want %s as to the first", again, port)
			}
			if second := outside("198.18.0.2:40001", web, 1); second == port {
				t.Errorf("two endpoints of the client share %s", port)
			}
			address := outside(client, web, 2)
			if address != "198.18.0.3:40000" {
				t.Errorf("after the address's rebinding %s leaves as %s", client, address)
			}
			both := outside(client, web, 3)
			if a := netip.MustParseAddrPort(both); a.Addr().String() != "198.18.0.3" || a.Port() == 40000 {
				t.Errorf("after both %s leaves as %s", client, both)
			}
			for _, test := range []struct {
				to      string
				rebound int
				want    string
			}{
				{client, 0, client}, {port, 1, client}, {address, 2, client}, {both, 3, client},
				{client, 1, "dropped"}, {port, 2, "dropped"}, {address, 1, "dropped"}, {"198.18.0.2:9", 1, "dropped"},
			} {
				if got := back(test.to, test.rebound); got != test.want {
					t.Errorf("after %d rebindings a packet to %s reaches %s, want %s", test.rebound, test.to, got, test.want)
				}
			}
		})
	}
}

// TestNATTranslatesErrors: an ICMP error finds its way by the flow that it is about, and tells the
// client of the packet as the client sent it.
func TestNATTranslatesErrors(t *testing.T) {
	n := natOf(network.RebindPort)
	sent := carriers["UDP"](client, web)
	n.up(sent, 1)
	h := dissected(t, sent)
	report := func(about []byte) []byte {
		p := capturetest.Packet(unix.IPPROTO_ICMP, "198.19.1.1:0", "198.18.0.2:0", append(make([]byte, 8), about...))
		body := p[size4:]
		copy(body, []byte{3, 3, 0, 0}) // destination and port unreachable
		le.PutUint16(body[2:], ^fold(sum(0, body)))
		return summed(p)
	}
	p := report(sent)
	if changed, ok := n.down(p, 1); !changed || !ok {
		t.Fatalf("an error about %v: changed %v, passes %v", h.Flow, changed, ok)
	}
	if s := fold(sum(0, p[size4:])); s != 0xffff {
		t.Errorf("ICMP's checksum adds up to %x", s)
	}
	if about := dissected(t, p[size4+8:]); about.Flow.Source.String() != client {
		t.Errorf("the error is about %v, want one from %s", about.Flow, client)
	}
	if _, ok := n.down(report(carriers["UDP"](client, web)), 1); ok {
		t.Error("an error about a forgotten binding passes")
	}
}

// TestNATOnPath sends datagrams over a path that rebinds: one that leaves the link after the rebinding has its new
// endpoint, and an answer to the old one is dropped.
func TestNATOnPath(t *testing.T) {
	path := tenMS(0)
	path.Events = []network.Event{{At: 15_000_000, Rebind: network.RebindPort}}
	l, near, far := newLoop(t, path)
	l.nat = newNAT(l.emulation.Rebindings())
	send := func(end int, k *link, at int64, packet []byte) {
		t.Helper()
		if _, err := unix.Write(end, append(make([]byte, frameHeader), packet...)); err != nil {
			t.Fatal(err)
		}
		l.readFrom(k, l.epoch+at)
	}
	arrived := func(end int) string {
		l.deliverDue(l.epoch + 1_000_000_000)
		frame := make([]byte, maxFrame)
		if k, err := unix.Read(end, frame); err == nil {
			return dissected(t, frame[frameHeader:k]).Flow.String()
		}
		return "nothing"
	}
	datagram := carriers["UDP"]
	send(near, &l.links[0], 0, datagram(client, web))
	before := arrived(far)
	send(near, &l.links[0], 6_000_000, datagram(client, web))
	after := arrived(far)
	if before == after || before == "nothing" || after == "nothing" {
		t.Errorf("the server sees %s, then %s", before, after)
	}
	send(far, &l.links[1], 16_000_000, datagram(web, client))
	if got := arrived(near); got != "nothing" || l.report.Dropped["no binding"] != 1 {
		t.Errorf("an answer to the old endpoint arrives as %s; dropped %v", got, l.report.Dropped)
	}
}

func FuzzNAT(f *testing.F) {
	for _, carry := range carriers {
		f.Add(carry(client, web))
	}
	f.Add(carriers["UDP"](client, web)[:size4+4]) // its checksum is cut off
	f.Fuzz(func(_ *testing.T, packet []byte) {
		n := natOf(network.RebindPort, network.RebindAddress)
		for rebound := range 3 {
			n.up(packet, rebound)
			n.down(packet, rebound)
		}
	})
}
