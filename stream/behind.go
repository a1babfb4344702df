package stream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/link"
	"wiretime/media/manager"
	"wiretime/media/record"
	"wiretime/media/transport"
	"wiretime/runner"
	"wiretime/workload/playback"
)

// CheckBehind returns an error if a transport cannot be used over a link that is emulated at the client.
func CheckBehind(row transport.Transport) error {
	switch row.Name {
	case "mptcp", "mptcp-clear", "sctp":
		return fmt.Errorf("%s cannot be used from a server over an emulated link: pasta, which leads from the link to this machine's networks, forwards TCP and UDP alone", row.Name)
	}
	return nil
}

// PlayBehind plays a stream as PlayFrom does, over a link that is emulated at the client. The program must have called
// link.Enter, and TryServer before that: behind the link a server that is not there is one that does not answer. dir also receives the capture of the link, without keys.
//
// Beyond the link the packets take this machine's own network to the server. TCP's connections end at the link's
// far end, from where others lead to the server.
func PlayBehind(ctx context.Context, c transport.ClientConfig, order playback.Order, dir string) (_ *evidence.Evidence, err error) {
	path, events, err := manager.Plan(order.Manager)
	if err != nil {
		return nil, err
	}
	if c.Server, err = link.Outside(c.Server); err != nil {
		return nil, err
	}
	kept := filepath.Join(dir, lab.CaptureFile)
	l, err := link.Open(ctx, link.Config{Path: path, Seed: order.Seed, Capture: kept, Comment: order.Comment, Keep: order.Keep, InMemory: true})
	if err != nil {
		return nil, err
	}
	r, err := playBehind(ctx, l, c, order, dir, playback.Over{Epoch: l.Epoch(), Events: events, Path: path})
	report, closed := l.Close()
	if err = errors.Join(err, closed); err != nil {
		return nil, err
	}
	if err := record.Write(filepath.Join(dir, playback.StreamFile), r); err != nil {
		return nil, err
	}
	packets, err := capture.ReadPackets(kept)
	if err != nil {
		return nil, err
	}
	return &evidence.Evidence{
		Protocol: order.Transport, Stream: r, Packets: packets, ServerLost: -1, CaptureCut: report.Uncaptured > 0, Counted: runner.Counted(report),
	}, failure(r)
}

// playBehind plays from the link's near end.
func playBehind(ctx context.Context, l *link.Link, c transport.ClientConfig, order playback.Order, dir string, over playback.Over) (_ *record.Stream, err error) {
	if c.Transport.Protocol == "tcp" {
		relay, err := l.Relay(ctx, c.Server)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, relay.Close()) }()
		c.Server = relay.Address
	}
	c.Host = l.Near.Do
	return playback.From(ctx, c, order, dir, over)
}
