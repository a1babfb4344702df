package emulator

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WireDevice is a device of Wiretime's own kernel (kernel/patches describes its interface).
// It holds packets until the emulator has decided on them, and delivers each at its time.
const WireDevice = "/dev/wiretime"

// These are the device's requests, as Linux's _IOW, _IOWR and _IO encode them.
const (
	wireAdd     = 1<<30 | unix.IFNAMSIZ<<16 | 'W'<<8 // number 0
	wireTurn    = 3<<30 | 48<<16 | 'W'<<8 | 1
	wireRelease = 'W'<<8 | 2
	wireRing    = 'W'<<8 | 3
)

// turn is the device's struct wt_turn.
type turn struct {
	verdicts  uint64 // address
	events    uint64 // address
	nverdicts uint32
	size      uint32
	until     int64
	patience  int64
	nowait    uint32
	rung      uint32
}

// verdict is the device's struct wt_verdict.
type verdict struct {
	due  int64 // CLOCK_MONOTONIC, ns; negative: drop
	id   uint32
	port uint32
}

// event is the device's struct wt_event with the packet that follows it.
type event struct {
	time int64 // CLOCK_MONOTONIC, ns
	id   uint32
	port uint8
	kind uint8
	data []byte // of an arrival; valid until the next turn
}

// These are the events of a packet.
const (
	eventArrival  = 0
	eventDelivery = 1
	eventRefusal  = 2 // the receiving network device was down
)

const eventSize = 16

// OpenWire opens the device that carries a lab's packets in virtual time.
func OpenWire() (*os.File, error) {
	fd, err := unix.Open(WireDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s, which only Wiretime's kernel has: %w", WireDevice, err)
	}
	return os.NewFile(uintptr(fd), WireDevice), nil
}

// AddPort makes a network device with the given name in the calling thread's network
// namespace. The emulator expects the client's and the server's devices of each access link
// in turn.
func AddPort(wire *os.File, name string) error {
	var buffer [unix.IFNAMSIZ]byte
	copy(buffer[:unix.IFNAMSIZ-1], name)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, wire.Fd(), wireAdd, uintptr(unsafe.Pointer(&buffer[0])))
	if e != 0 {
		return fmt.Errorf("make network device %s: %w", name, e)
	}
	return nil
}

// ring makes the emulator look at its control socket.
func ring(wire *os.File) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, wire.Fd(), wireRing, 0); e != 0 {
		return fmt.Errorf("ring %s: %w", WireDevice, e)
	}
	return nil
}

// wire is the emulator's end of the device.
type wire struct {
	fd       int
	verdicts []verdict
	buffer   []byte
	rest     []byte // events of the last turn that next has not yet returned
}

// wireBuffer holds the events of a turn; the rest comes with the next turn.
const wireBuffer = 1 << 20

func newWire(fd int) *wire { return &wire{fd: fd, buffer: make([]byte, wireBuffer)} }

// turn sends the verdicts, waits, and receives the events. The wait ends at the time until
// (CLOCK_MONOTONIC ns; 0: never), when an arrival is patience ns old, or when somebody rings,
// which turn reports.
func (w *wire) turn(until, patience int64, wait bool) (rung bool, err error) {
	t := turn{
		nverdicts: uint32(len(w.verdicts)), size: uint32(len(w.buffer)), until: until, patience: patience,
		events: uint64(uintptr(unsafe.Pointer(&w.buffer[0]))),
	}
	if len(w.verdicts) > 0 {
		t.verdicts = uint64(uintptr(unsafe.Pointer(&w.verdicts[0])))
	}
	if !wait {
		t.nowait = 1
	}
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(w.fd), wireTurn, uintptr(unsafe.Pointer(&t)))
	runtime.KeepAlive(w)
	if e != 0 {
		return false, fmt.Errorf("take a turn of %s with %d verdicts: %w", WireDevice, len(w.verdicts), e)
	}
	w.verdicts = w.verdicts[:0]
	w.rest = w.buffer[:t.size]
	return t.rung != 0, nil
}

// next returns the turn's next event.
func (w *wire) next() (e event, ok bool) {
	if len(w.rest) < eventSize {
		return e, false
	}
	size := int(binary.NativeEndian.Uint16(w.rest[12:]))
	e = event{
		time: int64(binary.NativeEndian.Uint64(w.rest)), id: binary.NativeEndian.Uint32(w.rest[8:]),
		port: w.rest[14], kind: w.rest[15],
	}
	w.rest = w.rest[eventSize:]
	if e.kind == eventArrival {
		e.data = w.rest[:size]
		w.rest = w.rest[(size+7)&^7:]
	}
	return e, true
}

// release makes the device deliver all packets with a verdict at once.
func (w *wire) release() {
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(w.fd), wireRelease, 0)
}
