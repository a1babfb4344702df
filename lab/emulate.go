package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"wiretime/lab/emulator"
	"wiretime/machine"
	"wiretime/network"
	"wiretime/panics"
)

// settleQuiet is how long no packet may have arrived before a capture is
// closed. It is longer than Linux's delayed acknowledgement (40 ms) and QUIC's
// max_ack_delay (25 ms, RFC 9000 section 18.2), so the last data's
// acknowledgement is in the capture.
const settleQuiet = 45 * time.Millisecond

// settleLimit ends the wait for silence. What is still sent by then are pings, repeated
// acknowledgements, or retransmissions of data whose acknowledgement was lost.
const settleLimit = 50 * time.Millisecond

// quietLimit ends the wait for the silence that a task asks for.
const quietLimit = 30 * time.Second

// Task is what to do while a path is emulated.
type Task struct {
	Seed    uint64        // of the path's loss and jitter
	From    time.Duration // the path's time at its first packet; must be 0 for a path with handovers
	Keep    emulator.Keep // of the capture
	Comment string        // goes into the capture's header
	// Quiet is how long no packet may have arrived before the capture ends; 0: for as long as hosts hold back an
	// acknowledgement, and no more than 50 ms after Do. With a Quiet the wait has a limit of quietLimit.
	Quiet time.Duration
	// Programs are the processes that take part, besides this one and the emulator. Their
	// processor time does not count as taken by others.
	Programs []int
	// Do does it. The path is emulated until it returns, and then until the hosts are
	// silent. Its error becomes Report.LoadError.
	Do func(ctx context.Context, p Progress) error
}

// Progress tells a task how far its path is.
type Progress struct {
	// Epoch is closed when the path's first packet has been sent: the path's time 0.
	Epoch <-chan struct{}
	// Handovers delivers each handover of the path once the client is there: its packets
	// leave from the address of To.
	Handovers <-chan network.Handover
}

// Report is what the lab recorded of a task, besides the capture.
type Report struct {
	Emulator   emulator.Report
	Taken      *machine.Taken // processor time that others took meanwhile; nil in virtual time
	ClockSet   bool           // somebody set the machine's clock meanwhile: no two times can be compared
	DNSQueries int            // queries to the lab's DNS server since Hosts.Resolve
	From       time.Duration  `json:",omitzero"` // the path's time at its first packet, as in Task
	// LoadError is the error of Task.Do; nil if all went well.
	LoadError error `json:"-"`
}

// Run emulates the path and carries out a task meanwhile. It may be called again; the capture
// holds the packets of the last call. An error means that the lab itself failed, unless it wraps
// ErrOutgrown.
func (h *Hosts) Run(ctx context.Context, t Task) (*Report, error) {
	stopWatch, err := h.lab.watchClock()
	if err != nil {
		return nil, err
	}
	report, err := h.run(ctx, t)
	set, stopErr := stopWatch()
	if err = cmp.Or(err, stopErr); err != nil {
		return nil, err
	}
	report.ClockSet, report.From = set, t.From
	return report, nil
}

// watchClock starts to watch the machine's clock. The function that it returns ends the watch, and
// reports whether somebody set the clock. In virtual time nobody can.
func (l *Lab) watchClock() (stop func() (bool, error), err error) {
	if l.config.Virtual {
		return func() (bool, error) { return false, nil }, nil
	}
	watch, err := machine.WatchClock()
	return watch.Stop, err
}

func (h *Hosts) run(ctx context.Context, t Task) (*Report, error) {
	recording, err := h.startCapture(t.Comment, t.Keep)
	if err != nil {
		return nil, err
	}
	l, e := h.lab, newEmulation(h.path)
	err = l.emulator.ArmAt(ctx, h.path, t.From, t.Seed, recording)
	if h.spool != nil {
		err = errors.Join(err, recording.File.Close()) // the emulator has it, and its end ends the spool
	}
	if err != nil {
		return nil, err
	}
	follow, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- panics.Do(func() error { return l.follow(follow, e) }) }()

	report := &Report{}
	metered := l.meter(t.Programs)
	report.LoadError = panics.Do(func() error { return t.Do(ctx, Progress{e.epoch, e.handovers}) })
	report.Taken = metered()
	stop()
	if err := <-followed; err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if report.LoadError == nil {
		quiet, limit := settleQuiet, settleLimit
		if t.Quiet > 0 {
			quiet, limit = t.Quiet, quietLimit
		}
		if err := l.emulator.Settle(ctx, quiet, limit); err != nil {
			return nil, err
		}
	}
	if report.Emulator, err = l.emulator.Stop(ctx); err != nil {
		return nil, err
	}
	if err := h.endCapture(ctx, report.Emulator.CaptureError); err != nil {
		return nil, err
	}
	report.DNSQueries = l.names.asked()
	return report, nil
}

// meter starts to measure how much processor time other programs take. The function that it
// returns gives the result; nil in virtual time, where there are no others.
func (l *Lab) meter(programs []int) func() *machine.Taken {
	if l.config.Virtual {
		return func() *machine.Taken { return nil }
	}
	m := machine.Meter{Programs: append(programs, l.emulator.PID()), Awake: l.config.Awake}
	before := m.Read()
	return func() *machine.Taken {
		taken := m.Read().Since(before)
		return &taken
	}
}

// emulation is a path while it is emulated.
type emulation struct {
	path      network.Path
	epoch     chan struct{}
	handovers chan network.Handover // has room for all
}

func newEmulation(path network.Path) *emulation {
	return &emulation{path: path, epoch: make(chan struct{}), handovers: make(chan network.Handover, len(path.Handovers()))}
}

// follow changes the client's access links when the path's change, in time since the path's
// first packet.
func (l *Lab) follow(ctx context.Context, e *emulation) (err error) {
	select {
	case <-l.emulator.Epoch():
		close(e.epoch)
	case <-ctx.Done():
		return nil
	}
	epoch := time.Now()
	list := moves(e.path)
	if len(list) == 0 {
		return nil
	}
	clock, err := newAlarm()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clock.close()) }()
	for _, m := range list {
		if err := clock.wait(ctx, epoch.Add(m.at)); err != nil || ctx.Err() != nil {
			return err
		}
		if err := l.move(m); err != nil {
			return fmt.Errorf("hand the client over at %v: %w", m.at, err)
		}
		if m.handover != nil {
			e.handovers <- *m.handover
		}
	}
	return nil
}
