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
	train            *train // what is being delivered; nil on the wire
	control          bool   // its packets are from or to the third node
}

// loop is the whole state of the emulator process. It has one thread and waits only in
// ppoll or, in virtual time, in a turn of the wire (virtual.go).
//
// network/emulation.go decides when a packet is due at the far end, if at all; this file
// carries it out: arrive asks for the decision, deliverDue executes it.
type loop struct {
	links  []link
	node   *node             // nil without a third one
	wire   *wire             // nil: the links lead to TUN devices
	away   map[uint32]packet // packets that the wire has yet to deliver, by id
	second *second           // nil until a path has a NAT in virtual time
	frame  []byte            // the last one read from a TUN device
	cutter cutter            // of the frame
	timer  int               // timerfd, absolute CLOCK_MONOTONIC
	expiry int64             // the timer's; 0: not set
	rings  int64             // how often the timer has fired
	tardy  int64             // upper quartile of the timer's wake-up lateness, ns

	emulation   *network.Emulation // nil: packets pass at once
	nat         *nat               // of a path with rebindings
	epoch       int64              // CLOCK_MONOTONIC ns of the path's time zero; 0: no packet yet
	toUnix      int64              // offset from CLOCK_MONOTONIC to the Unix epoch, ns
	pending     deliveries
	delivery    int64 // when packets were last delivered
	number      uint64
	free        [][]byte
	translation []byte // of a packet from a server
	report      Report
	waited      int64 // run-queue wait when the path was armed
	record      *recorder

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

// A path with more than busy packets on it is read in batches. A loop that is hardly ever idle
// rests on such a path between two deliveries, as network cards do between two interrupts: what is
// due meanwhile is up to rest late. A timed wake-up may cost a virtual machine 20 us of processor time,
// more than a packet of a fast link. Full packets on a link of up to 120 Mbit/s are further apart, and
// leave on time.
const (
	busy  = 16
	batch = 64      // packets
	rest  = 100_000 // ns
)

// run is the loop. It uses raw system calls to bypass the Go scheduler: a regular call
// would release the processor and have to reacquire it.
func (l *loop) run() error {
	var polls [3 + 2*maxAccess]unix.PollFd
	for l.wire == nil {
		next := l.deadline()
		l.record.flushIfIdle(next)
		before := now()
		woke, err := l.wait(&polls, next, before)
		if err != nil {
			return err
		}
		l.load.note(before, woke)
		for i := range l.links {
			if polls[2+i].Revents != 0 {
				l.readFrom(&l.links[i], woke)
			}
		}
		if l.node != nil && polls[2+len(l.links)].Revents != 0 {
			l.arrive(nil, woke)
		}
		l.deliverDue(woke)
		l.settle(woke)
		if polls[0].Revents != 0 {
			if done, err := l.control(); done || err != nil {
				return err
			}
		}
	}
	return l.runWire()
}

// wait waits until there is something to read or, if next is not 0, it is nearly that time. It
// returns the time.
func (l *loop) wait(polls *[3 + 2*maxAccess]unix.PollFd, next, at int64) (woke int64, err error) {
	polls[0] = unix.PollFd{Fd: controlFD, Events: unix.POLLIN}
	polls[1] = unix.PollFd{Fd: -1, Events: unix.POLLIN}
	for i := range l.links {
		polls[2+i] = unix.PollFd{Fd: int32(l.links[i].from), Events: unix.POLLIN}
	}
	count := 2 + len(l.links)
	if l.node != nil {
		polls[count] = unix.PollFd{Fd: int32(l.node.from), Events: unix.POLLIN}
		count++
	}
	wake := l.wake(next)
	var limit *unix.Timespec
	if next != 0 && wake <= at {
		limit = &unix.Timespec{}
	} else if next != 0 {
		if wake != l.expiry {
			set := unix.ItimerSpec{Value: unix.NsecToTimespec(wake)}
			_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(l.timer), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
			l.expiry = wake
		}
		polls[1].Fd = int32(l.timer)
	}
	_, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&polls[0])), uintptr(count), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	woke = now()
	switch {
	case e == unix.EINTR:
		*polls = [3 + 2*maxAccess]unix.PollFd{}
	case e != 0:
		return woke, fmt.Errorf("wait for packets: %w", e)
	case polls[1].Revents != 0:
		l.learn(woke - l.expiry)
	}
	return woke, nil
}

// wake returns when to wake for what is due at next.
func (l *loop) wake(next int64) int64 {
	if rested := l.delivery + rest; l.load.tired && len(l.pending) > busy && next < rested {
		return rested
	}
	return next - l.early()
}

// readFrom takes packets from a host. A final read that finds nothing costs a system call; on a
// busy path most reads find a packet.
func (l *loop) readFrom(k *link, at int64) {
	for n := 0; n < batch; {
		packets := l.arrive(k, at)
		if n += packets; packets == 0 || len(l.pending) <= busy {
			return
		}
	}
}

// An idle processor sleeps, and in a virtual machine it takes a fifth of a millisecond to
// wake. Therefore the timer is set that much early, and after it fires the loop spins until
// the packet is due. A busy processor wakes at once; then the timer is not set early and
// nothing spins.
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

