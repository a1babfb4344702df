// Package stream plays a single stream, outside of any study: in a lab on either clock, or
// from a server over this machine's own network, with or without a link that is emulated at the client.
package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/guest"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/runner"
	"wiretime/station"
	"wiretime/workload/playback"
)

// What a guest is given for one stream, whose capture may have keptPackets.
const (
	guestMemory = 2 << 30
	guestLimit  = 30 * time.Minute
)

// PlayReal plays a stream in a lab on the real clock. dir receives what the stream leaves
// behind, and show is called as in playback.Order. The program must have called lab.Enter.
//
// If the stream began, PlayReal returns what was measured, and an error if it failed later.
func PlayReal(ctx context.Context, order playback.Order, dir string) (_ *evidence.Evidence, err error) {
	config := stationConfig()
	if config.Authority, err = protocol.NewAuthority(); err != nil {
		return nil, err
	}
	s, err := station.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := order.RunOn(ctx, s, nil, dir)
	if err != nil {
		return nil, err
	}
	return measured(dir, r.(*playback.Record))
}

// PlayVirtual plays a stream in a guest of the kernel, as PlayReal does on the real clock.
// Nothing can be seen of the stream before its end, so order.Show is not called.
func PlayVirtual(ctx context.Context, k kernel.Kernel, order playback.Order, dir string) (l *evidence.Evidence, err error) {
	host, err := guest.NewHost(k, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	batch := guest.Batch{Station: stationConfig(), Loads: []guest.Load{{ID: "stream", Seed: order.Seed, Order: &order}}}
	batch.Station.Lab.Virtual, batch.Station.Lab.Unblocked = true, true
	machine := guest.Machine{Seed: order.Seed, Memory: guestMemory, Limit: guestLimit}
	err = host.Run(ctx, machine, batch, func(result guest.Result) error {
		if result.Failed != nil {
			return result.Failed
		}
		if err := os.CopyFS(dir, os.DirFS(result.Dir)); err != nil {
			return fmt.Errorf("keep the files of the stream: %w", err)
		}
		var err error
		l, err = measured(dir, result.Record.(*playback.Record))
		return err
	})
	return l, err
}

// stationConfig describes the lab with the defaults of studies.
func stationConfig() station.Config {
	return station.Config{Lab: lab.Config{
		AccessLinks: 2, InstantDNS: true, TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem(),
	}}
}

// measured returns what was measured of a stream in a lab. The error says why it failed.
func measured(dir string, r *playback.Record) (*evidence.Evidence, error) {
	if r.Stream == nil {
		return nil, r.LoadError
	}
	packets, err := capture.ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	l := &evidence.Evidence{
		Protocol: r.Stream.Transport, Server: r.Server, Packets: packets, ServerLost: r.ServerLost, Stream: r.Stream,
		CaptureCut: r.Emulator.Uncaptured > 0, Counted: runner.Counted(r.Emulator),
	}
	if r.LoadError != nil {
		return l, r.LoadError
	}
	return l, failure(r.Stream)
}

// PlayFrom plays a stream from a server outside of any lab, as PlayReal does in one. What is
// measured lacks everything that packets and the server's log show.
func PlayFrom(ctx context.Context, c transport.ClientConfig, order playback.Order, dir string) (*evidence.Evidence, error) {
	r, err := playback.From(ctx, c, order, dir, playback.Over{})
	if err != nil {
		return nil, err
	}
	if err := record.Write(filepath.Join(dir, playback.StreamFile), r); err != nil {
		return nil, err
	}
	return &evidence.Evidence{Protocol: order.Transport, Stream: r, ServerLost: -1}, failure(r)
}

// failure returns why a stream failed; nil if it did not.
func failure(r *record.Stream) error {
	if why := r.Figures.Failure; why != "" {
		return errors.New(why)
	}
	return nil
}

// TryServer opens a session with a server and closes it. A viewer would go on trying until
// it gives up. Rows in the clear have no handshake of which a server of something else would know nothing, so an octet of
// the order's medium is asked for as well.
func TryServer(ctx context.Context, c transport.ClientConfig, o playback.Order) error {
	client, err := transport.NewClient(c)
	if err != nil {
		return err
	}
	session, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	if !c.Transport.Encrypted {
		err = tryRequest(ctx, session, o)
	}
	if err = errors.Join(err, session.Close()); err != nil {
		return fmt.Errorf("try the server %v over %s: %w", c.Server, c.Transport.Name, err)
	}
	return nil
}

// tryRequest asks for one octet. That the server lacks the medium is no error here.
func tryRequest(ctx context.Context, session *transport.Session, o playback.Order) error {
	resolution := storage.HD
	if o.Player == playback.Download {
		resolution = storage.Plain
	}
	response, err := session.Request(ctx, transport.Request{ID: storage.ID{Item: o.Media, Resolution: resolution}, Length: 1})
	if err == nil {
		_, err = io.Copy(io.Discard, response)
		err = errors.Join(err, response.Close())
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}
