package player

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestSeek checks what a seek keeps and what it discards.
func TestSeek(t *testing.T) {
	// At 1.5 s segments 0 to 2 are buffered, the first half is played, and 250,000 octets of
	// segment 3 have arrived.
	for _, test := range []struct {
		name                 string
		to                   int
		state                State
		buffer               time.Duration
		played, wasted, held int64
		orders               []string
	}{
		{"to where it is", 0, Playing, 3 * time.Second, 0, 0, 3_250_000, nil},
		{"into the buffer", 2, Playing, time.Second, 500_000, 1_500_000, 1_250_000, nil},
		{"to what is under way", 3, Seeking, 0, 500_000, 2_500_000, 250_000, nil},
		{"behind that", 4, Seeking, 0, 500_000, 2_750_000, 0, []string{"cancel 4 in 1", "ask 5 in 1: hd 4 from 0"}},
		{"to the last segment", 99, Seeking, 0, 500_000, 2_750_000, 0, []string{"cancel 4 in 1", "ask 5 in 1: hd 99 from 0"}},
		{"to the end", 100, Ended, 0, 500_000, 2_750_000, 0, []string{"cancel 4 in 1"}},
		{"far past the end", 1000, Ended, 0, 500_000, 2_750_000, 0, []string{"cancel 4 in 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := viewing()
			c.For, c.SeekProbability = time.Minute, 1e-12 // so that the end of the video is not that of the viewing
			s := connected(t, c)
			for request := range 3 {
				s.comes(time.Second, request+1, hdOctets)
			}
			s.Answered(1200*ms, 4, hdOctets, 100)
			s.Received(1200*ms, 4, 250_000)
			s.Orders()
			s.Advance(1500 * ms)
			s.seek(test.to)
			s.ordered(test.orders...)
			s.looks(1500*ms, test.state, time.Duration(test.to)*time.Second, test.buffer)
			s.octets(test.played, test.wasted, test.held)
			if f := s.Figures(); f.Stalls != 0 || f.Seeks != 1 {
				t.Errorf("%d stalls, %d seeks", f.Stalls, f.Seeks)
			}
			if test.state == Ended {
				return
			}
			if test.orders != nil {
				s.Received(1600*ms, 4, 50_000) // was under way when the request was cancelled
				s.octets(test.played, test.wasted+50_000, test.held)
				if l := s.Figures().Loads[3]; l.Whole || l.Ended != 1500*ms {
					t.Errorf("the load that was cancelled is %+v", l)
				}
			}
			s.LinkDelay(2*time.Second, 10*ms)
			s.comes(2*time.Second, s.requests, hdOctets)
			s.Advance(2 * time.Second)
			if got := s.Status().State; got != Playing {
				t.Errorf("with the segment it is %s", got)
			}
		})
	}
}

// TestWaitingAfterASeek checks that a seek ends a stall, and that waiting after a seek is
// not a stall and uses StartAt again.
func TestWaitingAfterASeek(t *testing.T) {
	c := viewing()
	c.StartAt, c.ResumeAt = 2, 1
	s := connected(t, c)
	s.comes(time.Second, 1, hdOctets)
	s.comes(time.Second, 2, hdOctets)
	s.Advance(3500 * ms) // stalls at 3 s
	s.seek(40)
	s.comes(5*time.Second, 4, hdOctets)
	s.looks(5*time.Second, Seeking, 40*time.Second, time.Second)
	s.comes(6*time.Second, 5, hdOctets)
	s.looks(6*time.Second, Playing, 40*time.Second, 2*time.Second)
	want := Times{Starting: time.Second, Playing: 2 * time.Second, Stalled: 500 * ms, Seeking: 2500 * ms}
	if f := s.Figures(); f.Times != want || f.Stalls != 1 {
		t.Errorf("%d stalls, times %+v, want %+v", f.Stalls, f.Times, want)
	}
}

// TestSeekBeforeTheStart checks that a seek before playback leaves the viewing in its
// start-up.
func TestSeekBeforeTheStart(t *testing.T) {
	s := begin(t, viewing())
	s.seek(7)
	s.Connected(100*ms, 1)
	s.ordered("connect 1", "ask 1 in 1: hd 7 from 0")
	s.comes(900*ms, 1, hdOctets)
	s.looks(900*ms, Playing, 7*time.Second, time.Second)
	if f := s.Figures(); f.StartUp != 900*ms || f.Times.Seeking != 0 || len(f.Loads) != 3 || f.Loads[0].Requests != 0 {
		t.Errorf("%+v", f)
	}
}

