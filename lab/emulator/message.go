// Package emulator is the process that carries packets between a lab's TUN devices and, by
// network.Emulation, decides when each one leaves.
//
// It is a separate process with one thread and one loop (loop.go), because other work in
// the same process (garbage collection, goroutines, TLS) would delay packets. Its owner
// controls it over a socket (process.go).
package emulator

import (
	"time"

	"wiretime/network"
)

// Command is the first argument that makes a program run as the emulator; see Main.
const Command = "emulator-process"

// controlFD is the emulator's descriptor of the control socket.
const controlFD = 3

// op names what a request asks for.
type op string

const (
	opOpen   op = "open"   // take the network devices: client and server side of each access link in turn
	opArm    op = "arm"    // start to emulate a path; files: config, then the capture if there is one
	opSettle op = "settle" // answer when no packet has arrived for a while
	opWatch  op = "watch"  // stop the monitor thread of the owner
	opAttach op = "attach" // take the third node's network device, or its port of the wire
	opOrder  op = "order"  // change the armed path from now on
	opStop   op = "stop"   // end the emulation, deliver everything queued, report
)

// request is one message to the emulator. Files are passed along with it.
type request struct {
	Op op
	// Wire and Links belong to opOpen. If Wire is set, the only file is the wire of the given
	// number of access links; otherwise the files are TUN devices.
	Wire  bool
	Links int
	// PID belongs to opWatch.
	PID int
	// Quiet and Limit belong to opSettle, in nanoseconds: the silence to wait for, and the
	// longest wait. If Past is set, silence before the request counts.
	Quiet, Limit int64
	Past         bool
	// Order belongs to opOrder.
	Order *Order `json:",omitempty"`
	// Capture belongs to opArm: a second file holds the capture.
	Capture bool
}

// config is the content of opArm's first file. It is a file because a path with a long
// delivery trace does not fit into a message.
type config struct {
	Path    network.Path
	Seed    uint64
	Comment string
	Keep    Keep
	Most    int64         `json:",omitzero"`
	From    time.Duration `json:",omitzero"` // the path's time at the first packet
}

// Outgrown is the report's CaptureError of a capture that was to become larger than
// Recording.Most.
const Outgrown = "the capture would become too large"

// Keep limits a capture. Zero means everything.
type Keep struct {
	// Octets limits the octets kept of each packet, from its beginning.
	Octets int
	// Packets limits the packet records to the first ones; a delivered packet has two.
	Packets int
}

// reply is one message from the emulator: the answer to a request or, if Event is set, an
// event.
type reply struct {
	Event  string
	Err    string
	Report *Report
}

// eventEpoch is sent when the first packet of an armed path has arrived.
const eventEpoch = "epoch"

// Report summarises the emulator's work between Arm and Stop.
type Report struct {
	// Epoch is the path's time zero, the arrival of the first packet, in ns since the Unix
	// epoch; 0 if there was none.
	Epoch int64
	// Arrived and Delivered count packets by direction (network.Up, network.Down).
	Arrived, Delivered [2]int64
	// Dropped counts packets by fate, named as network.Fate.String does.
	Dropped map[string]int64
	// Released counts packets that were still on the path at Stop and were delivered at once.
	Released int64
	// Malformed counts frames of a TUN device that were dropped because no network card could have
	// sent them.
	Malformed int64 `json:",omitzero"`
	// Control counts delivered packets from and to the third node. The other counts leave them out.
	Control int64 `json:",omitzero"`
	// WriteErrors counts packets that a TUN device refused.
	WriteErrors int64
	// LateMax is the greatest emulator lateness of a delivery, in ns.
	LateMax int64
	// RunQueueWait is how long the emulator's thread was runnable without a processor, in ns,
	// as the kernel accounts for it.
	RunQueueWait int64
	// Scheduling is the scheduling class that the machine granted.
	Scheduling string
	// Uncaptured counts packet records missing from the capture because of Keep.Packets.
	Uncaptured int64
	// CaptureError says why the capture is incomplete; empty if it is complete.
	CaptureError string
}
