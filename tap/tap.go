// Package tap records the packets of this machine's own network as the kernel shows them to packet sockets (packet(7)):
// those of connections that this machine opens while the tap is open.
//
// The kernel shows packets between its protocols and its network devices. There up to 64 kB of a connection may be one
// packet, which the device cuts later (segmentation offload), or which was put together from what the device received
// (GRO). The tap asks for what the kernel knows of that (PACKET_VNET_HDR) and cuts such packets into those of the wire. Packets
// that were put together have one time, that of the last of them.
package tap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"wiretime/panics"
)

// ErrForbidden says that this program may not open packet sockets: it lacks the capability CAP_NET_RAW.
var ErrForbidden = errors.New("no right to capture packets (CAP_NET_RAW)")

const (
	// buffer is how many octets may wait to be read. Without CAP_NET_ADMIN it is as much as net.core.rmem_max allows.
	buffer = 64 << 20
	// most is how many octets of packets a tap keeps.
	most = 256 << 20
	// largest is the size of the largest frame: struct virtio_net_hdr, a link header and a packet.
	largest = virtioHeader + ethernetHeader + 65536
)

// Tap is an open tap.
type Tap struct {
	socket int
	end    int // an eventfd
	done   chan struct{}
	failed error // of the goroutine that reads, when done is closed
	flows  *flows
}

// Open opens a tap on all network devices of this network namespace. The error wraps ErrForbidden if this program
// lacks the right to. The caller ends the tap with Stop.
func Open() (t *Tap, err error) {
	socket, err := openSocket()
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	end, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make an eventfd: %w", err), unix.Close(socket))
	}
	t = &Tap{socket: socket, end: end, done: make(chan struct{}), flows: newFlows()}
	go func() {
		defer close(t.done)
		t.failed = panics.Do(t.read)
	}()
	return t, nil
}

// openSocket returns a packet socket that has not yet received anything from before it was ready.
func openSocket() (int, error) {
	// Protocol 0 receives nothing until bind.
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) {
		return -1, ErrForbidden
	}
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
	}
	if err == nil && unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) != nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
	}
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)})
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(socket))
	}
	return socket, nil
}

// networkOrder returns a number whose octets in memory are those of v in network byte order.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Stop ends the tap and returns what it has recorded until now.
func (t *Tap) Stop() (*Recording, error) {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, err := unix.Write(t.end, one[:])
	if err != nil {
		return nil, fmt.Errorf("end the capture: %w", err) // the goroutine goes on, and so do its files
	}
	<-t.done
	statistics, err := unix.GetsockoptTpacketStats(t.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err = errors.Join(t.failed, err, unix.Close(t.socket), unix.Close(t.end)); err != nil {
		return nil, fmt.Errorf("capture packets: %w", err)
	}
	r := t.flows.recording
	r.Lost = int(statistics.Drops)
	return &r, nil
}

// read takes packets from the socket until the tap is to end, and then those that are there.
func (t *Tap) read() error {
	frame, control := make([]byte, largest), make([]byte, 256)
	for ending := false; ; {
		for {
			n, c, _, from, err := unix.Recvmsg(t.socket, frame, control, 0)
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if errors.Is(err, unix.ENETDOWN) { // a device went down; the socket goes on with the others
				continue
			}
			if err != nil {
				return err
			}
			if at, ok := from.(*unix.SockaddrLinklayer); ok {
				t.flows.add(frame[:n], at, timeOf(control[:c]))
			}
		}
		if ending {
			return nil
		}
		waits := []unix.PollFd{{Fd: int32(t.socket), Events: unix.POLLIN}, {Fd: int32(t.end), Events: unix.POLLIN}}
		if _, err := unix.Poll(waits, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		ending = waits[1].Revents != 0
	}
}

// timeOf returns when the kernel saw a packet, in ns since the Unix epoch, or 0 if it does not say.
func timeOf(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			ne := binary.NativeEndian
			return int64(ne.Uint64(m.Data))*1e9 + int64(ne.Uint64(m.Data[8:]))
		}
	}
	return 0
}

// deviceName returns the name of a network device.
func deviceName(index int) string {
	device, err := net.InterfaceByIndex(index)
	if err != nil {
		return fmt.Sprintf("device%d", index) // it is gone
	}
	return device.Name
}
