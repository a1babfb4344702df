package playback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/study"
	"wiretime/workload"
)

// setting is that of streams as most studies have them.
func setting() workload.Setting {
	return workload.Setting{Options: study.Options{
		Timeout: time.Hour,
		Stream: &study.Stream{
			Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Period: time.Second, Duration: time.Minute, Seeks: 0.3,
			StartAt: 1, ResumeAt: 2, Ahead: 10, Patience: 30 * time.Second, GiveUp: time.Minute, Capture: study.Capture{Octets: 128, Packets: 100_000},
		},
	}}
}

// oneLink is a path with a one-way delay of 50 ms.
func oneLink(rate network.BitRate) network.Path {
	link := network.Link{Rate: rate, Delay: 50 * time.Millisecond}
	return network.Path{Name: "one", Access: []network.Access{{Name: "access", Up: link, Down: link}}}
}

// cell is a cell of streams on the virtual clock.
func cell(media, transport, player string) study.Cell {
	values := study.Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}.Values()
	values[study.AxisMedia], values[study.AxisTransport], values[study.AxisPlayer] = media, transport, player
	values[study.AxisClock] = study.ClockVirtual
	return study.NewCell(study.Streams(), values, oneLink(100_000_000))
}

func bind(t *testing.T, c study.Cell) workload.Job {
	t.Helper()
	j, err := Workload{}.Bind(c, 7, setting())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAStreamsCellBecomesAnOrder(t *testing.T) {
	m := manager.Config{Name: "50ms-1%-2x", Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Delay: 50 * time.Millisecond, Loss: 0.01,
		Period: time.Second, Duration: time.Minute, Reconnections: 2, Seed: 7}
	watched := Order{Media: "clip", Transport: "sctp", Player: "paper", Strategy: transport.Reconnect, Manager: m, For: time.Minute, Seeks: 0.3, StartAt: 1, ResumeAt: 2, Ahead: 10,
		Patience: 30 * time.Second, GiveUp: time.Minute, Keep: emulator.Keep{Octets: 128, Packets: 100_000},
		Seed: 7, TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Timeout: time.Hour}
	download := watched
	download.Media, download.Player, download.For = "file@1GB", Download, 0
	download.Manager.Duration, download.Manager.Window = time.Hour, 80*time.Second
	for _, want := range []Order{watched, download} {
		j := bind(t, cell(want.Media, "sctp", want.Player))
		o := j.Order("id").(*Order)
		if want.Comment = o.Comment; !strings.HasPrefix(o.Comment, "load id, media="+want.Media) {
			t.Errorf("the comment is %q", o.Comment)
		}
		if got := fmt.Sprintf("%+v", *o); got != fmt.Sprintf("%+v", want) {
			t.Errorf("the order is\n%s, want\n%+v", got, want)
		}
		if j.Unsupported != "" || j.Site != nil {
			t.Errorf("unsupported: %q; site: %v", j.Unsupported, j.Site)
		}
	}
}

// TestUnsupportedStreams asks of streams whether they can run.
func TestUnsupportedStreams(t *testing.T) {
	for _, c := range []struct {
		media, transport, player, strategy string
		why                                string // a part of it; empty: it can run
	}{
		{"clip", "tcp", Download, study.StrategyReconnect, "a download of clip: it is a video"},
		{"clip", "tcp", "paper", study.StrategyReconnect, ""},
		{"file@1MB", "tcp", "bola", study.StrategyReconnect, "the player bola plays videos, and file@1MB is a file; use the player download, or clip"},
		{"file@1MB", "quic", Download, study.StrategyMigrate, ""},
		{"file@1MB", "quic", Download, study.StrategyZeroRTT, ""},
		{"file@1MB", "tcp", Download, study.StrategyZeroRTT, "strategy 0-rtt over tcp is unsupported: only QUIC carries requests in its first packets here"},
		{"file@1MB", "sctp", Download, study.StrategyMultihome, ""},
		{"file@1MB", "quic", Download, study.StrategyMultihome, "a session of it has one address at a time"},
	} {
		j := bind(t, cell(c.media, c.transport, c.player).With(study.AxisStrategy, c.strategy))
		if why := j.Unsupported; (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// TestRequestsAtOnceAndSACK asks of streams with several requests at once, and without selective acknowledgements, whether they can
// run, and how.
func TestRequestsAtOnceAndSACK(t *testing.T) {
	for _, c := range []struct {
		media, transport, player string
		change                   map[study.Axis]string
		why                      string
	}{
		{"file@1MB", "tcp", Download, map[study.Axis]string{study.AxisParallel: "4", study.AxisTCPSACK: study.SACKOff}, ""},
		{"clip@4MBx4500kBx5MB", "quic", "paper", map[study.Axis]string{study.AxisParallel: "2"}, ""},
		{"file@3B", "quic", Download, map[study.Axis]string{study.AxisParallel: "4"}, "a file of 3 octets in 4 parts"},
		{"clip", "quic", "throughput", map[study.Axis]string{study.AxisParallel: "2"}, "measures how fast one request at a time is answered"},
		{"clip", "mptcp", "paper", map[study.Axis]string{study.AxisParallel: "2", study.AxisStrategy: study.StrategyMultihome}, "only one connection takes part"},
		{"clip", "sctp", "paper", map[study.Axis]string{study.AxisTCPSACK: study.SACKOff}, "it does not run over TCP"},
	} {
		cell := cell(c.media, c.transport, c.player)
		for axis, word := range c.change {
			cell = cell.With(axis, word)
		}
		j := bind(t, cell)
		if why := j.Unsupported; (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
		o := j.Order("id").(*Order)
		if off := c.change[study.AxisTCPSACK] == study.SACKOff; o.TCP.NoSACK != off || j.Evidence.NoSACK != off {
			t.Errorf("%+v: SACK is off by the order: %t, by the evidence: %t", c, o.TCP.NoSACK, j.Evidence.NoSACK)
		}
		if want := c.change[study.AxisParallel]; want != "" && fmt.Sprint(o.Parallel) != want {
			t.Errorf("%+v: %d requests at once", c, o.Parallel)
		}
	}
}

// TestWhatThisMachinesKernelLacksIsLeftToTheVirtualClock asks on both clocks for the
// transports of kernels.
func TestWhatThisMachinesKernelLacksIsLeftToTheVirtualClock(t *testing.T) {
	for _, row := range transport.All() {
		c := cell("clip", row.Name, "paper")
		if why := bind(t, c).Unsupported; why != "" {
			t.Errorf("%s on the virtual clock: %s", row.Name, why)
		}
		c = c.With(study.AxisClock, study.ClockReal)
		want := ""
		if err := row.Available(nil); err != nil {
			want = err.Error()
		}
		if why := bind(t, c).Unsupported; why != want {
			t.Errorf("%s on the real clock: %q, want %q", row.Name, why, want)
		}
	}
}

func TestAStreamThatTheProgramDoesNotKnowIsAnError(t *testing.T) {
	for _, c := range []struct {
		cell study.Cell
		says string
	}{
		{cell("film", "tcp", "paper"), `unknown media "film"`},
		{cell("clip", "ftp", "paper"), `unknown transport "ftp"`},
	} {
		if _, err := (Workload{}).Bind(c.cell, 1, setting()); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("got %v, want %s", err, c.says)
		}
	}
	if _, err := (Workload{}).Bind(cell("clip", "tcp", "paper"), 1, workload.Setting{}); err == nil {
		t.Error("a stream in a study of pages")
	}
}

func TestEstimateStream(t *testing.T) {
	s := setting().Options.Stream
	slow := oneLink(1_000_000)
	for _, c := range []struct {
		name, clock, media string
		change             func(*study.Stream)
		duration, work     time.Duration // of a core
	}{
		{"a download waits for its link", study.ClockReal, "file@100MB", nil, workload.Overhead + 600*time.Millisecond + 8*time.Second, streamCost + 5*time.Second},
		{"a download without a limit", study.ClockReal, "file@100MB", func(s *study.Stream) { s.Rate = 0 }, streamCost + 5*time.Second, streamCost + 5*time.Second},
		{"nobody waits in a guest", study.ClockVirtual, "file@100MB", nil, streamCost + 5*time.Second, streamCost + 5*time.Second},
		{"a viewing with seeks fills the link", study.ClockReal, "clip", nil, workload.Overhead + time.Minute, streamCost + 37500*time.Millisecond},
		{"a viewing plays", study.ClockReal, "clip", func(s *study.Stream) { s.Seeks = 0 }, workload.Overhead + time.Minute, streamCost + 22500*time.Millisecond},
		{"a viewing over a slow link", study.ClockVirtual, "clip", func(s *study.Stream) { s.Rate = 1_000_000 }, streamCost + 375*time.Millisecond, streamCost + 375*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := *s
			if c.change != nil {
				c.change(&options)
			}
			media, err := storage.ParseMedia(c.media)
			if err != nil {
				t.Fatal(err)
			}
			e := estimate(c.clock, media, slow, &options)
			if e.Duration != c.duration || e.Processor != c.work {
				t.Errorf("%v of %v, want %v of %v", e.Processor, e.Duration, c.work, c.duration)
			}
		})
	}
}
