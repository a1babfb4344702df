// Package viewer watches a stream. It carries out a player's orders over a transport and by
// the clock, and reports the results to the player. It discards the content.
//
// The clock is that of Go's package time, so a viewing in a guest takes virtual time.
package viewer

import (
	"context"
	"net/netip"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/panics"
)

// Config says what to watch, and where.
type Config struct {
	Client *transport.Client
	Media  string // item of the server's storage
	Player player.Config

	// Links are the host's access links in the order of the path; the first is in use. Without
	// any, the host's routes choose its address. A player with strategy Multihome has sessions
	// on all working links, other players on the link in use.
	Links []Link
	// Handovers reports that the host's address changes to that of the link To. If it is nil
	// or closed, the host keeps its address.
	Handovers <-chan network.Handover
	// Epoch is closed when the path's first packet has been sent; nil means never.
	Epoch <-chan struct{}
	// Events are the manager's reports of the link's delay, in order of time, counted from the
	// epoch. Changes of the access link arrive by Handovers.
	Events []manager.Event

	// Orders, if not nil, brings what the control interface of the client received, in place of Events
	// and Handovers, and seeks of a player with SeeksFromOutside.
	Orders <-chan Order

	// Rebindings are moments, counted from the epoch and in order, at which a NAT on the path forgets its
	// bindings. They are for the record; the player is not to know of them.
	Rebindings []time.Duration

	// Check, if not nil, checks received octets of a piece from an offset on; it must not keep
	// them. Its error ends the viewing. Calls are sequential, except for cancelled requests.
	Check func(piece storage.ID, offset int64, octets []byte) error
	// Show, if not nil, receives the state of the viewing every ShowEvery and at its end. It
	// must not keep references from the figures.
	Show func(at time.Duration, status player.Status, figures player.Figures)
}

// Order is what a network's manager has told the client, once the client's host has carried it out.
type Order struct {
	Delay time.Duration // of the link from now on, one-way
	Link  int           // index of the link that the client is on now; -1: the one it was on
	Seek  int           // segment to go to; -1: none
}

// ShowEvery is how often a viewing is shown.
const ShowEvery = 250 * time.Millisecond

// Link is one access link of a host.
type Link struct {
	Name    string
	Address netip.Addr
}

// Watch watches until the player stops, or until ctx ends, whose cause is then the
// viewing's failure. It returns when everything that it started, including sessions, has
// ended. The record lacks only the study's names: Media, Transport, Player and Strategy.
// The error says what is wrong with the player's configuration.
func Watch(ctx context.Context, c Config) (*record.Stream, error) {
	began := time.Now()
	p, err := player.New(c.Player)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := &viewing{Config: c, ctx: ctx, work: panics.Group{Guard: panics.From(ctx)}, player: p, began: began, epoch: -1, lost: map[int]time.Duration{},
		cancel: map[int]context.CancelFunc{},
		news:   make(chan func(time.Duration)), over: make(chan struct{})}
	v.run()
	s := &record.Stream{
		Started: began, Epoch: v.epoch, Manager: c.Events, Figures: p.Figures(),
	}
	s.Sessions = make([]record.Session, len(s.Figures.Sessions))
	for i, known := range v.sessions {
		s.Sessions[i] = known.state
	}
	return s, nil
}