// TestPastTheEnd covers a server whose video ends earlier than the player assumed.
func TestPastTheEnd(t *testing.T) {
	c := viewing()
	c.For, c.SeekProbability = time.Minute, 1e-12
	s := connected(t, c)
	s.comes(time.Second, 1, hdOctets)
	s.seek(60)
	s.Orders()
	s.PastEnd(1100*ms, 3, 30)
	s.ordered()
	s.looks(1100*ms, Ended, 60*time.Second, 0)
	s.seek(30) // it knows now
	s.ordered()
	s.looks(1200*ms, Ended, 30*time.Second, 0)
	s.seek(29)
	s.ordered("ask 4 in 1: hd 29 from 0")
	s.comes(1500*ms, 4, hdOctets)
	s.looks(2500*ms, Ended, 30*time.Second, 0)
	if f := s.Figures(); f.Failure != "" || s.Over() {
		t.Errorf("%+v", f)
	}

	// Without seeks the viewing ends there.
	s = connected(t, viewing())
	s.comes(time.Second, 1, hdOctets)
	s.PastEnd(1500*ms, 2, 1)
	s.Advance(2 * time.Second)
	if f := s.Figures(); !s.Over() || f.Duration != 2*time.Second || f.Stalls != 0 {
		t.Errorf("%+v", f)
	}

	// The server may correct the number of segments with any response.
	s = connected(t, viewing())
	s.Answered(time.Second, 1, hdOctets, 2)
	s.Received(time.Second, 1, hdOctets)
	s.comes(1500*ms, 2, hdOctets)
	s.Advance(time.Minute)
	if f := s.Figures(); !s.Over() || f.Duration != 3*time.Second {
		t.Errorf("%+v", f)
	}
	c.StartAt = 2
	s = connected(t, c)
	s.comes(time.Second, 1, hdOctets)
	s.PastEnd(1500*ms, 2, 0)
	s.looks(1500*ms, Ended, time.Second, 0)
	s.octets(0, hdOctets, 0)
	s = connected(t, c)
	for request := range 3 {
		s.comes(time.Second, request+1, hdOctets)
	}
	s.Answered(1200*ms, 4, hdOctets, 2)
	s.Orders()
	s.seek(2)
	s.ordered("cancel 4 in 1")
	s.looks(1200*ms, Ended, 2*time.Second, 0)

	// A server that contradicts itself counts as failed.
	s = connected(t, viewing())
	s.PastEnd(time.Second, 1, 50)
	s.ordered("ask 2 in 1: hd 0 from 0")
}

// TestSeeksFollowFromTheSeed checks that the times and targets of seeks depend on the seed,
// not on the network.
func TestSeeksFollowFromTheSeed(t *testing.T) {
	seeks := func(seed uint64, w wire) (all []Entry) {
		for _, e := range run(t, watched(seed), w).Timeline {
			if e.Event == Sought {
				all = append(all, Entry{At: e.At, Segment: e.Segment})
			}
		}
		return all
	}
	fast := wire{setUp: 10 * ms, delay: 5 * ms, perOctet: 80}
	slow := wire{setUp: 900 * ms, delay: 300 * ms, perOctet: 2000, loses: []time.Duration{7 * time.Second}}
	one := seeks(1, fast)
	if !slices.Equal(one, seeks(1, slow)) {
		t.Error("the network changes the seeks")
	}
	if slices.Equal(one, seeks(2, fast)) {
		t.Error("two seeds give the same seeks")
	}
	for _, e := range one {
		if e.At%time.Second != 0 || e.At == 0 || e.Segment < 0 || e.Segment > 99 {
			t.Errorf("a seek at %v to %d", e.At, e.Segment)
		}
	}
}

// TestSeeksAreAsFrequentAsToldAndEverywhere runs 10,000 seconds: the share of seeks must be
// within four standard deviations of 30 %, and targets must be everywhere.
func TestSeeksAreAsFrequentAsToldAndEverywhere(t *testing.T) {
	c := viewing()
	c.For, c.SeekProbability, c.GiveUp = 10_000*time.Second+1, 0.3, 20_000*time.Second
	s := begin(t, c)
	s.Advance(c.For)
	f := s.Figures()
	if deviation := math.Sqrt(10_000 * 0.3 * 0.7); math.Abs(float64(f.Seeks)-3000) > 4*deviation {
		t.Errorf("%d seeks in 10,000 s", f.Seeks)
	}
	var to [10]int
	for _, e := range f.Timeline {
		if e.Event == Sought {
			to[e.Segment/10]++
		}
	}
	for i, n := range to {
		if expected := float64(f.Seeks) / 10; math.Abs(float64(n)-expected) > 4*math.Sqrt(expected) {
			t.Errorf("%d of %d seeks go to segments %d to %d", n, f.Seeks, 10*i, 10*i+9)
		}
	}
}

func TestSeekProbabilityOfOneAndNone(t *testing.T) {
	c := watched(1)
	for probability, want := range map[float64]int{0: 0, 1: 29} {
		c.SeekProbability = probability
		if f := run(t, c, wire{setUp: 10 * ms, delay: 5 * ms, perOctet: 80}); f.Seeks != want {
			t.Errorf("with a probability of %v, %d seeks in 30 s, want %d", probability, f.Seeks, want)
		}
	}
}

// TestSeekFromOutside: somebody else has the viewer seek, and the viewing lasts beyond the end of the video.
func TestSeekFromOutside(t *testing.T) {
	c := viewing()
	c.For, c.SeeksFromOutside = time.Minute, true
	s := connected(t, c)
	s.Seek(200*ms, 40)
	s.ordered("cancel 1 in 1", "ask 2 in 1: hd 40 from 0")
	s.Seek(300*ms, 100)
	s.Seek(300*ms, -1)
	if f := s.Figures(); f.Seeks != 1 {
		t.Errorf("%d seeks, want 1: the others lead out of the video", f.Seeks)
	}
	c.SeekProbability = 0.3
	if _, err := New(c); err == nil {
		t.Error("seeks of two origins are accepted")
	}
}

// TestRebound: the player does nothing about a rebinding, and notes when the longest silence after it ended.
func TestRebound(t *testing.T) {
	s := connected(t, viewing())
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Received(200*ms, 1, 1000)
	s.Rebound(300 * ms)
	s.ordered()
	s.Received(350*ms, 1, 1000) // was under way
	s.Received(950*ms, 1, 1000)
	s.Received(1000*ms, 1, 1000)
	if list := s.Figures().Rebindings; len(list) != 1 || list[0] != (Rebinding{At: 300 * ms, Recovered: 950 * ms}) {
		t.Errorf("the rebindings are %+v", list)
	}
}
