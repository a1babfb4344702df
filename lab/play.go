package lab

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"wiretime/lab/emulator"
	"wiretime/media/record"
	"wiretime/network"
)

// StreamFile is what a stream leaves in its folder beside the files of any load.
const StreamFile = "stream.json"

// Play says what to do that is not the load of a page, and over which path.
type Play struct {
	Path    network.Path
	Seed    uint64 // of the path's loss and jitter
	TCP     TCPOptions
	Keep    emulator.Keep // of the capture
	Dir     string        // the folder, which must exist, that receives the artefacts
	Comment string        // goes into the capture's header
	// Perform does it. It returns when it is over, having closed what it opened at the
	// client but for what it leaves to [Stage.After]. Its error is Record.LoadError.
	Perform func(ctx context.Context, s *Stage) error
}

// Stage is where a play is performed.
type Stage struct {
	Client, Server *Namespace
	Address        netip.Addr   // of the server
	Locals         []netip.Addr // the client's, by access link of the path
	KeyLog         io.Writer    // takes TLS keys in NSS key log format, for the capture
	// Epoch is closed when the path's first packet has been sent, from which the path
	// counts.
	Epoch <-chan struct{}
	// Handovers delivers each handover of the path once the client is there: its packets
	// leave from the address of To.
	Handovers <-chan network.Handover
	// Record is what Perform, and what runs after it, may add Stream, Server and
	// ServerLost to.
	Record *Record

	after []func() error
}

// After has f called when the path is over and has no delay any more, whether the
// performance went well or not: there servers are closed and their logs taken. What is
// added last is called first. An error of f means that the lab itself failed. Only
// Perform may call it, and not from two goroutines at once.
func (s *Stage) After(f func() error) { s.after = append(s.after, f) }

// end calls what After was given.
func (s *Stage) end() error {
	var errs []error
	for _, f := range slices.Backward(s.after) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Play has a play performed. An error means that the lab itself failed and no record
// could be made; that the performance did not go well is Record.LoadError.
//
// The capture, with the keys, and what Record.Stream and Record.Server were set to are
// left in the play's folder. SCTP's kernel parameters (net.sctp), and how many further
// ways MPTCP may take (two), are the kernel's own.
//
// Then both hosts are made anew. After a handover a kernel may have octets for an address
// that is no more, and goes on sending them for a while; what MPTCP has been told of
// addresses it keeps. The namespaces of the stage are closed when Play returns.
func (l *Lab) Play(ctx context.Context, p Play) (_ *Record, err error) {
	if err := l.begin(p.Path, p.TCP); err != nil {
		return nil, err
	}
	l.names.serve(nil)
	raw, err := makeCapture()
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, raw.Close(), os.Remove(raw.Name()))
	}()
	var keys keyLog
	c := newCourse(p.Path, p.Seed, emulator.Recording{File: raw, Comment: p.Comment, Keep: p.Keep})
	stage := &Stage{
		Client: l.client, Server: l.server, Address: originAddress(0), KeyLog: &keys, Epoch: c.epoch, Handovers: c.handovers,
		Record: &Record{Timing: unknownTiming, ServerLost: -1},
	}
	for i := range p.Path.Access {
		local, _ := netip.AddrFromSlice(clientAddress(i)) // it has the size of one
		stage.Locals = append(stage.Locals, local)
	}
	err = l.emulate(ctx, c, stage.Record, func() error { return p.Perform(ctx, stage) })
	if err = errors.Join(err, stage.end()); err != nil {
		return nil, err
	}
	stage.Record.DNSQueries = l.names.asked()
	if err := keepArtefacts(p.Dir, raw, stage.Record, keys.text()); err != nil {
		return nil, err
	}
	if stage.Record.Stream != nil {
		if err := record.Write(filepath.Join(p.Dir, StreamFile), stage.Record.Stream); err != nil {
			return nil, err
		}
	}
	return stage.Record, l.renew(context.WithoutCancel(ctx))
}
