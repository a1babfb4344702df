package player

import (
	"testing"
	"time"
)

// TestSeveralRequestsAtOnce checks that segments that come before those that precede them wait, and that no more are requested
// than there is room for.
func TestSeveralRequestsAtOnce(t *testing.T) {
	c := viewing()
	c.Parallel, c.Ahead = 3, 4
	s := begin(t, c)
	s.LinkDelay(50*ms, 10*ms)
	s.Connected(100*ms, 1)
	s.ordered("connect 1", "ask 1 in 1: hd 0 from 0", "ask 2 in 1: qhd 1 from 0", "ask 3 in 1: qhd 2 from 0")
	s.comes(200*ms, 2, qhdOctets) // waits for the first
	s.ordered()                   // it keeps its place among the three
	s.looks(200*ms, Starting, 0, 0)
	s.octets(0, 0, qhdOctets)
	s.comes(300*ms, 1, hdOctets)
	s.ordered("ask 4 in 1: qhd 3 from 0") // four is all that the buffer holds
	s.looks(300*ms, Playing, 0, 2*time.Second)
	s.comes(400*ms, 3, qhdOctets)
	s.comes(500*ms, 4, qhdOctets)
	s.ordered()
	s.looks(1300*ms, Playing, time.Second, 3*time.Second)
	s.ordered("ask 5 in 1: qhd 4 from 0")
	if l := s.Figures().Loads[1]; !l.Whole || l.Ended != 200*ms || l.Wanted != 0 {
		t.Errorf("the load that came first is %+v", l)
	}
}

// TestALostSessionKeepsWhatCameOfEachRequest checks that all requests are made again, each for the rest, if the rule chooses the
// same resolutions.
func TestALostSessionKeepsWhatCameOfEachRequest(t *testing.T) {
	c := viewing() // the manager says nothing: always HD
	c.Parallel = 2
	s := connected(t, c)
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Answered(200*ms, 2, hdOctets, 100)
	s.Received(300*ms, 2, 700_000)
	s.Received(350*ms, 1, 300_000)
	s.Lost(400*ms, 1, errGone)
	s.Connected(500*ms, 2)
	s.ordered("connect 2", "ask 3 in 2: hd 0 from 300000", "ask 4 in 2: hd 1 from 700000")
	s.octets(0, 0, 1_000_000)
	s.Answered(550*ms, 3, hdOctets, 100)
	s.Received(550*ms, 3, 1) // so that the next failure is the first
	s.Failed(600*ms, 4, errGone)
	s.ordered("ask 5 in 2: hd 1 from 700000")
}

// TestASeekIntoWhatIsUnderWay checks that a seek keeps the requests from its target on and cancels those before it.
func TestASeekIntoWhatIsUnderWay(t *testing.T) {
	c := viewing()
	c.Parallel, c.For, c.SeekProbability = 3, time.Minute, 1e-12
	s := connected(t, c)
	s.comes(200*ms, 1, hdOctets)
	s.Orders()
	s.comes(300*ms, 3, hdOctets) // segment 2 waits for segment 1
	s.Answered(400*ms, 2, hdOctets, 100)
	s.Received(400*ms, 2, 500_000)
	s.seek(2)
	s.ordered("cancel 2 in 1", "ask 5 in 1: hd 4 from 0", "ask 6 in 1: hd 5 from 0")
	s.looks(400*ms, Playing, 2*time.Second, time.Second)
	s.octets(200_000, 1_300_000, hdOctets)
	s.seek(50)
	s.ordered("cancel 4 in 1", "cancel 5 in 1", "cancel 6 in 1", "ask 7 in 1: hd 50 from 0", "ask 8 in 1: hd 51 from 0", "ask 9 in 1: hd 52 from 0")
}

// TestAFileInParts checks that the parts make up the file, that a part is requested again from where it broke off, and that the
// file is whole with its last part.
func TestAFileInParts(t *testing.T) {
	c := Config{Mode: File, FileSize: 1_000_003, Parallel: 3, OnHandover: Reconnect}
	s := begin(t, c)
	s.Connected(100*ms, 1)
	s.ordered("connect 1", "ask 1 in 1: plain 0 from 0, 333334 octets", "ask 2 in 1: plain 0 from 333334, 333334 octets", "ask 3 in 1: plain 0 from 666668, 333335 octets")
	s.Answered(200*ms, 1, 1_000_003, 1)
	s.Received(300*ms, 1, 333_334)
	s.Answered(300*ms, 3, 1_000_003, 1)
	s.Received(400*ms, 3, 100_000)
	s.Lost(500*ms, 1, errGone)
	s.Connected(600*ms, 2)
	s.ordered("connect 2", "ask 4 in 2: plain 0 from 333334, 333334 octets", "ask 5 in 2: plain 0 from 766668, 233335 octets")
	s.Answered(700*ms, 5, 1_000_003, 1)
	s.Received(800*ms, 5, 233_335)
	if _, whole := s.Figures().TTD(); whole || s.Over() {
		t.Error("the file is whole without its second part")
	}
	s.Answered(900*ms, 4, 1_000_003, 1)
	s.Received(1000*ms, 4, 333_334)
	s.octets(0, 0, 1_000_003)
	if ttd, whole := s.Figures().TTD(); !whole || ttd != time.Second || !s.Over() {
		t.Errorf("the TTD is %v, %v", ttd, whole)
	}
	if l := s.Figures().Loads[2]; l.Octets != 333_335 || l.Requests != 2 {
		t.Errorf("the last part is %+v", l)
	}

	// A server whose file is shorter than the parts counts as failed.
	s = connected(t, c)
	s.Answered(200*ms, 2, 500_000, 1)
	s.ordered("ask 4 in 1: plain 0 from 333334, 333334 octets")
}

func TestWhatCannotBeFetchedAtOnce(t *testing.T) {
	c := viewing()
	c.Rule, c.Parallel = Throughput, 2
	for _, c := range []Config{c, {Mode: File, Parallel: 4, FileSize: 3, OnHandover: Reconnect}, {Mode: File, Parallel: -1, OnHandover: Reconnect}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