// arrive takes one frame from a host, with k nil from the third node, and lets the path decide on its
// packets. It returns how many there were.
func (l *loop) arrive(k *link, at int64) int {
	var from, to int
	if k == nil {
		from = l.node.from
	} else {
		from, to = k.from, k.to
	}
	n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(from), uintptr(unsafe.Pointer(&l.frame[0])), uintptr(len(l.frame)))
	if e != 0 || n == 0 {
		return 0
	}
	frame := l.frame[:n]
	if l.emulation == nil {
		l.lastArrival = at
		vectors := [...]unix.Iovec{vector(frame)}
		if k == nil {
			to = l.way(at, frame[min(n, frameHeader):]).to
		} else if l.forNode(frame[min(n, frameHeader):]) {
			to = l.node.from
		}
		write(to, vectors[:])
		return 1
	}
	if !l.cutter.begin(frame) {
		l.report.Malformed++
		return 1
	}
	for packets := 0; ; packets++ {
		buffer := l.buffer()
		data := l.cutter.next(buffer)
		if data == nil {
			l.free = append(l.free, buffer)
			return packets
		}
		if k == nil || l.forNode(data) {
			l.pass(k, at, data)
			continue
		}
		due, fate, _ := l.decide(k, at, data)
		if fate != network.Delivered {
			l.free = append(l.free, buffer)
			continue
		}
		l.pending.push(packet{due: due, number: l.number, link: k, data: data})
	}
}

// decide lets the armed path decide on a packet that arrived at at, and numbers and records
// it. due is in CLOCK_MONOTONIC ns. If the path's NAT translates the packet, which it does after it was
// recorded, translated is true.
func (l *loop) decide(k *link, at int64, data []byte) (due int64, fate network.Fate, translated bool) {
	l.lastArrival = at
	if l.epoch == 0 {
		l.epoch = at
		l.report.Epoch = at + l.toUnix
		_ = send(reply{Event: eventEpoch}) // if the owner is gone, the next poll of the socket shows it
	}
	l.number++
	l.report.Arrived[k.direction]++
	due, fate, translated = l.onPath(k, at-l.epoch, data)
	if fate != network.Delivered {
		l.report.Dropped[fate.String()]++
	}
	return l.epoch + due, fate, translated
}

// onPath sends a packet over the access link and through the NAT, and records it as it was sent.
func (l *loop) onPath(k *link, at int64, data []byte) (due int64, fate network.Fate, translated bool) {
	far := l.emulation.Far(server(k.direction, data))
	if k.direction == network.Down && l.nat != nil {
		l.translation = append(l.translation[:0], data...)
		var known bool
		if translated, known = l.nat.down(l.translation, l.emulation.Rebound(at)); !known {
			l.record.sent(k, l.epoch+at+l.toUnix, l.number, network.DroppedBinding, data)
			return 0, network.DroppedBinding, false
		}
	}
	due, fate = l.emulation.Arrive(k.access, k.direction, at, len(data))
	l.record.sent(k, l.epoch+at+l.toUnix, l.number, fate, data)
	switch {
	case fate != network.Delivered:
	case translated:
		copy(data, l.translation)
	case k.direction == network.Up && l.nat != nil:
		translated = l.nat.up(data, l.emulation.Rebound(due))
	}
	return due + far, fate, translated
}

// deliverDue delivers every packet that is due.
func (l *loop) deliverDue(at int64) {
	if len(l.pending) == 0 || l.pending[0].due > at {
		return
	}
	l.delivery = at
	for len(l.pending) > 0 && l.pending[0].due <= at {
		p := l.pending.pop()
		if !p.link.train.take(p) {
			l.deliver(p.link)
			p.link.train.take(p)
		}
	}
	for i := range l.links {
		if k := &l.links[i]; len(k.train.packets) > 0 {
			l.deliver(k)
		}
	}
	for _, k := range l.node.ways() {
		if len(k.train.packets) > 0 {
			l.deliver(k)
		}
	}
}

// deliver delivers the packets of a link's train.
func (l *loop) deliver(k *link) {
	at := now()
	accepted := write(k.to, k.train.frame())
	for _, p := range k.train.packets {
		l.report.LateMax = max(l.report.LateMax, at-p.due)
		l.delivered(p, at, accepted)
	}
	k.train.packets = k.train.packets[:0]
}

// delivered counts and records a packet that the network device accepted or refused.
func (l *loop) delivered(p packet, at int64, accepted bool) {
	if p.link.control {
		l.report.Control++
	} else if accepted {
		l.report.Delivered[p.link.direction]++
	} else {
		l.report.WriteErrors++
	}
	l.record.received(p.link, at+l.toUnix, p.number, at-p.due, p.data)
	l.free = append(l.free, p.data[:maxPacket])
}

func write(fd int, frame []unix.Iovec) bool {
	_, _, e := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&frame[0])), uintptr(len(frame)))
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
	l.report.Released += int64(len(l.pending))
	l.deliverDue(now())
	for len(l.pending) > 0 { // after the load's end: not part of its capture
		p := l.pending.pop()
		p.link.train.take(p)
		write(p.link.to, p.link.train.frame())
		p.link.train.packets = p.link.train.packets[:0]
		l.free = append(l.free, p.data[:maxPacket])
	}
	if l.record != nil {
		l.report.Uncaptured = l.record.missed
	}
	if err := l.record.close(); err != nil {
		l.report.CaptureError = err.Error()
	}
	l.report.RunQueueWait = runQueueWait() - l.waited
	l.report.Scheduling = scheduling()
	l.emulation, l.nat, l.record = nil, nil, nil
	r := l.report
	runtime.GC()
	return r, nil
}
