package emulator

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// second is a network device of the emulator's own on the wire. The wire delivers packets as they
// were sent. One that a NAT has translated is therefore dropped, and sent a second time through this
// device with its new endpoints; the wire then delivers that one when the first was due.
type second struct {
	port    uint8
	socket  int
	address unix.RawSockaddrInet4
	sent    []packet // in the order in which the wire will report them
}

const secondName = "wtnat"

// openSecond makes the device.
func openSecond(w *wire) (*second, error) {
	var name [unix.IFNAMSIZ]byte
	copy(name[:], secondName)
	port, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(w.fd), wireAdd, uintptr(unsafe.Pointer(&name[0])))
	if e != 0 {
		return nil, fmt.Errorf("make network device %s for a NAT: %w", secondName, e)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return nil, fmt.Errorf("open a raw socket for a NAT: %w", err)
	}
	request, err := unix.NewIfreq(secondName)
	if err == nil {
		request.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
	}
	if err == nil {
		err = unix.BindToDevice(socket, secondName)
	}
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	}
	if err != nil {
		return nil, fmt.Errorf("send through network device %s: %w", secondName, err)
	}
	return &second{port: uint8(port), socket: socket, address: unix.RawSockaddrInet4{Family: unix.AF_INET}}, nil
}

// send sends a packet, whose IP header is its own.
func (s *second) send(packet []byte) bool {
	copy(s.address.Addr[:], packet[destination4:])
	_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.socket), uintptr(unsafe.Pointer(&packet[0])), uintptr(len(packet)), 0,
		uintptr(unsafe.Pointer(&s.address)), unsafe.Sizeof(s.address))
	return e == 0
}

// sendAgain sends a translated packet, on whose first form the verdict is to drop it.
func (l *loop) sendAgain(p packet) {
	if !l.second.send(p.data) {
		l.report.WriteErrors++
		l.free = append(l.free, p.data[:maxPacket])
		return
	}
	l.second.sent = append(l.second.sent, p)
}

// takeTranslated takes the packets that were sent again, at once: they are due when the first ones
// were. It reports whether somebody rang meanwhile.
func (l *loop) takeTranslated() (rung bool, err error) {
	for l.second != nil && len(l.second.sent) > 0 {
		again, err := l.wire.turn(0, 0, false)
		if err != nil {
			return rung, err
		}
		rung = rung || again
		l.take()
	}
	return rung, nil
}

// forward has the wire deliver a packet that was sent again.
func (l *loop) forward(e event) {
	if len(l.second.sent) == 0 { // nothing but the emulator sends there; but then it must go somewhere
		l.wire.verdicts = append(l.wire.verdicts, verdict{due: -1, id: e.id})
		return
	}
	p := l.second.sent[0]
	l.second.sent = l.second.sent[1:]
	l.wire.verdicts = append(l.wire.verdicts, verdict{due: p.due, id: e.id, port: uint32(p.link.to)})
	l.away[e.id] = p
}
