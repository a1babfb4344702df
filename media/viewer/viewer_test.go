package viewer

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
)

func TestAFileComes(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		b := newBench(t, row, content(t))
		s := b.watch(t)
		wholeFile(t, s)
		if ttd, ok := s.Figures.TTD(); !ok || ttd <= s.Sessions[0].SetUp {
			t.Errorf("the file took %v, of which connecting %v", ttd, s.Sessions[0].SetUp)
		}
		if one := s.Sessions; len(one) != 1 || one[0].SetUp <= 0 || one[0].Local.Addr() != netip.MustParseAddr("127.0.0.1") || one[0].Local.Port() == 0 || one[0].Resumed {
			t.Errorf("the sessions are %+v", one)
		}
		if s.Epoch >= 0 {
			t.Errorf("without a path its first packet was sent at %v", s.Epoch)
		}
		must(t, b.server.Close())
		if log := b.server.Log(); len(log) != 1 || log[0].URL != "media:file" {
			t.Errorf("the server's log is %+v", log)
		}
	})
}

// TestAVideoPlays watches it from beginning to end, by the clock.
func TestAVideoPlays(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		b := newBench(t, row, content(t))
		b.clip(10)
		f := b.watch(t).Figures
		if f.Failure != "" || f.Times.Playing != clipLength*player.SegmentLength || f.Stalls != 0 || f.Played != clipLength*segmentSize {
			t.Errorf("it played for %v, %d octets, with %d stalls; failure %q", f.Times.Playing, f.Played, f.Stalls, f.Failure)
		}
	})
}

// TestSeeksCancelWhatIsUnderWay seeks every second while no segment completes: sessions
// over TCP end with each request, others continue.
func TestSeeksCancelWhatIsUnderWay(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		halts := &halting{content(t), make(chan struct{})}
		b := newBench(t, row, halts)
		defer close(halts.going)
		p := b.clip(clipLength)
		p.SeekProbability, p.For, p.Seed = 1, 3500*time.Millisecond, 1
		s := b.watch(t)
		cancelled := count(s, player.Cancelled)
		if s.Figures.Failure != "" || s.Figures.Seeks != 3 || cancelled == 0 || count(s, player.Failed) != 0 {
			t.Errorf("%d seeks, %d requests cancelled, %d failed, failure %q", s.Figures.Seeks, cancelled, count(s, player.Failed), s.Figures.Failure)
		}
		sessions := 1
		if !row.Streams {
			sessions += cancelled
		}
		// On a busy machine the viewing may end before the last session has been opened.
		if n := len(s.Sessions); n != sessions && (row.Streams || n != cancelled) {
			t.Errorf("%d sessions, want %d", len(s.Sessions), sessions)
		}
		for _, e := range s.Figures.Timeline {
			if e.Event == player.Lost && e.Reason != "" {
				t.Errorf("the end of session %d counts as a failure: %s", e.Session, e.Reason)
			}
		}
	})
}

// TestASeekPastTheEnd assumes that the video is longer than it is. The viewer learns the
// length with the first segment or, if the server is wrong too, past the end.
func TestASeekPastTheEnd(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		for _, boasts := range []bool{false, true} {
			b := newBench(t, row, &boasting{content(t), boasts})
			p := b.clip(1000)
			p.SeekProbability, p.For, p.Seed = 1, 1500*time.Millisecond, 1
			s := b.watch(t)
			asked := count(s, player.PastEnd) > 0
			if f := s.Figures; f.Failure != "" || asked != boasts || f.Seeks != 1 || f.Times.Ended == 0 || len(s.Sessions) != 1 {
				t.Errorf("it asks past the end: %v, want %v; %d seeks, %v there, %d sessions, failure %q", asked, boasts, f.Seeks, f.Times.Ended, len(s.Sessions), f.Failure)
			}
		}
	})
}

// TestTheManagerIsHeard checks that the resolution follows the delays that the manager
// reports, from the path's first packet on.
func TestTheManagerIsHeard(t *testing.T) {
	t.Parallel()
	b := newBench(t, transport.All()[0], content(t))
	b.clip(clipLength)
	epoch := make(chan struct{})
	b.viewer.Epoch = epoch
	b.viewer.Events = []manager.Event{{Delay: 50 * time.Millisecond}, {At: 200 * time.Millisecond, Delay: 150 * time.Millisecond}}
	b.viewer.Player.Ahead = 2
	check := b.viewer.Check
	first := true
	b.viewer.Check = func(piece storage.ID, offset int64, octets []byte) error {
		if first { // HD in any case; what comes after it is asked for when the manager has spoken
			first = false
			close(epoch)
			time.Sleep(100 * time.Millisecond)
		}
		return check(piece, offset, octets)
	}
	s := b.watch(t)
	var resolutions []player.Resolution
	for _, l := range s.Figures.Loads {
		resolutions = append(resolutions, l.Resolution)
	}
	if want := []player.Resolution{player.HD, player.QHD, player.FHD}; !slices.Equal(resolutions, want) {
		t.Errorf("the resolutions are %v, want %v", resolutions, want)
	}
	if s.Epoch <= 0 || len(s.Manager) != 2 {
		t.Errorf("the epoch is %v, the manager's log %v", s.Epoch, s.Manager)
	}
	var told []time.Duration
	for _, e := range s.Figures.Timeline {
		if e.Event == player.Delayed {
			told = append(told, e.At-s.Epoch)
		}
	}
	if len(told) != 2 || told[0] < 0 || told[1] < 200*time.Millisecond {
		t.Errorf("it is told of the delays %v after the epoch", told)
	}
}

