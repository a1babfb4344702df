package stream

import (
	"fmt"
	"time"

	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/study"
	"wiretime/workload/playback"
)

// Longest is the limit of a stream's duration.
const Longest = time.Hour

// A capture keeps headers and handshakes of each packet, which are keptOctets, but no media,
// and as many packets as fit into the memory of most machines.
const (
	keptOctets  = 128
	keptPackets = 1_000_000
)

// Config describes a stream and its network.
type Config struct {
	// Media is what storage.ParseMedia accepts or, if Outside, a server's own name.
	Media string
	// Outside says that a server outside of any lab has the media.
	Outside bool
	// Player is one of playback.Players; empty means Download for a file and Paper for a video.
	Player    string
	Transport string             // one of transport.Names
	Strategy  transport.Strategy // the transport must support it
	// Duration is how long a video is watched, up to Longest.
	Duration time.Duration
	// Seeks is the probability of a seek in each second of a video, 0 to 1.
	Seeks float64
	// Patience is how long each end waits for the other, and GiveUp how long the viewer waits
	// for any octet.
	Patience, GiveUp time.Duration
	Seed             uint64

	// The others describe the lab or, if Outside, as far as the command line allows them, the link at the client. Delay is the average one-way delay of each access link in
	// each direction, drawn anew every Period; a Period of 0 keeps it constant.
	Delay, Period time.Duration
	// Loss is the share of packets lost in each direction, 0 to 1.
	Loss float64
	// Rate is that of each access link in each direction.
	Rate network.BitRate
	// Reconnections is how often the client moves to the other access point.
	Reconnections int
	// ManagerNode is as in playback.Order, Rebinding as in manager.Config.
	ManagerNode bool
	Rebinding   *network.RebindingAt
	TCP         lab.TCPOptions
}

// Order returns the order of the stream, or an error that says what of it is impossible.
func (c Config) Order() (playback.Order, error) {
	item, err := storage.ParseMedia(c.Media)
	unknown := err != nil
	if unknown && !c.Outside {
		return playback.Order{}, err
	}
	octets, isFile := item.Sizes[storage.Plain]
	if c.Player == "" {
		c.Player = string(player.Paper)
		if isFile {
			c.Player = playback.Download
		}
	}
	o := playback.Order{
		Media: c.Media, Transport: c.Transport, Elsewhere: unknown, Player: c.Player, Strategy: c.Strategy,
		Seed: c.Seed, TCP: c.TCP, Timeout: Longest, Comment: fmt.Sprintf("%s over %s, seed %d", c.Media, c.Transport, c.Seed),
		For: c.Duration, Seeks: c.Seeks, GiveUp: c.GiveUp, Patience: c.Patience,
		Manager: c.manager(octets), ManagerNode: c.ManagerNode, Keep: emulator.Keep{Octets: keptOctets, Packets: keptPackets},
	}
	return o, o.Check()
}

// manager describes the network's changes, for a file of so many octets; 0 for a video.
func (c Config) manager(octets int64) manager.Config {
	s := study.Stream{Access: manager.AccessPoints(), Rate: c.Rate, Period: c.Period, Duration: c.Duration}
	if c.Outside { // the client has one address there, and nobody knows how long a file is
		s.Access, s.Duration, octets = s.Access[:1], Longest, 0
	}
	options := study.Options{Timeout: Longest, Stream: &s}
	m := options.Manager(study.Link{Delay: c.Delay, Loss: c.Loss, Reconnections: c.Reconnections}, octets, c.Seed)
	m.Rebinding = c.Rebinding
	return m
}
