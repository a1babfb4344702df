// Package viewer watches a stream: it does what a player orders, over a transport
// and by the clock, and tells the player what comes of it. The content is thrown
// away as it comes.
//
// The clock is that of Go's package time, so a viewing in a guest takes virtual
// time.
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
)

// Config says what to watch, and where.
type Config struct {
	Client *transport.Client
	Media  string // item of the server's storage
	Player player.Config

	// Links are the host's access links, in the order of the path's, of which the first
	// is the one in use. Without any the host's routes choose its address. A player whose
	// strategy is Multihome has sessions on all of them that carry, others on the one in
	// use.
	Links []Link
	// Handovers says when the host has another address, that of the link To. Nil, or
	// closed: it keeps the one it has.
	Handovers <-chan network.Handover
	// Epoch is closed when the path's first packet has been sent; nil: none ever is.
	Epoch <-chan struct{}
	// Events are what the network's manager tells of the link's delay, in order of time,
	// which counts from the epoch. What it says of access links comes by Handovers.
	Events []manager.Event

	// Check, if there is one, looks at the octets that have come of a piece, from an
	// offset on; it must not keep them. Its error ends the viewing. It is called by one
	// goroutine after the other but for requests that have been cancelled.
	Check func(piece storage.ID, offset int64, octets []byte) error
	// Show, if there is one, is told what the viewing looks like, every ShowEvery and at its
	// end. It must not keep what the figures hold.
	Show func(at time.Duration, status player.Status, figures player.Figures)
}

// ShowEvery is how often a viewing is shown.
const ShowEvery = 250 * time.Millisecond

// Link is one access link of a host.
type Link struct {
	Name    string
	Address netip.Addr
}

// Watch watches until the player has had enough, or ctx ends, whose cause is then
// the viewing's failure. It returns when all that it began has ended, sessions
// included, with a record of all but the names that a study has for what was done:
// Media, Transport, Player and Strategy. The error says what is wrong with the
// player's configuration.
func Watch(ctx context.Context, c Config) (*record.Stream, error) {
	began := time.Now()
	p, err := player.New(c.Player)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := &viewing{Config: c, ctx: ctx, player: p, began: began, epoch: -1, lost: map[int]time.Duration{},
		news: make(chan func(time.Duration)), over: make(chan struct{})}
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
