package emulator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/network"
)

// newLoop returns a loop with one access link, whose network devices are sockets that keep frames apart, and their
// other ends.
func newLoop(t *testing.T, path network.Path) (l *loop, client, server int) {
	t.Helper()
	pair := func() [2]int {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			t.Cleanup(func() { _ = unix.Close(fd) })
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20); err != nil {
				t.Fatal(err)
			}
		}
		return fds
	}
	near, far := pair(), pair()
	emulation, err := path.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	l = &loop{emulation: emulation, epoch: 1, frame: make([]byte, maxFrame), report: Report{Dropped: map[string]int64{}}}
	l.links = []link{
		{direction: network.Up, from: near[1], to: far[1], sender: 0, receiver: 1, train: &train{datagrams: true}},
		{direction: network.Down, from: far[1], to: near[1], sender: 1, receiver: 0, train: &train{datagrams: true}},
	}
	return l, near[0], far[0]
}

func tenMS(rate network.BitRate) network.Path {
	link := network.Link{Rate: rate, Delay: 10 * time.Millisecond}
	return network.Path{Name: "ten", Access: []network.Access{{Name: "access", Up: link, Down: link}}}
}

// TestFramesOnTheWayOfPackets sends one frame of TCP segments. They are so many packets for the path, each with its own time
// and its own records, and leave in as few frames as their times allow.
func TestFramesOnTheWayOfPackets(t *testing.T) {
	original := segments{4, unix.IPPROTO_TCP, 12, ack | psh, 20 * 1448, 1448}.frame()
	for _, test := range []struct {
		name   string
		rate   network.BitRate
		frames int // in which they leave if the loop is so late that all are due
	}{
		{"no limit", 0, 1},
		{"10 Gbit/s, 1.2 us apart", 10_000_000_000, 1},
		{"1 Gbit/s, 12 us apart", 1_000_000_000, 3},   // 9, 9 and 2 within 100 us
		{"100 Mbit/s, 120 us apart", 100_000_000, 20}, // each alone
	} {
		t.Run(test.name, func(t *testing.T) {
			l, client, server := newLoop(t, tenMS(test.rate))
			if _, err := unix.Write(client, original); err != nil {
				t.Fatal(err)
			}
			at := now()
			l.epoch = at
			l.readFrom(&l.links[0], at)
			if l.report.Arrived[network.Up] != 20 || len(l.pending) != 20 {
				t.Fatalf("%d packets arrived, %d are on the path; want 20", l.report.Arrived[network.Up], len(l.pending))
			}
			for first := l.pending[0]; len(first.data) > 0; first.data = nil {
				size := int64(len(first.data)) * 8
				want := at + int64(10*time.Millisecond)
				if test.rate > 0 {
					want += (size*int64(time.Second) + int64(test.rate) - 1) / int64(test.rate)
				}
				if first.due != want {
					t.Errorf("the first packet is due %d ns after it arrived, want %d", first.due-at, want-at)
				}
			}
			l.deliverDue(at + int64(time.Second))
			packets, frames := 0, 0
			for buffer := make([]byte, maxFrame); ; frames++ {
				n, err := unix.Read(server, buffer)
				if err != nil {
					break
				}
				cut, err := Cut(buffer[:n])
				if err != nil {
					t.Fatal(err)
				}
				packets += len(cut)
			}
			if packets != 20 || frames != test.frames || l.report.Delivered[network.Up] != 20 {
				t.Errorf("%d packets came in %d frames, %d were delivered; want 20 in %d", packets, frames, l.report.Delivered[network.Up], test.frames)
			}
		})
	}
}

// TestPacketsCostNoAllocation passes frames of many packets, of one, and malformed ones, over a path with random loss, and records them:
// after the first ones nothing is allocated.
func TestPacketsCostNoAllocation(t *testing.T) {
	path := tenMS(1_000_000_000)
	path.Access[0].Up.Loss = network.Loss{Rate: 0.1}
	l, client, server := newLoop(t, path)
	file, err := os.Create(filepath.Join(t.TempDir(), "capture"))
	if err != nil {
		t.Fatal(err)
	}
	l.record = newRecorder(file, realBlock, l.interfaces(1), config{})
	frames := [][]byte{
		segments{4, unix.IPPROTO_TCP, 12, ack | psh, 40 * 1448, 1448}.frame(),
		segments{4, unix.IPPROTO_UDP, 0, 0, 1200, 1300}.frame(),
		make([]byte, 5),
	}
	buffer := make([]byte, maxFrame)
	pass := func() {
		for _, f := range frames {
			if _, err := unix.Write(client, f); err != nil {
				t.Fatal(err)
			}
			l.readFrom(&l.links[0], now())
		}
		l.deliverDue(now() + int64(time.Second))
		for n := 1; n > 0; n, err = unix.Read(server, buffer) {
		}
	}
	for range 50 { // queues and lists grow
		pass()
	}
	before := l.report.Delivered[network.Up]
	if n := testing.AllocsPerRun(100, pass); n != 0 {
		t.Errorf("41 packets and a malformed frame make the loop allocate %v times", n)
	}
	if delivered := l.report.Delivered[network.Up] - before; delivered < 101*41*8/10 || l.report.Malformed == 0 || l.report.Dropped["random loss"] == 0 {
		t.Errorf("%d packets were delivered, %+v", delivered, l.report)
	}
	if err := l.record.close(); err != nil {
		t.Error(err)
	}
}

// TestTimerFollowsTheDeadline: with few packets on a path the loop wakes for each; with many it rests after a delivery, if it is
// never idle otherwise.
func TestTimerFollowsTheDeadline(t *testing.T) {
	for _, test := range []struct {
		name      string
		tired     bool
		packets   int
		delivered int64 // ns before now
		due       int64 // ns from now
		early     int64
		want      int64 // ns from now
	}{
		{"few packets", true, busy, 10_000, 50_000, 0, 50_000},
		{"few packets, on a machine that wakes late", true, busy, 10_000, 50_000_000, 200_000, 49_800_000},
		{"many packets, and time to wait", false, busy + 1, 10_000, 50_000, 0, 50_000},
		{"many packets", true, busy + 1, 10_000, 50_000, 0, rest - 10_000},
		{"many packets, on a machine that wakes late", true, busy + 1, 10_000, 50_000, 200_000, rest - 10_000},
		{"many packets, due after the rest", true, busy + 1, 10_000, 150_000, 0, 150_000},
		{"many packets, rested", true, busy + 1, rest, 50_000, 0, 50_000},
	} {
		const at = 1_000_000_000
		l := &loop{delivery: at - test.delivered, tardy: test.early, load: occupation{tired: test.tired}}
		for i := range test.packets {
			l.pending.push(packet{due: at + test.due, number: uint64(i)})
		}
		if wake := l.wake(l.deadline()); wake != at+test.want {
			t.Errorf("%s: the loop wakes in %d ns, want %d", test.name, wake-at, test.want)
		}
	}
}
