package study

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/media/manager"
	"wiretime/network"
)

// streams returns a study of one file over the given transports.
func streams(transports ...string) *Study {
	return &Study{
		Seed: 1, Repeats: 1, Workload: Streams(),
		Matrix: map[Axis][]string{
			AxisMedia: {"file@1GB"}, AxisTransport: transports, AxisPlayer: {"download"},
			AxisLinkDelay: {"50ms"}, AxisLoss: {"0%"}, AxisReconnections: {"0"},
			AxisCongestion: {"cubic"}, AxisInitCwnd: {"10"}, AxisClock: {ClockReal}, AxisStrategy: {StrategyReconnect},
		},
		Options: Options{Timeout: time.Hour, Stream: &Stream{
			Access: manager.AccessPoints(), Rate: manager.DefaultRate, Period: time.Second, Duration: 40 * time.Second,
		}},
	}
}

func TestTheManagerOfAStream(t *testing.T) {
	o := streams().Options
	link := Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 3}
	want := manager.Config{Name: "50ms-1%-3x", Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Delay: 50 * time.Millisecond, Loss: 0.01,
		Period: time.Second, Duration: 40 * time.Second, Reconnections: 3, Seed: 7}
	if d := cmp.Diff(want, o.Manager(link, 0, 7)); d != "" {
		t.Error("of a viewing:", d)
	}
	// The file takes 80 s at the rate; the network goes on until the timeout.
	want.Duration, want.Window = time.Hour, 80*time.Second
	if d := cmp.Diff(want, o.Manager(link, 1e9, 7)); d != "" {
		t.Error("of a download:", d)
	}
	o.Stream.Window, want.Window = time.Minute, time.Minute
	if d := cmp.Diff(want, o.Manager(link, 1e9, 7)); d != "" {
		t.Error("of a download with a window:", d)
	}
}

func TestALinkComesBackFromItsValues(t *testing.T) {
	for _, link := range []Link{
		{},
		{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2},
		{Delay: 12500 * time.Microsecond, Loss: 0.015, LossDown: true},
		{Delay: time.Second, Loss: 1, Reconnections: 100, Constant: true},
	} {
		if d := cmp.Diff(link, NewCell(Streams(), link.Values(), network.Path{}).Link()); d != "" {
			t.Error(d)
		}
	}
}

func TestAStreamKeepsItsSeedWhateverOtherCellsThereAre(t *testing.T) {
	seeds := func(s *Study) map[string]uint64 {
		all := map[string]uint64{}
		for _, p := range s.Plan(s.Cells(nil)) {
			all[p.Cell.Key()] = p.Seed
		}
		return all
	}
	few, more := seeds(streams("tcp")), seeds(streams("quic", "tcp"))
	for key, seed := range few {
		if more[key] != seed {
			t.Errorf("%s has seeds %d and %d", key, seed, more[key])
		}
	}
}
