package report

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
)

const ms = time.Millisecond

// comes lets a request be answered and come whole at one moment.
func comes(p *player.Player, at time.Duration, request int, octets int64) {
	p.Answered(at, request, octets, 0)
	p.Received(at, request, octets)
}

// begun is a player that has made its first request at 100 ms.
func begun(t *testing.T, c player.Config) *player.Player {
	t.Helper()
	c.OnHandover, c.Rule = player.Reconnect, player.Paper
	p, err := player.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Connected(100*ms, 1)
	return p
}

// A video of three segments: it starts at 0.5 s, stalls from 1.5 to 3.5 s while its
// host reconnects, and ends with the last segment.
func TestATimelineTellsWhatTheViewerSaw(t *testing.T) {
	p := begun(t, player.Config{Mode: player.View, Segments: 3, StartAt: 1, ResumeAt: 2, Ahead: 3})
	p.LinkDelay(100*ms, 20*ms)
	comes(p, 500*ms, 1, 1_000_000) // HD first
	p.Answered(1000*ms, 2, 4_000_000, 0)
	p.Received(1000*ms, 2, 500_000)
	p.Associate(2000*ms, "AP2")
	p.Connected(2100*ms, 2)
	comes(p, 2500*ms, 3, 1_000_000) // HD again
	comes(p, 3500*ms, 4, 4_000_000)
	p.Advance(10 * time.Second)
	f := p.Figures()
	if f.Duration != 5500*ms {
		t.Fatalf("it lasts %v", f.Duration)
	}
	got := timeline(&record.Stream{Player: string(player.Paper), Figures: f, Epoch: 10 * ms,
		Manager: []manager.Event{{Delay: 20 * ms}, {At: time.Second, Delay: 30 * ms}, {At: 2 * time.Second, Delay: 30 * ms, Access: "AP2"}, {At: 5600 * ms, Delay: 50 * ms}}})

	if want := [][2]float64{{0, 0}, {500, 0}, {500, 1}, {1500, 0}, {2500, 0}, {2500, 1}, {3500, 1}, {3500, 2}, {5500, 0}}; !slices.Equal(got.Buffer, want) {
		t.Errorf("the buffer goes\n%v, want\n%v", got.Buffer, want)
	}
	if want := []Span{{0, 500, "starting", ""}, {500, 1500, "playing", "hd"}, {1500, 3500, "stalled", ""}, {3500, 4500, "playing", "hd"}, {4500, 5500, "playing", "qhd"}}; !slices.Equal(got.Spans, want) {
		t.Errorf("the viewer saw\n%v, want\n%v", got.Spans, want)
	}
	// 1 MB in the first second, 0.5 MB in the second, and so on; the half second at the
	// end has no stretch of its own.
	if want := []float64{8, 4, 8, 32, 0}; !slices.Equal(got.Goodput, want) || got.Step != 1000 || got.Duration != 5500 {
		t.Errorf("the goodput is %v per %v ms, want %v", got.Goodput, got.Step, want)
	}
	if want := [][2]float64{{0, 20}, {1010, 30}}; !slices.Equal(got.Delay, want) {
		t.Errorf("the delay is %v, want %v", got.Delay, want)
	}
	if want := []Handover{{2000, "AP2", 2100, 2500}}; !slices.Equal(got.Handovers, want) {
		t.Errorf("the handovers are %v, want %v", got.Handovers, want)
	}
}

func TestATimelineTellsOfSeeks(t *testing.T) {
	p := begun(t, player.Config{Mode: player.View, Segments: 100, SeekProbability: 1, For: 3500 * ms, Seed: 1})
	comes(p, 500*ms, 1, 1_000_000)
	p.Advance(10 * time.Second)
	got := timeline(&record.Stream{Player: string(player.Paper), Figures: p.Figures(), Epoch: -1})
	if len(got.Seeks) != 3 || got.Seeks[0].At != 1000 || got.Seeks[2].At != 3000 {
		t.Errorf("the seeks are %v", got.Seeks)
	}
	if want := []Span{{0, 500, "starting", ""}, {500, 1000, "playing", "hd"}, {1000, 3500, "seeking", ""}}; !slices.Equal(got.Spans, want) {
		t.Errorf("the viewer saw %v, want %v", got.Spans, want)
	}
	if want := [][2]float64{{0, 0}, {500, 0}, {500, 1}, {1000, 0.5}, {1000, 0}, {3500, 0}}; !slices.Equal(got.Buffer, want) || got.Delay != nil {
		t.Errorf("the buffer goes %v, want %v; the delay is %v", got.Buffer, want, got.Delay)
	}
}

func TestATimelineSaysWhyAStreamFailed(t *testing.T) {
	p := begun(t, player.Config{Mode: player.File})
	p.End(400*ms, errors.New("the server is gone"))
	got := timeline(&record.Stream{Player: download, Figures: p.Figures(), Epoch: -1})
	if got.Failure != "the server is gone" || got.Duration != 400 || !slices.Equal(got.Goodput, []float64{0}) {
		t.Errorf("%+v", got)
	}
}

// A second's goodput is exact whatever is left over at the end.
func TestTheLastStretchOfAGoodput(t *testing.T) {
	for _, c := range []struct {
		octets   []int64
		duration time.Duration
		want     []float64
	}{
		{[]int64{125_000}, 500 * ms, []float64{2}},
		{[]int64{125_000}, time.Second, []float64{1}},
		{[]int64{125_000, 125_000}, time.Second, []float64{2}}, // the last octets came at 1 s
		{[]int64{125_000, 125_000}, time.Second + 1, []float64{2}},
		{[]int64{125_000, 250_000}, 2 * time.Second, []float64{1, 2}},
		{[]int64{125_000, 125_000, 62_500}, 2500 * ms, []float64{1, 1}},
		{nil, 3 * time.Second, []float64{0, 0, 0}},
		{nil, 0, []float64{0}},
	} {
		if got := goodput(player.Figures{Goodput: c.octets, Duration: c.duration}, time.Second); !slices.Equal(got, c.want) {
			t.Errorf("%v in %v are %v Mbit/s, want %v", c.octets, c.duration, got, c.want)
		}
	}
}

// What lasts long is told in fewer and longer steps.
func TestALongTimelineIsShort(t *testing.T) {
	f := player.Figures{Duration: 1500*time.Second + 1}
	events := []manager.Event{}
	for i := range 2000 {
		f.Goodput = append(f.Goodput, 125_000)
		events = append(events, manager.Event{At: time.Duration(i) * time.Second, Delay: time.Duration(10*(i%3)) * ms})
	}
	f.Goodput = f.Goodput[:1501]
	got := timeline(&record.Stream{Player: download, Figures: f, Manager: events})
	if got.Step != 3000 || len(got.Goodput) != 500 || got.Goodput[7] != 1 {
		t.Errorf("%d values of %v ms, such as %v Mbit/s", len(got.Goodput), got.Step, got.Goodput[7])
	}
	for i, p := range got.Delay[:500] {
		if p != [2]float64{float64(3000 * i), 10} { // the mean of 0, 10 and 20 ms
			t.Fatalf("the delay of step %d is %v", i, p)
		}
	}
	if last := got.Delay[len(got.Delay)-1]; fmt.Sprint(last) != "[1.5e+06 0]" {
		t.Errorf("the last delay is %v", last)
	}
}