// moves are a host's two addresses, and a way to go from one to the other.
func (b *bench) moves(strategy player.Strategy) (handOver func(from, to int)) {
	handovers := make(chan network.Handover)
	b.viewer.Links = []Link{{"AP1", netip.MustParseAddr("127.0.0.2")}, {"AP2", netip.MustParseAddr("127.0.0.3")}}
	b.viewer.Handovers = handovers
	b.viewer.Player.OnHandover = strategy
	b.client.EarlyData = strategy == player.ZeroRTT
	return func(from, to int) { handovers <- network.Handover{From: from, To: to} }
}

// watchMove hands over in the middle of a file. On a busy machine the rest of the file may arrive before the handover is
// over, which shows nothing: then it does so again, up to five times.
func watchMove(t *testing.T, row transport.Transport, strategy player.Strategy) (*bench, *record.Stream) {
	t.Helper()
	for range 5 {
		b := newBench(t, row, content(t))
		handOver := b.moves(strategy)
		b.inTheMiddle(func() { handOver(0, 1) })
		s := b.watch(t)
		wholeFile(t, s)
		if h := s.Figures.Handovers; len(h) != 1 || h[0].Ready > 0 {
			return b, s
		}
	}
	t.Fatalf("%s: five files were whole before the handover was over", strategy)
	return nil, nil
}

// TestHandovers moves to another address in the middle of a file.
func TestHandovers(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		for _, strategy := range []player.Strategy{player.Reconnect, player.ZeroRTT, player.Migrate} {
			if row.Supports(transport.Strategy(strategy)) != nil {
				continue
			}
			b, s := watchMove(t, row, strategy)
			last := s.Sessions[len(s.Sessions)-1]
			if at := last.Local.Addr(); at != b.viewer.Links[1].Address {
				t.Errorf("%s: at the end it is at %v", strategy, at)
			}
			if sessions := map[player.Strategy]int{player.Reconnect: 2, player.ZeroRTT: 2, player.Migrate: 1}[strategy]; len(s.Sessions) != sessions {
				t.Errorf("%s: %d sessions, want %d", strategy, len(s.Sessions), sessions)
			}
			if last.EarlyData != (strategy == player.ZeroRTT) || strategy == player.Reconnect && last.Resumed != (row.Encrypted && row.Name != "sctp-udp-dtls") {
				t.Errorf("%s: the last session is %+v", strategy, last)
			}
			h := s.Figures.Handovers
			if len(h) != 1 || h[0].Access != "AP2" || h[0].Ready <= h[0].At || h[0].Recovered < h[0].Ready {
				t.Errorf("%s: the handovers are %+v", strategy, h)
			}
		}
	})
}

// TestHandoversOneAfterTheOther moves on and back before a session is ready.
func TestHandoversOneAfterTheOther(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		for _, strategy := range []player.Strategy{player.Reconnect, player.Migrate} {
			if row.Supports(transport.Strategy(strategy)) != nil {
				continue
			}
			b := newBench(t, row, content(t))
			handOver := b.moves(strategy)
			b.inTheMiddle(func() {
				for range 3 {
					handOver(0, 1)
					handOver(1, 0)
				}
			})
			s := b.watch(t)
			wholeFile(t, s)
			// A server answers few probes of new paths at once, so the file may be whole before a migration is over.
			over := s.Figures.Handovers[5].Ready > 0
			if at := s.Sessions[len(s.Sessions)-1].Local.Addr(); over && at != b.viewer.Links[0].Address {
				t.Errorf("%s: at the end it is at %v", strategy, at)
			}
			if strategy == player.Migrate && len(s.Sessions) != 1 {
				t.Errorf("%d sessions", len(s.Sessions))
			}
		}
	})
}

