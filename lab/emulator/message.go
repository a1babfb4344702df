// Package emulator is the process that carries packets between the TUN devices
// of a lab and decides, by network.Emulation, when each one leaves.
//
// It is a process of its own, with one thread and one loop (loop.go), because
// anything else that a program does (garbage collection, other goroutines,
// TLS) would make packets late. The program that owns it talks to it over a
// socket (process.go).
package emulator

import "wiretime/network"

// Command is the first argument of a program that is to run as the emulator;
// see Main.
const Command = "emulator-process"

// controlFD is where the emulator finds its end of the control socket.
const controlFD = 3

// op names what a request asks for.
type op string

const (
	opOpen   op = "open"   // take the network devices: client and server side of each access link in turn
	opArm    op = "arm"    // begin emulating a path; files: config, then the capture if there is one
	opSettle op = "settle" // answer when no packet has arrived for a while
	opWatch  op = "watch"  // stop the monitor thread of the owner
	opStop   op = "stop"   // end the emulation, let go of all that is queued, report
)

// request is one message to the emulator. Files travel beside it.
type request struct {
	Op op
	// Wire and Links belong to opOpen: its one file is the wire of so many
	// access links. Otherwise its files are TUN devices.
	Wire  bool
	Links int
	// PID belongs to opWatch.
	PID int
	// Quiet and Limit belong to opSettle, in nanoseconds: how long no packet
	// may have arrived, and how long to wait for that at most. With Past set,
	// silence before the request counts.
	Quiet, Limit int64
	Past         bool
	// Capture belongs to opArm: a second file holds the capture.
	Capture bool
}

// config is what opArm's first file holds. It is a file because a path with a
// long delivery trace does not fit a message.
type config struct {
	Path    network.Path
	Seed    uint64
	Comment string
	Keep    Keep
}

// Keep says how much goes into a capture. Zero is all of it.
type Keep struct {
	// Octets is how many octets of each packet are kept, from its beginning.
	Octets int
	// Packets is how many packet records are kept, the first ones: a packet that is
	// delivered has two.
	Packets int
}

// reply is one message from the emulator: the answer to a request or, with
// Event set, the news that the path's time has begun.
type reply struct {
	Event  string
	Err    string
	Report *Report
}

// eventEpoch is sent when the first packet of an armed path has arrived.
const eventEpoch = "epoch"

// Report says what the emulator did between Arm and Stop.
type Report struct {
	// Epoch is when the path's time zero was, in ns since the Unix epoch: the
	// arrival of the first packet. Zero when there was none.
	Epoch int64
	// Arrived and Delivered count packets by direction (network.Up, network.Down).
	Arrived, Delivered [2]int64
	// Dropped counts packets by fate, named as network.Fate.String does.
	Dropped map[string]int64
	// Released counts packets that were still on the path at Stop. They were
	// delivered at once.
	Released int64
	// WriteErrors counts packets that a TUN device refused.
	WriteErrors int64
	// LateMax is the worst lateness of a departure, in ns.
	LateMax int64
	// RunQueueWait is how long the emulator's thread was ready to run but did
	// not get a processor, in ns, as the kernel accounts for it.
	RunQueueWait int64
	// Scheduling is the scheduling class that the machine granted.
	Scheduling string
	// Uncaptured counts packet records that the capture lacks because of Keep.Packets.
	Uncaptured int64
	// CaptureError is why the capture is incomplete; empty when it is whole.
	CaptureError string
}
