package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/network"
)

// maxAccess bounds the access links of a path.
const maxAccess = 8

// control reads and executes one request. done means that the owner has closed the socket.
func (l *loop) control() (done bool, err error) {
	message, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4*2*maxAccess))
	n, rn, _, _, err := unix.Recvmsg(controlFD, message, rights, unix.MSG_CMSG_CLOEXEC)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil || n == 0 {
		return true, nil //nolint:nilerr // a broken socket means that the owner is gone
	}
	files, err := received(rights[:rn])
	if err != nil {
		return true, err
	}
	var r request
	if err := json.Unmarshal(message[:n], &r); err != nil {
		return true, fmt.Errorf("read a request: %w", err)
	}
	switch r.Op {
	case opOpen:
		if r.Wire {
			return false, answer(nil, l.openWire(files, r.Links))
		}
		return false, answer(nil, l.open(files))
	case opArm:
		return false, answer(nil, l.arm(files, r.Capture))
	case opSettle:
		l.settleQuiet, l.settleBy = r.Quiet, now()+r.Limit
		if !r.Past {
			l.lastArrival = now()
		}
		return false, nil
	case opAttach:
		return false, answer(nil, l.attach(files))
	case opOrder:
		if r.Order == nil {
			return false, answer(nil, errors.New("the order is missing"))
		}
		return false, answer(nil, l.order(*r.Order))
	case opWatch:
		_, err := stopMonitor(r.PID)
		return false, answer(nil, err)
	case opStop:
		if l.emulation == nil {
			return false, answer(nil, errors.New("no path is armed"))
		}
		report, err := l.stop()
		return false, answer(&report, err)
	}
	return true, fmt.Errorf("unknown request %q", r.Op)
}

func received(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// open takes ownership of the TUN devices.
func (l *loop) open(tuns []int) error {
	if len(tuns) == 0 || len(tuns)%2 != 0 || len(tuns) > 2*maxAccess {
		return fmt.Errorf("%d TUN devices: want two for each of 1 to %d access links", len(tuns), maxAccess)
	}
	l.frame = make([]byte, maxFrame)
	for i := 0; i < len(tuns); i += 2 {
		client, server := tuns[i], tuns[i+1]
		up, down := &train{}, &train{}
		for _, end := range []struct {
			fd   int
			into *train
		}{{client, down}, {server, up}} {
			if err := unix.SetNonblock(end.fd, true); err != nil {
				return err
			}
			if err := end.into.offload(end.fd); err != nil {
				return err
			}
		}
		l.links = append(l.links,
			link{access: i / 2, direction: network.Up, from: client, to: server, sender: i, receiver: i + 1, train: up},
			link{access: i / 2, direction: network.Down, from: server, to: client, sender: i + 1, receiver: i, train: down})
	}
	return nil
}

// openWire takes ownership of the device that carries the packets of the given number of
// access links.
func (l *loop) openWire(files []int, links int) error {
	if len(files) != 1 || links < 1 || links > maxAccess {
		return fmt.Errorf("%d files and %d access links: want one file, 1 to %d links", len(files), links, maxAccess)
	}
	l.wire, l.away = newWire(files[0]), map[uint32]packet{}
	for i := range links {
		client, server := 2*i, 2*i+1 // so that a link's index is its packets' source port
		l.links = append(l.links,
			link{access: i, direction: network.Up, from: client, to: server, sender: client, receiver: server},
			link{access: i, direction: network.Down, from: server, to: client, sender: server, receiver: client})
	}
	return nil
}

// arm starts to emulate the path that the first file describes.
func (l *loop) arm(files []int, withCapture bool) error {
	opened := make([]*os.File, len(files))
	for i, fd := range files {
		opened[i] = os.NewFile(uintptr(fd), "armed")
	}
	if len(opened) == 0 || withCapture && len(opened) != 2 {
		return fmt.Errorf("%d files came with the path", len(opened))
	}
	defer opened[0].Close()
	var c config
	if err := json.NewDecoder(io.NewSectionReader(opened[0], 0, 1<<40)).Decode(&c); err != nil {
		return fmt.Errorf("read the path: %w", err)
	}
	if 2*len(c.Path.Access) > len(l.links) {
		return fmt.Errorf("path %s has %d access links, this lab has %d", c.Path.Name, len(c.Path.Access), len(l.links)/2)
	}
	emulation, err := c.Path.StartAt(c.From, c.Seed)
	if err != nil {
		return err
	}
	l.emulation, l.epoch, l.number = emulation, 0, 0
	l.nat = newNAT(emulation.Rebindings())
	if l.wire != nil && l.nat != nil && l.second == nil {
		if l.second, err = openSecond(l.wire); err != nil {
			return fmt.Errorf("path %s: %w", c.Path.Name, err)
		}
	}
	l.load.tired = false
	l.report = Report{Dropped: map[string]int64{}}
	l.toUnix = capture.UnixOffset()
	l.waited = runQueueWait()
	if withCapture {
		block := realBlock
		if l.wire != nil {
			block = virtualBlock
		}
		l.record = newRecorder(opened[1], block, l.interfaces(len(c.Path.Access)), c)
	}
	return nil
}

func answer(report *Report, err error) error {
	r := reply{Report: report}
	if err != nil {
		r.Err = err.Error()
	}
	return send(r)
}

func send(r reply) error {
	message, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for {
		_, err = unix.Write(controlFD, message)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
