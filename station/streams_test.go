package station

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/protocol"
)

// openForStreams opens a station with two access links.
func openForStreams(t *testing.T) *Station {
	t.Helper()
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Authority: ca, Lab: lab.Config{
		AccessLinks: 2, InstantDNS: true, TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stream is the order of a file that takes a second, in which the client changes its
// access link once.
func stream(row string, strategy transport.Strategy) Order {
	return Order{Protocol: row, Seed: 1, Timeout: time.Minute, TCP: lab.TCPOptions{Congestion: "reno", InitCwnd: 10}, Stream: &Stream{
		Media: "file@2MB", Player: Download, Strategy: strategy, Keep: emulator.Keep{Octets: 64, Packets: 1000},
		Manager: manager.Config{
			Name: "two", Access: manager.AccessPoints(), Rate: 16_000_000, Delay: 10 * time.Millisecond,
			Period: 200 * time.Millisecond, Duration: time.Minute, Window: 600 * time.Millisecond, Reconnections: 1,
		},
	}}
}

// TestStreamsOnTheRealClock plays a file over each transport that this machine has, by
// each of its strategies, one after the other at the same station.
func TestStreamsOnTheRealClock(t *testing.T) {
	s := openForStreams(t)
	for _, row := range transport.All() {
		for _, strategy := range []transport.Strategy{transport.Reconnect, transport.ZeroRTT, transport.Migrate, transport.Multihome} {
			if row.Supports(strategy) != nil {
				continue
			}
			t.Run(row.Name+" "+string(strategy), func(t *testing.T) {
				if err := row.Available(nil); err != nil {
					t.Skip(err)
				}
				l := load(t, s, stream(row.Name, strategy), nil)
				f, dir := l.Stream.Figures, l.dir
				if _, whole := f.TTD(); !whole || f.Held != 2_000_000 || len(f.Handovers) != 1 {
					t.Errorf("%d octets are held; handovers %+v; %s", f.Held, f.Handovers, f.Failure)
				}
				sessions := 2
				if strategy == transport.Migrate || strategy == transport.Multihome {
					sessions = 1
				}
				if len(f.Sessions) != sessions {
					t.Errorf("%d sessions, want %d", len(f.Sessions), sessions)
				}
				if kept, err := record.Read(filepath.Join(dir, lab.StreamFile)); err != nil || !reflect.DeepEqual(kept.Figures, f) {
					t.Errorf("the record that is kept has other figures: %v", err)
				}
				if log, err := capture.ReadServerLog(filepath.Join(dir, lab.ServerFile)); err != nil || len(log) == 0 || log[0].Protocol != row.Name {
					t.Errorf("the server's log is %+v, %v", log, err)
				}
				if n := len(l.packets.Records); n > 1000 || l.Emulator.Uncaptured == 0 {
					t.Errorf("the capture has %d records, %d were left out", n, l.Emulator.Uncaptured)
				}
				_, err := os.Stat(filepath.Join(dir, QLogFile(sessions)))
				if row.Name == "quic" != (err == nil) {
					t.Errorf("the qlog of the last session: %v", err)
				}
			})
		}
	}
}

// TestStreamsThatCannotBe orders what does not go together, or is not there.
func TestStreamsThatCannotBe(t *testing.T) {
	s := openForStreams(t)
	for says, change := range map[string]func(*Order){
		`unknown transport "udp"`:           func(o *Order) { o.Protocol = "udp" },
		`unknown media "film"`:              func(o *Order) { o.Stream.Media = "film" },
		`unknown player "vlc"`:              func(o *Order) { o.Stream.Player = "vlc" },
		"player paper cannot play media":    func(o *Order) { o.Stream.Player = string(player.Paper) },
		"player download cannot play media": func(o *Order) { o.Stream.Media = "clip" },
		`unknown strategy "teleport"`:       func(o *Order) { o.Stream.Strategy = "teleport" },
		"there is no room for 9":            func(o *Order) { o.Stream.Manager.Reconnections = 9 },
	} {
		o := stream("tcp", transport.Reconnect)
		change(&o)
		if _, err := s.Load(t.Context(), o, nil, t.TempDir()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	o := stream("tcp", transport.ZeroRTT)
	r, err := s.Load(t.Context(), o, nil, t.TempDir())
	if err != nil || !errors.Is(r.LoadError, transport.ErrUnsupported) {
		t.Errorf("0-RTT over TCP: %v, %v", r, err)
	}
	load(t, s, stream("tcp", transport.Reconnect), nil) // the station is as it was
}

// TestPlayersGoByTheirRules has all of them configured.
func TestPlayersGoByTheirRules(t *testing.T) {
	for _, name := range Players() {
		s := Stream{Media: "clip", Player: name, Strategy: transport.Reconnect, For: time.Minute, Seeks: 0.3}
		if name == Download {
			s.Media = "file@1GB"
		}
		c, err := s.player(7)
		if err != nil || name != Download && (c.Rule != player.Rule(name) || c.Segments != 600 || !slices.IsSorted(c.Sizes[:]) || c.SeekProbability != 0.3 || c.For != time.Minute) || c.Seed != 7 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
