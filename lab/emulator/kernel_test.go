package emulator_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// TestKernelCutsTheSame lets Linux forward frames to a device without segmentation offload, so that Linux has to
// cut them and complete their checksums: its packets have the same octets as the emulator's.
func TestKernelCutsTheSame(t *testing.T) {
	in, out := router(t)
	for _, version := range []int{4, 6} {
		for _, test := range []struct {
			name          string
			protocol      uint8
			flags         byte
			payload, size int
		}{
			{"TCP", unix.IPPROTO_TCP, 0x10, 20_000, 1428},
			{"TCP to its end", unix.IPPROTO_TCP, 0x19, 3000, 1000},
			{"most of TCP", unix.IPPROTO_TCP, 0x18, 65_000, 1428},
			{"one TCP segment", unix.IPPROTO_TCP, 0x18, 777, 1428},
			{"UDP", unix.IPPROTO_UDP, 0, 11_001, 1200},
			{"one UDP datagram", unix.IPPROTO_UDP, 0, 1001, 1200},
		} {
			t.Run(fmt.Sprintf("%s over IPv%d", test.name, version), func(t *testing.T) {
				frame := emulator.Frame(version, test.protocol, test.flags, test.payload, test.size)
				if _, err := in.Write(frame); err != nil {
					t.Fatal(err)
				}
				hop(frame[10:])
				want, err := emulator.Cut(frame)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					if got := next(t, out, version, test.protocol); !bytes.Equal(got, w) {
						t.Fatalf("packet %d of %d from Linux:\n%x\nfrom the emulator:\n%x", i, len(want), got, w)
					}
				}
			})
		}
	}
}

// next returns the next packet of a protocol.
func next(t *testing.T, device *os.File, version int, protocol uint8) []byte {
	t.Helper()
	if err := device.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for buffer := make([]byte, 70_000); ; {
		n, err := device.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		p := buffer[10:n]
		if at := map[int]int{4: 9, 6: 6}[version]; int(p[0]>>4) == version && p[at] == protocol {
			return p
		}
	}
}

// hop does to a packet what a router does.
func hop(p []byte) {
	if p[0]>>4 == 6 {
		p[7]--
		return
	}
	p[8]--
	old := binary.BigEndian.Uint16(p[10:])
	s := uint32(old) + 0x100 // RFC 1141
	binary.BigEndian.PutUint16(p[10:], uint16(s+s>>16))
}

// router makes a namespace that forwards between two TUN devices.
func router(t *testing.T) (in, out *os.File) {
	n, err := lab.NewNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	err = n.Do(func() (err error) {
		if in, err = lab.AddTUN("in", address("198.18.0.1/24")); err != nil {
			return err
		}
		if out, err = lab.AddTUN("out", address("198.19.1.2/24")); err != nil {
			return err
		}
		for name, prefix := range map[string]string{"in": "fd01::1/64", "out": "fd02::1/64"} {
			device, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.AddrAdd(device, &netlink.Addr{IPNet: address(prefix), Flags: unix.IFA_F_NODAD}); err != nil {
				return err
			}
		}
		return errors.Join(
			os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0))
	})
	for _, device := range []*os.File{in, out} {
		t.Cleanup(func() { _ = device.Close() })
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

func address(prefix string) *net.IPNet {
	ip, network, _ := net.ParseCIDR(prefix)
	return &net.IPNet{IP: ip, Mask: network.Mask}
}
