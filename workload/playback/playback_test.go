package playback

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
	"wiretime/lab/labtest"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/transport"
	"wiretime/needtest"
	"wiretime/protocol"
	"wiretime/workload"
)

// bench is a lab with two access links.
type bench struct {
	lab       *lab.Lab
	authority *protocol.Authority
}

func newBench(t *testing.T) bench {
	t.Helper()
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	return bench{labtest.New(t, labtest.Config(2)), ca}
}

func (b bench) run(t *testing.T, o Order, dir string) (*Record, error) {
	t.Helper()
	return Run(t.Context(), b.lab, Load{Order: o, Authority: b.authority, Dir: dir})
}

// play plays a stream that is to go well, and returns its folder.
func (b bench) play(t *testing.T, o Order) (*Record, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := b.run(t, o, dir)
	if err == nil {
		err = r.LoadError
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// stream is the order of a file that takes a second, in which the client changes its
// access link once.
func stream(row string, strategy transport.Strategy) Order {
	return Order{
		Media: "file@2MB", Transport: row, Player: Download, Strategy: strategy, Keep: emulator.Keep{Octets: 64, Packets: 1000},
		Seed: 1, Timeout: time.Minute, TCP: lab.TCPOptions{Congestion: "reno", InitCwnd: 10},
		Manager: manager.Config{
			Name: "two", Access: manager.AccessPoints(), Rate: 16_000_000, Delay: 10 * time.Millisecond,
			Period: 200 * time.Millisecond, Duration: time.Minute, Window: 600 * time.Millisecond, Reconnections: 1,
		},
	}
}

// TestStreamsOnTheRealClock plays a file over each transport that this machine has, by
// each of its strategies, one after the other at the same lab.
func TestStreamsOnTheRealClock(t *testing.T) {
	needtest.Long(t)
	b := newBench(t)
	for _, row := range transport.All() {
		for _, strategy := range []transport.Strategy{transport.Reconnect, transport.ZeroRTT, transport.Migrate, transport.Multihome} {
			if row.Supports(strategy) != nil {
				continue
			}
			t.Run(row.Name+" "+string(strategy), func(t *testing.T) {
				if err := row.Available(nil); err != nil {
					t.Skip(err)
				}
				r, dir := b.play(t, stream(row.Name, strategy))
				f := r.Stream.Figures
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
				if kept, err := record.Read(filepath.Join(dir, StreamFile)); err != nil || !reflect.DeepEqual(kept.Figures, f) {
					t.Errorf("the record that is kept has other figures: %v", err)
				}
				if log, err := capture.ReadServerLog(filepath.Join(dir, workload.ServerFile)); err != nil || len(log) == 0 || log[0].Protocol != row.Name {
					t.Errorf("the server's log is %+v, %v", log, err)
				}
				if n := len(labtest.ReadCapture(t, dir).Records); n > 1000 || r.Emulator.Uncaptured == 0 {
					t.Errorf("the capture has %d records, %d were left out", n, r.Emulator.Uncaptured)
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
	b := newBench(t)
	for says, change := range map[string]func(*Order){
		`unknown transport "udp"`:           func(o *Order) { o.Transport = "udp" },
		`unknown media "film"`:              func(o *Order) { o.Media = "film" },
		`unknown player "vlc"`:              func(o *Order) { o.Player = "vlc" },
		"player paper cannot play media":    func(o *Order) { o.Player = string(player.Paper) },
		"player download cannot play media": func(o *Order) { o.Media = "clip" },
		`unknown strategy "teleport"`:       func(o *Order) { o.Strategy = "teleport" },
		"there is no room for 9":            func(o *Order) { o.Manager.Reconnections = 9 },
	} {
		o := stream("tcp", transport.Reconnect)
		change(&o)
		if _, err := b.run(t, o, t.TempDir()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	o := stream("tcp", transport.ZeroRTT)
	r, err := b.run(t, o, t.TempDir())
	if err != nil || !errors.Is(r.LoadError, transport.ErrUnsupported) {
		t.Errorf("0-RTT over TCP: %v, %v", r, err)
	}
	b.play(t, stream("tcp", transport.Reconnect)) // the lab is as it was
}

// TestPlayersGoByTheirRules has all of them configured.
func TestPlayersGoByTheirRules(t *testing.T) {
	for _, name := range Players() {
		o := Order{Media: "clip", Player: name, Strategy: transport.Reconnect, Seed: 7, For: time.Minute, Seeks: 0.3}
		if name == Download {
			o.Media = "file@1GB"
		}
		c, err := o.player()
		if err != nil || name != Download && (c.Rule != player.Rule(name) || c.Segments != 600 || !slices.IsSorted(c.Sizes[:]) || c.SeekProbability != 0.3 || c.For != time.Minute) || c.Seed != 7 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
