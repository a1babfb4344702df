// Package playback plays media streams on a lab, or from a server outside of any lab.
package playback

import (
	"fmt"
	"path/filepath"
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
	"wiretime/protocol"
	"wiretime/workload"
)

// StreamFile is the name of the stream's record in the load's folder.
const StreamFile = "stream.json"

// Download is the player that fetches a file. The others are named after their rule
// for the resolution.
const Download = "download"

// Players returns the names of the players.
func Players() []string {
	return []string{Download, string(player.Paper), string(player.Throughput), string(player.BOLA)}
}

// Order says what to play, how and over which path.
type Order struct {
	Media     string // storage.ParseMedia's or, Elsewhere, what a server outside calls it
	Transport string // the name of a row of package transport
	Player    string // one of Players
	Strategy  transport.Strategy
	Parallel  int `json:",omitempty"` // requests at once; 0: one
	// Elsewhere says that the media are on a server outside of any lab, for From.
	Elsewhere bool
	// Manager configures the network's manager. Run sets its Seed, and its Together for the
	// strategy Multihome.
	Manager manager.Config
	// ManagerNode says that the manager is a node of its own, which tells client and server what to change by messages.
	// Otherwise all changes are the path's own events. It cannot be combined with Multihome.
	ManagerNode bool `json:",omitempty"`
	// Seed is the seed of the path, of the network's manager and of the viewer's seeks.
	Seed    uint64
	TCP     lab.TCPOptions
	Timeout time.Duration // of the whole stream; 0: none
	Comment string        // goes into the capture's header
	Keep    emulator.Keep // of the capture

	// These are as in player.Config. Download ignores them, except GiveUp.
	For                      time.Duration
	Seeks                    float64
	StartAt, ResumeAt, Ahead int
	GiveUp                   time.Duration
	Patience                 time.Duration // of both ends with each other; 0 is transport.DefaultPatience
	// Show is as in viewer.Config. It cannot be used in a guest.
	Show func(at time.Duration, status player.Status, figures player.Figures) `json:"-"`
}

// Check returns an error if the order cannot be carried out. It does not look at Transport.
func (o *Order) Check() error {
	if _, err := o.player(); err != nil {
		return err
	}
	_, _, err := manager.Plan(o.Manager)
	return err
}

// player returns the configuration of the order's player.
func (o *Order) player() (player.Config, error) {
	item, err := storage.ParseMedia(o.Media)
	if o.Elsewhere {
		item, err = storage.Video(o.Media, 1), nil // the server knows how many segments there are
		if o.Player == Download {
			item = storage.File(o.Media, 0)
		}
	}
	if err != nil {
		return player.Config{}, err
	}
	_, isFile := item.Sizes[storage.Plain]
	c := player.Config{Mode: player.File, GiveUp: o.GiveUp, Seed: o.Seed, OnHandover: player.Strategy(o.Strategy), Parallel: o.Parallel, FileSize: item.Sizes[storage.Plain]}
	if o.Player != Download {
		c.Mode, c.For, c.Rule, c.SeekProbability = player.View, o.For, player.Rule(o.Player), o.Seeks
		c.StartAt, c.ResumeAt, c.Ahead = o.StartAt, o.ResumeAt, o.Ahead
		c.Segments = int(item.Segments)
		for i, r := range storage.Resolutions() {
			c.Sizes[i] = item.Sizes[r]
		}
	}
	switch {
	case !slices.Contains(Players(), o.Player):
		err = fmt.Errorf("unknown player %q: there are %s", o.Player, strings.Join(Players(), ", "))
	case isFile != (o.Player == Download):
		err = fmt.Errorf("player %s cannot play media %s: %s is for files, the others are for videos", o.Player, o.Media, Download)
	default:
		_, err = player.New(c)
	}
	return c, err
}

// Load is an order with what it needs to be carried out.
type Load struct {
	Order
	Authority *protocol.Authority
	Dir       string // the folder, which must exist, that receives the artefacts
}

// Record holds what a load left, besides the files in its folder.
type Record struct {
	workload.Record
	Stream *record.Stream `json:"-"` // nil if the stream could not begin
}

// save writes the server's log and the stream's record into the folder dir.
func (r *Record) save(dir string) error {
	if err := r.SaveServerLog(dir); err != nil || r.Stream == nil {
		return err
	}
	return record.Write(filepath.Join(dir, StreamFile), r.Stream)
}

// ReadFiles adds what the files in the load's folder hold to a record that came as JSON.
func (r *Record) ReadFiles(dir string) (err error) {
	if r.Stream, err = workload.ReadIfThere(dir, StreamFile, record.Read); err != nil {
		return err
	}
	return r.ReadServerLog(dir)
}
