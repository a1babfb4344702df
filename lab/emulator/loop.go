package emulator

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"wiretime/network"
)

// maxPacket is the size of a packet buffer; the TUN devices' MTU is smaller.
const maxPacket = 2048

// link is one direction of an access link: it takes packets from one network device and
// delivers them to the other.
type link struct {
	access    int
	direction network.Direction
	from, to  int // file descriptors of TUN devices, or ports of the wire
	// The capture's interfaces at the sending and at the receiving end.
	sender, receiver int
}

// loop is the whole state of the emulator process. It has one thread and waits only in
// ppoll or, in virtual time, in a turn of the wire (virtual.go).
//
// network/emulation.go decides when a packet is due at the far end, if at all; this file
// carries it out: arrive asks for the decision, deliverDue executes it.
type loop struct {
	links  []link
	wire   *wire             // nil: the links lead to TUN devices
	away   map[uint32]packet // packets that the wire has yet to deliver, by id
	timer  int               // timerfd, absolute CLOCK_MONOTONIC
	expiry int64             // the timer's; 0: not set
	rang   bool              // the timer has fired since it was set
	rings  int64             // how often the timer has fired
	tardy  int64             // upper quartile of the timer's wake-up lateness, ns

	emulation *network.Emulation // nil: packets pass at once
	epoch     int64              // CLOCK_MONOTONIC ns of the path's time zero; 0: no packet yet
	toUnix    int64              // offset from CLOCK_MONOTONIC to the Unix epoch, ns
	pending   deliveries
	number    uint64
	free      [][]byte
	report    Report
	waited    int64 // run-queue wait when the path was armed
	record    *recorder

	load occupation

	lastArrival           int64
	settleQuiet, settleBy int64 // settleBy 0: not waiting
}

// Main is the emulator process. It serves the control socket until that is
// closed.
func Main() error {
	runtime.LockOSThread()
	_ = os.WriteFile("/proc/self/comm", []byte("emulator"), 0) // its name in lists of processes, if there is /proc
	// Garbage is collected only between loads, so that it cannot delay packets.
	debug.SetGCPercent(-1)
	becomeUrgent()
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make the emulator's timer: %w", err)
	}
	return (&loop{timer: timer}).run()
}

// A path with more than busy packets on it is read in batches.
const (
	busy  = 16
	batch = 16
)

// run is the loop. It uses raw system calls to bypass the Go scheduler: a regular call
// would release the processor and have to reacquire it.
func (l *loop) run() error {
	var polls [2 + 2*maxAccess]unix.PollFd
	for l.wire == nil {
		next := l.deadline()
		wake := next - l.early()
		if next != 0 && wake != l.expiry {
			set := unix.ItimerSpec{Value: unix.NsecToTimespec(wake)}
			_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(l.timer), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
			l.expiry, l.rang = wake, false
		}
		polls[0] = unix.PollFd{Fd: controlFD, Events: unix.POLLIN}
		polls[1] = unix.PollFd{Fd: -1, Events: unix.POLLIN}
		if next != 0 {
			// A timer that has fired stays readable until it is set again, so the loop polls it only
			// while it is needed.
			polls[1].Fd = int32(l.timer)
		}
		for i := range l.links {
			polls[2+i] = unix.PollFd{Fd: int32(l.links[i].from), Events: unix.POLLIN}
		}
		l.record.flushIfIdle(next)
		before := now()
		_, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&polls[0])), uintptr(2+len(l.links)), 0, 0, 0, 0)
		if e != 0 && e != unix.EINTR {
			return fmt.Errorf("wait for packets: %w", e)
		}
		woke := now()
		l.load.note(before, woke)
		if e == 0 && polls[1].Revents != 0 && !l.rang {
			l.rang = true
			l.learn(woke - l.expiry)
		}
		if e == 0 {
			for i := range l.links {
				if polls[2+i].Revents == 0 {
					continue
				}
				// A final read that finds nothing costs a system call; on a busy path most reads find a
				// packet.
				for n := 0; l.arrive(&l.links[i], woke) && len(l.pending) > busy && n < batch; n++ {
				}
			}
		}
		l.deliverDue(woke)
		l.settle(woke)
		if polls[0].Revents != 0 && e == 0 {
			if done, err := l.control(); done || err != nil {
				return err
			}
		}
	}
	return l.runWire()
}

// An idle processor sleeps, and in a virtual machine it takes a fifth of a millisecond to
// wake. Therefore the timer is set that much early, and after it fires the loop spins until
// the packet is due, since the timer stays readable. A busy processor, and one in virtual
// time, wakes at once; then the timer is not set early and nothing spins.
const (
	maxEarly   = 300_000 // ns
	worthEarly = 20_000  // ns: less is not worth a spin
)

func (l *loop) early() int64 {
	if l.tardy < worthEarly {
		return 0
	}
	return l.tardy
}

