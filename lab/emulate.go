package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/machine"
	"wiretime/network"
)

// begin makes the lab ready for a load over a path.
func (l *Lab) begin(path network.Path, tcp TCPOptions) error {
	if n := len(path.Access); n > l.config.AccessLinks {
		return fmt.Errorf("path %s has %d access links, this lab was built with %d", path.Name, n, l.config.AccessLinks)
	}
	if err := l.setRoutes(tcp); err != nil {
		return err
	}
	if err := l.associate(path); err != nil {
		return err
	}
	if !l.config.Virtual { // there its own rights do
		AskForUrgency(l.emulator.PID())
	}
	return nil
}

// makeCapture makes the file that the emulator writes to. It is in memory: a disk that
// is busy keeping the load before this one would make packets late.
func makeCapture() (*os.File, error) {
	raw, err := os.CreateTemp(Scratch, "capture-*.pcapng")
	if err != nil {
		return nil, fmt.Errorf("make the capture file: %w", err)
	}
	return raw, nil
}

// course is a path as it is to be emulated once, and what is told of it meanwhile.
type course struct {
	path      network.Path
	seed      uint64
	recording emulator.Recording
	programs  []int // processes that take part, beside this one and the emulator

	epoch     chan struct{}         // closed when the path's first packet has been sent
	handovers chan network.Handover // each one once the client is there; has room for all
}

func newCourse(path network.Path, seed uint64, r emulator.Recording) *course {
	return &course{path: path, seed: seed, recording: r, epoch: make(chan struct{}), handovers: make(chan network.Handover, len(path.Handovers()))}
}

// emulate has the path there while perform does its part, whose error becomes the
// record's, and closes the capture.
func (l *Lab) emulate(ctx context.Context, c *course, record *Record, perform func() error) error {
	if err := l.emulator.Arm(ctx, c.path, c.seed, c.recording); err != nil {
		return err
	}
	follow, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- l.follow(follow, c) }()

	metered := l.meter(c.programs)
	record.LoadError = perform()
	record.Taken = metered()
	stop()
	if err := <-followed; err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if record.LoadError == nil {
		if err := l.emulator.Settle(ctx, settleQuiet, settleLimit); err != nil {
			return err
		}
	}
	var err error
	if record.Emulator, err = l.emulator.Stop(ctx); err != nil {
		return err
	}
	if why := record.Emulator.CaptureError; why != "" {
		return fmt.Errorf("write the capture to memory, %s: %w", Scratch, captureFailure(why))
	}
	return nil
}

// meter begins to watch what others take of the processors. What it returns says what
// that was; in virtual time, where nobody else is, nil.
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

// captureFailure gives an error that came from another process its meaning back.
func captureFailure(text string) error {
	if strings.Contains(text, unix.ENOSPC.Error()) {
		return unix.ENOSPC
	}
	return errors.New(text)
}

// follow has the client's access links do what the path's do, counted from the path's
// first packet.
func (l *Lab) follow(ctx context.Context, c *course) (err error) {
	select {
	case <-l.emulator.Epoch():
		close(c.epoch)
	case <-ctx.Done():
		return nil
	}
	epoch := time.Now()
	list := moves(c.path)
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
			c.handovers <- *m.handover
		}
	}
	return nil
}
