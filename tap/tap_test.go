package tap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

func upLoopback(t *testing.T) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTap: of the packets on the loopback device, the tap has those of connections that were opened while it was open, once
// each, as their clients see them, with all their octets.
func TestTap(t *testing.T) {
	upLoopback(t)
	const octets = 300_000
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
					_, _ = c.Write(make([]byte, octets))
				}
			}()
		}
	}()
	before, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	tap, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, before, octets)
	during, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, during, octets)
	r, err := tap.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost != 0 || r.Full || len(r.Interfaces) != 1 || r.Interfaces[0] != "lo" {
		t.Errorf("lost %d, full %v, interfaces %v", r.Lost, r.Full, r.Interfaces)
	}
	next, down := uint32(0), 0
	for i, p := range r.Packets {
		if p.Flow.Source.String() != during.LocalAddr().String() || p.Flow.Destination.String() != l.Addr().String() {
			t.Errorf("packet %d is of %v", i, p.Flow)
		}
		if p.Time == 0 || i > 0 && p.Time < r.Packets[i-1].Time {
			t.Errorf("packet %d has the time %d", i, p.Time)
		}
		if first := p.Headers.Flags.Has(capture.SYN) && !p.Inbound; first != (i == 0) {
			t.Errorf("packet %d: %+v", i, p.Headers.Flags)
		}
		if p.Inbound && p.Headers.PayloadLength > 0 {
			if next != 0 && p.Headers.Sequence != next {
				t.Errorf("packet %d begins at %d, want %d", i, p.Headers.Sequence, next)
			}
			next = p.Headers.Sequence + uint32(p.Headers.PayloadLength)
			down += p.Headers.PayloadLength
		}
	}
	if down != octets {
		t.Errorf("%d octets down, want %d", down, octets)
	}
}

func fetch(t *testing.T, c net.Conn, octets int) {
	t.Helper()
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); err != nil || int(n) != octets {
		t.Fatalf("%d octets, %v", n, err)
	}
}

// TestForbidden: without CAP_NET_RAW there is no tap, and the error says which right is lacking.
func TestForbidden(t *testing.T) {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends without the right
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&head, &data[0])
		data[0].Effective &^= 1 << unix.CAP_NET_RAW
		if err = errors.Join(err, unix.Capset(&head, &data[0])); err != nil {
			result <- err
			return
		}
		_, err = Open()
		result <- err
	}()
	if err := <-result; !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}

// frame is what a packet socket delivers of an Ethernet device: struct virtio_net_hdr, the link header, an IPv4 packet.
func frame(kind uint8, size int, payload []byte) []byte {
	ip := make([]byte, 40, 40+len(payload))
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(40+len(payload)))
	copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(ip[20:], 5000)
	binary.BigEndian.PutUint16(ip[22:], 443)
	ip[32], ip[33] = 5<<4, byte(capture.ACK)
	f := make([]byte, virtioHeader+ethernetHeader)
	f[1] = kind
	binary.NativeEndian.PutUint16(f[4:], uint16(size))
	return append(append(f, ip...), payload...)
}

// TestFlows: frames become the packets of the wire.
func TestFlows(t *testing.T) {
	open := frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil)
	open[virtioHeader+ethernetHeader+33] = byte(capture.SYN)
	for _, c := range []struct {
		name    string
		frame   []byte
		hatype  uint16
		kind    uint8
		lengths []int // of the packets behind the SYN
	}{
		{"one packet", frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, []byte("abc")), unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, []int{43}},
		{"padding", append(frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil), 0, 0, 0), unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, []int{40}},
		{"three packets in one", frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 1000, make([]byte, 2500)), unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, []int{1040, 1040, 540}},
		{"with ECN", frame(unix.VIRTIO_NET_HDR_GSO_TCPV4|unix.VIRTIO_NET_HDR_GSO_ECN, 1000, make([]byte, 1500)), unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, []int{1040, 540}},
		{"somebody else's", frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil), unix.ARPHRD_ETHER, unix.PACKET_OTHERHOST, nil},
		{"an unknown link", frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil), unix.ARPHRD_INFINIBAND, unix.PACKET_OUTGOING, nil},
		{"cut short", frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil)[:30], unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, nil},
		{"of another connection", bytes.Replace(frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil), []byte{10, 0, 0, 2}, []byte{10, 0, 0, 3}, 1), unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlows()
			f.add(bytes.Clone(open), &unix.SockaddrLinklayer{Ifindex: 1, Hatype: unix.ARPHRD_ETHER, Pkttype: unix.PACKET_OUTGOING}, 1)
			f.add(c.frame, &unix.SockaddrLinklayer{Ifindex: 1, Hatype: c.hatype, Pkttype: c.kind}, 2)
			if len(f.recording.Packets) != 1+len(c.lengths) {
				t.Fatalf("%d packets, want %d behind the SYN", len(f.recording.Packets), len(c.lengths))
			}
			for i, want := range c.lengths {
				if got := len(f.recording.Packets[1+i].Data); got != want {
					t.Errorf("packet %d has %d octets, want %d", i, got, want)
				}
			}
		})
	}
}

// FuzzAdd: no frame makes the tap fail.
func FuzzAdd(f *testing.F) {
	f.Add(frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 1000, make([]byte, 2500)), uint16(unix.ARPHRD_ETHER), uint8(unix.PACKET_OUTGOING))
	f.Add(frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, nil), uint16(unix.ARPHRD_NONE), uint8(unix.PACKET_HOST))
	f.Fuzz(func(_ *testing.T, frame []byte, hatype uint16, kind uint8) {
		newFlows().add(frame, &unix.SockaddrLinklayer{Ifindex: 1, Hatype: hatype, Pkttype: kind}, 1)
	})
}

// FuzzFlows takes any frames for those of a packet socket.
func FuzzFlows(f *testing.F) {
	syn := append(make([]byte, virtioHeader+ethernetHeader), 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, unix.IPPROTO_TCP, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2,
		0x80, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0)
	f.Add(syn, uint16(unix.ARPHRD_ETHER), true)
	f.Add(syn[ethernetHeader:], uint16(unix.ARPHRD_NONE), true)
	f.Add(append([]byte{unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, unix.VIRTIO_NET_HDR_GSO_TCPV4, 54, 0, 4, 0, 34, 0, 16, 0}, syn[virtioHeader:]...), uint16(unix.ARPHRD_ETHER), true)
	f.Fuzz(func(t *testing.T, frame []byte, link uint16, outgoing bool) {
		all := newFlows()
		at := &unix.SockaddrLinklayer{Hatype: link, Pkttype: unix.PACKET_HOST, Ifindex: 1}
		if outgoing {
			at.Pkttype = unix.PACKET_OUTGOING
		}
		all.add(frame, at, 1)
		for _, p := range all.recording.Packets {
			if len(p.Data) > len(frame) {
				t.Errorf("a packet of %d octets of a frame of %d", len(p.Data), len(frame))
			}
		}
	})
}