// learn moves tardy towards the upper quartile of the observed lateness: three steps up
// weigh as much as one step down. Steps start large and soon become so small that outliers
// do not matter.
func (l *loop) learn(late int64) {
	l.rings++
	step := max(2_000, 60_000/l.rings)
	if late > l.tardy {
		l.tardy = min(l.tardy+3*step, maxEarly)
	} else {
		l.tardy = max(l.tardy-step, 0)
	}
}

// deadline returns the next moment at which something is due, or 0.
func (l *loop) deadline() int64 {
	next := int64(0)
	if len(l.pending) > 0 {
		next = l.pending[0].due
	}
	if l.settleBy != 0 {
		quiet := min(l.settleBy, l.lastArrival+l.settleQuiet)
		if next == 0 || quiet < next {
			next = quiet
		}
	}
	return next
}

// arrive takes one packet from a host and lets the path decide on it. It reports whether
// there was one.
func (l *loop) arrive(k *link, at int64) bool {
	buffer := l.buffer()
	n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(k.from), uintptr(unsafe.Pointer(&buffer[0])), maxPacket)
	if e != 0 || n == 0 {
		l.free = append(l.free, buffer)
		return false
	}
	data := buffer[:n]
	if l.emulation == nil {
		l.lastArrival = at
		l.write(k.to, data)
		l.free = append(l.free, buffer)
		return true
	}
	due, fate := l.decide(k, at, data)
	if fate != network.Delivered {
		l.free = append(l.free, buffer)
		return true
	}
	l.pending.push(packet{due: due, number: l.number, link: k, data: data})
	return true
}

// decide lets the armed path decide on a packet that arrived at at, and numbers and records
// it. due is in CLOCK_MONOTONIC ns.
func (l *loop) decide(k *link, at int64, data []byte) (due int64, fate network.Fate) {
	l.lastArrival = at
	if l.epoch == 0 {
		l.epoch = at
		l.report.Epoch = at + l.toUnix
		_ = send(reply{Event: eventEpoch}) // if the owner is gone, the next poll of the socket shows it
	}
	l.number++
	l.report.Arrived[k.direction]++
	due, fate = l.emulation.Arrive(k.access, k.direction, at-l.epoch, len(data))
	due += l.emulation.Far(server(k.direction, data))
	l.record.sent(k, at+l.toUnix, l.number, fate, data)
	if fate != network.Delivered {
		l.report.Dropped[fate.String()]++
	}
	return l.epoch + due, fate
}

// deliverDue delivers every packet that is due.
func (l *loop) deliverDue(at int64) {
	for len(l.pending) > 0 && l.pending[0].due <= at {
		p := l.pending.pop()
		at = now()
		l.report.LateMax = max(l.report.LateMax, at-p.due)
		l.deliver(p, at)
	}
}

func (l *loop) deliver(p packet, at int64) {
	l.delivered(p, at, l.write(p.link.to, p.data))
}

// delivered counts and records a packet that the network device accepted or refused.
func (l *loop) delivered(p packet, at int64, accepted bool) {
	if accepted {
		l.report.Delivered[p.link.direction]++
	} else {
		l.report.WriteErrors++
	}
	l.record.received(p.link, at+l.toUnix, p.number, at-p.due, p.data)
	l.free = append(l.free, p.data[:maxPacket])
}

func (l *loop) write(fd int, data []byte) bool {
	_, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)))
	return e == 0
}

func (l *loop) buffer() []byte {
	if n := len(l.free); n > 0 {
		b := l.free[n-1]
		l.free = l.free[:n-1]
		return b[:maxPacket]
	}
	return make([]byte, maxPacket)
}

// settle answers a pending request to wait for silence on the path.
func (l *loop) settle(at int64) {
	if l.settleBy != 0 && (at >= l.settleBy || at >= l.lastArrival+l.settleQuiet) {
		l.settleBy = 0
		_ = send(reply{})
	}
}

// stop delivers what is still on the path, ends the emulation and reports.
func (l *loop) stop() (Report, error) {
	if l.wire != nil {
		if err := l.letGo(); err != nil {
			return Report{}, err
		}
	}
	for len(l.pending) > 0 {
		p := l.pending.pop()
		l.report.Released++
		if at := now(); at < p.due {
			l.write(p.link.to, p.data) // after the load's end: not part of its capture
			l.free = append(l.free, p.data[:maxPacket])
		} else {
			l.deliver(p, at)
		}
	}
	if l.record != nil {
		l.report.Uncaptured = l.record.missed
	}
	if err := l.record.close(); err != nil {
		l.report.CaptureError = err.Error()
	}
	l.report.RunQueueWait = runQueueWait() - l.waited
	l.report.Scheduling = scheduling()
	l.emulation, l.record = nil, nil
	r := l.report
	runtime.GC()
	return r, nil
}