// TestAMigrationThatFails migrates to an address that the host does not have.
func TestAMigrationThatFails(t *testing.T) {
	t.Parallel()
	row, err := transport.Lookup("quic")
	must(t, err)
	b := newBench(t, row, content(t))
	handOver := b.moves(player.Migrate)
	b.viewer.Player.GiveUp = time.Second
	b.viewer.Links[1].Address = netip.MustParseAddr("192.0.2.1")
	b.inTheMiddle(func() { handOver(0, 1) })
	s := b.watch(t)
	if f := s.Figures; count(s, player.Moving) != 1 || count(s, player.Moved) != 0 || count(s, player.Lost) == 0 || !strings.Contains(f.Failure, "192.0.2.1") {
		t.Errorf("%d moves, %d done, %d sessions lost, failure %q", count(s, player.Moving), count(s, player.Moved), count(s, player.Lost), f.Failure)
	}
}

// TestTheServerGoes closes the server in the middle of a file, for good or until it
// returns.
func TestTheServerGoes(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		b := newBench(t, row, content(t))
		b.client.Patience, b.viewer.Player.GiveUp = 300*time.Millisecond, 1500*time.Millisecond
		b.inTheMiddle(func() { must(t, b.server.Close()) })
		f := b.watch(t).Figures
		if !strings.Contains(f.Failure, "timed out after 1.5s without data; last failure: ") || f.Loads[0].Whole || len(f.Sessions) < 2 || f.Held == 0 {
			t.Errorf("failure %q after %d sessions, %d octets are held", f.Failure, len(f.Sessions), f.Held)
		}

		b = newBench(t, row, content(t))
		b.client.Patience = 300 * time.Millisecond
		b.inTheMiddle(func() { must(t, b.server.Close()); b.serve(t) })
		s := b.watch(t)
		wholeFile(t, s)
		if lost := count(s, player.Lost); lost == 0 || s.Figures.Loads[0].Requests < 2 {
			t.Errorf("%d sessions lost, %d requests", lost, s.Figures.Loads[0].Requests)
		}
	})
}

// TestTheServerFails breaks its disk in the middle of a file.
func TestTheServerFails(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		broken := make(chan struct{})
		b := newBench(t, row, &breaking{content(t), broken})
		b.viewer.Player.GiveUp = 1500 * time.Millisecond
		b.inTheMiddle(func() { close(broken) })
		s := b.watch(t)
		if f := s.Figures; !strings.HasPrefix(f.Failure, "timed out after 1.5s without data") || f.Loads[0].Requests < 2 || row.Streams && len(s.Sessions) != 1 {
			t.Errorf("failure %q after %d requests in %d sessions", f.Failure, f.Loads[0].Requests, len(s.Sessions))
		}
	})
}

// TestASilentServer checks that the viewer gives up on each session and then for good.
func TestASilentServer(t *testing.T) {
	rows(t, func(t *testing.T, row transport.Transport) {
		halts := &halting{content(t), make(chan struct{})}
		b := newBench(t, row, halts)
		defer close(halts.going)
		b.client.Patience, b.viewer.Player.GiveUp = 200*time.Millisecond, 3*time.Second
		f := b.watch(t).Figures
		if !strings.Contains(f.Failure, transport.ErrSilent.Error()) || len(f.Sessions) < 2 {
			t.Errorf("failure %q after %d sessions", f.Failure, len(f.Sessions))
		}
	})
}

func TestViewingsThatEndEarly(t *testing.T) {
	enough := errors.New("enough")
	tests := []struct {
		name    string
		change  func(*bench, context.CancelCauseFunc)
		failure string
	}{
		{"nobody waits any more", func(b *bench, cancel context.CancelCauseFunc) { b.inTheMiddle(func() { cancel(enough) }) }, "enough"},
		{"before it begins", func(_ *bench, cancel context.CancelCauseFunc) { cancel(enough) }, "enough"},
		{"there is no such file", func(b *bench, _ context.CancelCauseFunc) { b.viewer.Media = "films" }, storage.ErrNotFound.Error()},
		{"something else comes", func(b *bench, _ context.CancelCauseFunc) {
			b.viewer.Check = func(storage.ID, int64, []byte) error { return enough }
		}, errWrong.Error() + ": enough"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rows(t, func(t *testing.T, row transport.Transport) {
				b := newBench(t, row, content(t))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				test.change(b, cancel)
				var err error
				b.viewer.Client, err = transport.NewClient(b.client)
				must(t, err)
				s, err := Watch(ctx, b.viewer)
				must(t, err)
				if f := s.Figures; !strings.Contains(f.Failure, test.failure) || f.Loads[0].Whole {
					t.Errorf("failure %q, want %q; %+v", f.Failure, test.failure, f.Loads)
				}
			})
		})
	}
}

func TestAPlayerThatCannotBe(t *testing.T) {
	if s, err := Watch(t.Context(), Config{}); s != nil || err == nil || !strings.Contains(err.Error(), "start a viewing: ") {
		t.Errorf("%v, %v", s, err)
	}
}
