package station

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/media/viewer"
	"wiretime/network"
)

// Download is the player that fetches a file. The others are named after their rule
// for the resolution.
const Download = "download"

// Players names what can play streams.
func Players() []string {
	return []string{Download, string(player.Paper), string(player.Throughput), string(player.BOLA)}
}

// Stream is what to play, and how. The order's Protocol is the transport, and its Seed
// that of the path, of what the network's manager does and of the viewer's seeks.
type Stream struct {
	Media    string // storage.ParseMedia's or, Elsewhere, what a server outside calls it
	Player   string // one of Players
	Strategy transport.Strategy
	// Elsewhere says that a server outside has the media, for StreamFrom.
	Elsewhere bool
	// Manager is the network's, but for Seed, and for Together, which the strategy
	// Multihome asks for.
	Manager manager.Config
	// These are as in player.Config, and mean nothing to Download but for GiveUp.
	For                      time.Duration
	Seeks                    float64
	StartAt, ResumeAt, Ahead int
	GiveUp                   time.Duration
	Patience                 time.Duration // of both ends with each other; 0 is transport.DefaultPatience
	Keep                     emulator.Keep
	// Show is viewer.Config's. Nobody sees into a guest.
	Show func(at time.Duration, status player.Status, figures player.Figures) `json:"-"`
}

// Check says what of the stream cannot be; nil if nothing is wrong with it.
func (s *Stream) Check() error {
	if _, err := s.player(0); err != nil {
		return err
	}
	_, _, err := manager.Plan(s.Manager)
	return err
}

// player is the player's configuration. The error says what cannot be.
func (s *Stream) player(seed uint64) (player.Config, error) {
	item, err := storage.ParseMedia(s.Media)
	if s.Elsewhere {
		item, err = storage.Video(s.Media, 1), nil // the server knows how many segments there are
		if s.Player == Download {
			item = storage.File(s.Media, 0)
		}
	}
	if err != nil {
		return player.Config{}, err
	}
	_, isFile := item.Sizes[storage.Plain]
	c := player.Config{Mode: player.File, GiveUp: s.GiveUp, Seed: seed, OnHandover: player.Strategy(s.Strategy)}
	if s.Player != Download {
		c.Mode, c.For, c.Rule, c.SeekProbability = player.View, s.For, player.Rule(s.Player), s.Seeks
		c.StartAt, c.ResumeAt, c.Ahead = s.StartAt, s.ResumeAt, s.Ahead
		c.Segments = int(item.Segments)
		for i, r := range storage.Resolutions() {
			c.Sizes[i] = item.Sizes[r]
		}
	}
	switch {
	case !slices.Contains(Players(), s.Player):
		err = fmt.Errorf("unknown player %q: there are %s", s.Player, strings.Join(Players(), ", "))
	case isFile != (s.Player == Download):
		err = fmt.Errorf("player %s cannot play media %s: %s is for files, the others are for videos", s.Player, s.Media, Download)
	default:
		_, err = player.New(c)
	}
	return c, err
}

// performance is a stream that is played.
type performance struct {
	order     Order
	transport transport.Transport
	player    player.Config
	path      network.Path
	events    []manager.Event
	qlogs     qlogs
}

// play plays a stream.
func (s *Station) play(ctx context.Context, o Order, dir string) (*lab.Record, error) {
	p := &performance{order: o, qlogs: qlogs{dir: dir}}
	var err error
	if p.transport, err = transport.Lookup(o.Protocol); err != nil {
		return nil, err
	}
	if p.player, err = o.Stream.player(o.Seed); err != nil {
		return nil, err
	}
	m := o.Stream.Manager
	m.Seed, m.Together = o.Seed, o.Stream.Strategy == transport.Multihome
	if p.path, p.events, err = manager.Plan(m); err != nil {
		return nil, err
	}
	return s.lab.Play(ctx, lab.Play{
		Path: p.path, Seed: o.Seed, TCP: o.TCP, Keep: o.Stream.Keep, Dir: dir, Comment: o.Comment,
		Perform: func(ctx context.Context, stage *lab.Stage) error { return s.perform(ctx, p, stage) },
	})
}

// mediaPort is where media are served.
const mediaPort = 4433

// perform serves the stream and watches it.
func (s *Station) perform(ctx context.Context, p *performance, stage *lab.Stage) error {
	const name = "media.test"
	at := netip.AddrPortFrom(stage.Address, mediaPort)
	server, err := transport.Serve(ctx, transport.ServerConfig{
		Transport: p.transport, Address: at, Host: stage.Server.Do, Storage: storage.MakeAll(p.order.Seed),
		CA: s.config.Authority, Patience: p.order.Stream.Patience, KeyLog: stage.KeyLog,
	})
	if err != nil {
		return err
	}
	stage.After(func() error {
		err := server.Close()
		stage.Record.Server = server.Log()
		return errors.Join(err, p.qlogs.err())
	})
	client, err := transport.NewClient(transport.ClientConfig{
		Transport: p.transport, Server: at, Name: name, Verify: s.config.Authority.Verify, Host: stage.Client.Do,
		EarlyData: p.order.Stream.Strategy == transport.ZeroRTT, Patience: p.order.Stream.Patience, QLog: p.qlogs.begin,
	})
	if err != nil {
		return err
	}
	stage.Record.Stream, err = p.watch(ctx, client, stage)
	if err != nil {
		return err
	}
	if why := stage.Record.Stream.Figures.Failure; why != "" {
		return errors.New(why)
	}
	return nil
}

func (p *performance) watch(ctx context.Context, client *transport.Client, stage *lab.Stage) (*record.Stream, error) {
	var links []viewer.Link
	for i, local := range stage.Locals {
		links = append(links, viewer.Link{Name: p.path.Access[i].Name, Address: local})
	}
	return watch(ctx, p.order, viewer.Config{
		Client: client, Player: p.player, Links: links, Handovers: stage.Handovers, Epoch: stage.Epoch, Events: p.events,
	})
}

// watch watches what the order says, for as long as it may take.
func watch(ctx context.Context, o Order, c viewer.Config) (*record.Stream, error) {
	if limit := o.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not over after %v", limit))
		defer cancel()
	}
	c.Media, c.Show = o.Stream.Media, o.Stream.Show
	out, err := viewer.Watch(ctx, c)
	if err != nil {
		return nil, err
	}
	out.Media, out.Player = o.Stream.Media, o.Stream.Player
	out.Transport, out.Strategy = o.Protocol, string(o.Stream.Strategy)
	return out, nil
}

// StreamFrom plays a stream from a server outside of any lab. The qlogs are put into the
// folder dir. An error means that the viewing could not begin; that it did not go well is
// in the record's figures.
func StreamFrom(ctx context.Context, c transport.ClientConfig, o Order, dir string) (*record.Stream, error) {
	config, err := o.Stream.player(o.Seed)
	if err != nil {
		return nil, err
	}
	logs := qlogs{dir: dir}
	c.QLog = logs.begin
	client, err := transport.NewClient(c)
	if err != nil {
		return nil, err
	}
	out, err := watch(ctx, o, viewer.Config{Client: client, Player: config})
	return out, errors.Join(err, logs.err())
}
