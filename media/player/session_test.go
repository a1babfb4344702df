package player

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestWhatCameBeforeAFailureIsKept checks that the received part of a segment is kept and
// the rest requested if the rule chooses the same resolution again.
func TestWhatCameBeforeAFailureIsKept(t *testing.T) {
	s := connected(t, viewing()) // the manager says nothing: always HD
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Received(300*ms, 1, 300_000)
	s.Lost(500*ms, 1, errGone)
	s.ordered("connect 2") // the first attempt at once
	s.octets(0, 0, 300_000)
	s.Received(550*ms, 1, 100_000) // too late
	s.octets(0, 100_000, 300_000)
	s.Connected(600*ms, 2)
	s.ordered("ask 2 in 2: hd 0 from 300000")
	s.Answered(700*ms, 2, hdOctets, 100)
	s.Received(800*ms, 2, 200_000)
	s.Failed(850*ms, 2, errors.New("the server could not read"))
	s.ordered("ask 3 in 2: hd 0 from 500000")
	s.Answered(900*ms, 3, hdOctets, 100)
	s.Received(1000*ms, 3, 500_001) // one octet too many
	s.octets(0, 100_001, hdOctets)
	l := s.Figures().Loads[0]
	if want := (Load{Asked: 100 * ms, Began: 900 * ms, Ended: time.Second, Resolution: HD, Whole: true, Octets: hdOctets, Requests: 3}); l != want {
		t.Errorf("the load is %+v, want %+v", l, want)
	}
}

// TestAnotherResolutionAfterAFailureBeginsAnew checks that part of a larger segment is
// discarded, because the paper's rule chooses HD after connecting.
func TestAnotherResolutionAfterAFailureBeginsAnew(t *testing.T) {
	s := connected(t, viewing())
	s.LinkDelay(100*ms, 150*ms)
	s.comes(200*ms, 1, hdOctets)
	s.ordered("ask 2 in 1: fhd 1 from 0")
	s.Answered(300*ms, 2, fhdOctets, 100)
	s.Received(400*ms, 2, 1_900_000)
	s.Lost(500*ms, 1, errGone)
	s.Connected(600*ms, 2)
	s.ordered("connect 2", "ask 3 in 2: hd 1 from 0")
	s.octets(400_000, 1_900_000, 600_000)

	// The server has changed the size.
	s = connected(t, viewing())
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Received(300*ms, 1, 300_000)
	s.Failed(400*ms, 1, errGone)
	s.Answered(500*ms, 2, 200_000, 100)
	s.Advance(1500 * ms)
	s.ordered("ask 2 in 1: hd 0 from 300000", "ask 3 in 1: hd 0 from 0")
	s.octets(0, 300_000, 0)
}

// TestPausesBetweenAttempts checks that the player retries the first failure since an octet
// at once, and each further one after a second.
func TestPausesBetweenAttempts(t *testing.T) {
	s := begin(t, viewing())
	s.ordered("connect 1")
	s.Lost(200*ms, 1, errGone)
	s.ordered("connect 2")
	s.Lost(300*ms, 2, errGone)
	s.Lost(400*ms, 2, errGone) // once is enough
	s.ordered()
	if at, ok := s.Next(); at != 1300*ms || !ok {
		t.Errorf("next is %v, %v; the third attempt is due at 1.3 s", at, ok)
	}
	s.Advance(1300*ms - 1)
	s.ordered()
	s.Advance(1300 * ms)
	s.ordered("connect 3")
	s.Connected(1400*ms, 3)
	s.ordered("ask 1 in 3: hd 0 from 0")
	s.Failed(1500*ms, 1, errGone)
	s.ordered()
	s.Advance(2500 * ms)
	s.ordered("ask 2 in 3: hd 0 from 0")
	s.Answered(2600*ms, 2, hdOctets, 100) // no octet yet
	s.Lost(2700*ms, 3, errGone)
	s.ordered()
	s.Advance(3700 * ms)
	s.Connected(3800*ms, 4)
	s.Answered(3900*ms, 3, hdOctets, 100)
	s.Received(3900*ms, 3, 1)
	s.Lost(4000*ms, 4, errGone)
	s.ordered("connect 4", "ask 3 in 4: hd 0 from 0", "connect 5")
	want := []Session{
		{0, 0, 200 * ms}, {200 * ms, 0, 300 * ms}, {1300 * ms, 1400 * ms, 2700 * ms}, {3700 * ms, 3800 * ms, 4000 * ms}, {4000 * ms, 0, 0},
	}
	if got := s.Figures().Sessions; !reflect.DeepEqual(got, want) {
		t.Errorf("sessions %v, want %v", got, want)
	}
}

// TestASessionThatACancelledRequestTookAlong checks that a transport that cancels requests
// by closing the session does not count as failed, however often in a row.
func TestASessionThatACancelledRequestTookAlong(t *testing.T) {
	s := connected(t, viewing())
	for i := 1; i < 5; i++ {
		at := time.Duration(i) * time.Second
		s.Advance(at)
		s.seek(10 * i)
		s.Orders()
		s.Lost(at, i, nil)
		s.Connected(at+100*ms, i+1)
		if got := s.Orders(); len(got) != 2 || got[0].Kind != Connect || got[1].Kind != Ask || got[1].Segment != 10*i {
			t.Fatalf("after seek %d it orders %+v", i, got)
		}
	}
}

func TestTheViewerGivesUp(t *testing.T) {
	c := viewing()
	c.GiveUp = 10 * time.Second
	s := connected(t, c)
	s.Failed(150*ms, 1, errGone) // which is forgotten when octets come
	s.Answered(200*ms, 2, hdOctets, 100)
	s.Received(3*time.Second, 2, 1)
	s.Advance(13*time.Second - 1)
	if s.Over() {
		t.Error("it gives up before its time")
	}
	s.Advance(20 * time.Second)
	if f := s.Figures(); !s.Over() || f.Duration != 13*time.Second || f.Failure != "timed out after 10s without data" {
		t.Errorf("%+v", f)
	}

	// Opening and losing connections delivers no octets.
	s = begin(t, c)
	for at := 300 * ms; !s.Over(); at += 300 * ms {
		s.Connected(at, len(s.sessions))
		s.Lost(at, len(s.sessions), errGone)
	}
	if f := s.Figures(); f.Duration != 10*time.Second || !strings.HasSuffix(f.Failure, "last failure: the server is gone") {
		t.Errorf("%+v", f)
	}

	// Without wanted octets there is no timeout.
	c.Ahead, c.GiveUp = 2, 500*ms
	s = connected(t, c)
	s.comes(200*ms, 1, hdOctets)
	s.comes(200*ms, 2, hdOctets)
	s.Advance(10 * time.Second) // segment 3 is wanted from 1.2 s on
	if f := s.Figures(); !s.Over() || f.Duration != 1700*ms {
		t.Errorf("%+v", f)
	}
	c.Ahead = 60
	s = connected(t, c)
	for request := 1; request <= 60; request++ {
		s.comes(200*ms, request, hdOctets)
	}
	s.PastEnd(1300*ms, 61, 60)
	s.Advance(time.Hour)
	if f := s.Figures(); f.Duration != 60200*ms || f.Failure != "" {
		t.Errorf("%+v", f)
	}
}

// TestALongOutage has an outage longer than every timeout: the viewing continues where it
// was.
func TestALongOutage(t *testing.T) {
	s := connected(t, viewing())
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Received(300*ms, 1, 600_000)
	s.Lost(30*time.Second, 1, errGone)
	s.Lost(50*time.Second, 2, errGone)
	s.Advance(51 * time.Second)
	s.Connected(55*time.Second, 3)
	s.ordered("connect 2", "connect 3", "ask 2 in 3: hd 0 from 600000")
	s.comes(55*time.Second, 2, hdOctets)
	if f := s.Figures(); f.StartUp != 55*time.Second {
		t.Errorf("%+v", f)
	}
}

// TestHandover moves the host to the other access link at 2 s, in the middle of segment 1.
func TestHandover(t *testing.T) {
	for _, test := range []struct {
		strategy  Strategy
		at2s      []string
		at3s      []string // when it is connected again, or has moved
		recovered time.Duration
	}{
		{Reconnect, []string{"connect 2"}, []string{"ask 3 in 2: hd 1 from 0"}, 4 * time.Second},
		{ZeroRTT, []string{"connect 2"}, []string{"ask 3 in 2: hd 1 from 0"}, 4 * time.Second},
		{Migrate, []string{"move 1"}, nil, 4 * time.Second},
		{Multihome, nil, nil, 4 * time.Second},
	} {
		t.Run(string(test.strategy), func(t *testing.T) {
			c := viewing()
			c.OnHandover = test.strategy
			s := connected(t, c)
			s.LinkDelay(100*ms, 50*ms)
			s.comes(time.Second, 1, hdOctets)
			s.Answered(1500*ms, 2, qhdOctets, 100)
			s.Received(1900*ms, 2, 1_000_000)
			s.Orders()
			s.Associate(2*time.Second, "AP2")
			s.ordered(test.at2s...)
			s.Received(2050*ms, 2, 500_000) // was on its way
			s.Connected(3*time.Second, 2)
			s.Moved(3*time.Second, 1)
			s.ordered(test.at3s...)
			if s.fetches[0].request.id == 3 {
				s.Answered(4*time.Second, 3, hdOctets, 100)
			}
			s.Received(4*time.Second, s.fetches[0].request.id, 200_000)
			s.Received(4100*ms, s.fetches[0].request.id, 200_000)
			h := s.Figures().Handovers[0]
			ready := 3 * time.Second
			if test.strategy == Multihome {
				ready = 0
			}
			if want := (Handover{At: 2 * time.Second, Access: "AP2", Ready: ready, Recovered: test.recovered}); h != want {
				t.Errorf("the handover is %+v, want %+v", h, want)
			}
			wasted := int64(0)
			if test.at3s != nil {
				wasted = 1_500_000
			}
			s.octets(hdOctets, wasted, s.Figures().Received-hdOctets-wasted)
		})
	}
}

// TestHandoverWhileConnecting checks that a handover restarts a connection attempt, since
// its address is gone.
func TestHandoverWhileConnecting(t *testing.T) {
	for _, strategy := range []Strategy{Reconnect, Migrate} {
		c := viewing()
		c.OnHandover = strategy
		s := begin(t, c)
		s.Associate(50*ms, "AP2")
		s.Connected(100*ms, 1) // which was on its way
		s.ordered("connect 1", "connect 2")
		s.Lost(110*ms, 1, errGone) // so was this
		s.Connected(200*ms, 2)
		s.ordered("ask 1 in 2: hd 0 from 0")

		// A handover does not wait for the pause after failures either.
		s = begin(t, c)
		s.Lost(10*ms, 1, errGone)
		s.Lost(20*ms, 2, errGone)
		s.Associate(50*ms, "AP2")
		s.ordered("connect 1", "connect 2", "connect 3")
		s.Connected(60*ms, 3)
		s.ordered("ask 1 in 3: hd 0 from 0")
	}
}

// TestRecoveryByMultihoming checks that Multihome's recovery is the end of the longest
// silence after the handover while octets are waited for.
func TestRecoveryByMultihoming(t *testing.T) {
	c := viewing()
	c.OnHandover, c.Ahead = Multihome, 2
	s := connected(t, c)
	s.Answered(200*ms, 1, hdOctets, 100)
	s.Received(1000*ms, 1, 1)
	s.Associate(2900*ms, "AP2") // after 1.9 s of silence
	recovered := func(want time.Duration) {
		t.Helper()
		if h := s.Figures().Handovers; h[len(h)-1].Recovered != want {
			t.Errorf("handovers %+v; the last should have recovered at %v", h, want)
		}
	}
	recovered(0)
	s.Received(3000*ms, 1, 1) // was on its way
	recovered(3000 * ms)
	s.Received(3050*ms, 1, 1)
	recovered(3000 * ms)
	s.Received(4500*ms, 1, hdOctets-3)
	recovered(4500 * ms)
	s.comes(4500*ms, 2, hdOctets)
	s.Associate(4600*ms, "AP1")
	s.Answered(5550*ms, 3, hdOctets, 100) // which was asked for at 5.5 s
	s.Received(5700*ms, 3, 1)
	s.Received(6600*ms, 3, 1)
	recovered(6600 * ms)
}

// TestAHandoverIsReadyOnce checks that later sessions do not change a handover.
func TestAHandoverIsReadyOnce(t *testing.T) {
	s := connected(t, viewing())
	s.Associate(time.Second, "AP2")
	s.Connected(1100*ms, 2)
	s.Lost(1200*ms, 2, errGone)
	s.Connected(1300*ms, 3)
	if h := s.Figures().Handovers[0]; h.Ready != 1100*ms {
		t.Errorf("%+v", h)
	}
	s.Lost(1400*ms, 3, errGone)
	s.End(1500*ms, nil)
	if got := s.Figures().Sessions[2]; got.Closed != 1400*ms {
		t.Errorf("a session that was lost before the end of the viewing: %+v", got)
	}
}

// TestHandoverWithAFullBuffer checks that a handover without pending octets ends when the
// session is ready.
func TestHandoverWithAFullBuffer(t *testing.T) {
	for _, strategy := range []Strategy{Reconnect, Migrate} {
		c := viewing()
		c.Ahead, c.OnHandover = 2, strategy
		s := connected(t, c)
		s.comes(time.Second, 1, hdOctets)
		s.comes(time.Second, 2, hdOctets)
		s.Associate(1200*ms, "AP2")
		s.Connected(1500*ms, 2)
		s.Moved(1500*ms, 1)
		if h := s.Figures().Handovers[0]; h.Ready != 1500*ms || h.Recovered != 1500*ms {
			t.Errorf("%s: %+v", strategy, h)
		}
		if s.Orders(); len(s.Figures().Loads) != 2 {
			t.Errorf("%s: it requests a segment without room in the buffer", strategy)
		}
	}
}

// TestFile checks that TTD includes connecting and failures.
func TestFile(t *testing.T) {
	const size = 1_000_000_000
	c := Config{Mode: File, OnHandover: Reconnect, SeekProbability: 1, Seed: 1}
	s := begin(t, c)
	s.Connected(100*ms, 1)
	s.ordered("connect 1", "ask 1 in 1: plain 0 from 0")
	s.Answered(200*ms, 1, size, 1)
	for second := range 20 {
		s.Received(time.Duration(second+1)*time.Second, 1, 20_000_000)
	}
	s.LinkDelay(20*time.Second, 150*ms) // nothing to a file
	s.Associate(20500*ms, "AP2")
	s.Connected(21*time.Second, 2)
	s.ordered("connect 2", "ask 2 in 2: plain 0 from 400000000")
	s.Answered(21*time.Second, 2, size, 1)
	s.Received(30*time.Second, 2, 600_000_000-1)
	if s.octets(0, 0, size-1); s.Over() {
		t.Error("the viewing ends with an octet missing")
	}
	s.Received(30*time.Second+1, 2, 1)
	f := s.Figures()
	if ttd, ok := f.TTD(); ttd != 30*time.Second+1 || !ok || !s.Over() || f.Duration != ttd || f.Failure != "" || f.Seeks != 0 || f.Times.Starting != ttd {
		t.Errorf("TTD %v, %v of %+v", ttd, ok, f)
	}
	s.octets(0, 0, size)
	s.ordered()
	if want := 31; len(f.Goodput) != want || f.Goodput[0] != 0 || f.Goodput[20] != 20_000_000 || f.Goodput[30] != 600_000_000 {
		t.Errorf("goodput %v", f.Goodput)
	}

	// The server disappears for good in the middle.
	s = begin(t, c)
	s.Connected(100*ms, 1)
	s.Answered(200*ms, 1, size, 1)
	s.Received(time.Second, 1, 1000)
	for at := 2 * time.Second; !s.Over(); at += 300 * ms {
		s.Lost(at, len(s.sessions), errGone)
	}
	f = s.Figures()
	if _, ok := f.TTD(); ok || f.Duration != 61*time.Second || f.Failure != "timed out after 1m0s without data; last failure: the server is gone" || f.Held != 1000 {
		t.Errorf("%+v", f)
	}

	if _, ok := (Figures{}).TTD(); ok {
		t.Error("a viewing that never was has a TTD")
	}

	// An empty file is complete once the request is answered.
	s = begin(t, c)
	s.Connected(100*ms, 1)
	s.Answered(200*ms, 1, 0, 1)
	if ttd, ok := s.Figures().TTD(); ttd != 200*ms || !ok || !s.Over() {
		t.Errorf("TTD of nothing: %v, %v", ttd, ok)
	}
}

// TestWordsThatDoNotFit checks that late, repeated and pointless reports change nothing.
func TestWordsThatDoNotFit(t *testing.T) {
	s := begin(t, viewing())
	s.Moved(50*ms, 1) // a session that is being opened
	s.Connected(100*ms, 1)
	s.Orders()
	before := len(s.Figures().Timeline)
	s.Connected(200*ms, 1)
	s.Connected(200*ms, 2)
	s.Moved(200*ms, 2)
	s.Lost(200*ms, 0, errGone)
	s.Lost(200*ms, 2, errGone)
	s.Answered(200*ms, 0, 1, 1)
	s.Answered(200*ms, 2, 1, 1)
	s.Received(200*ms, 2, 5)
	s.Received(200*ms, 0, 5)
	s.Received(200*ms, 1, 0)
	s.Received(200*ms, 1, -5)
	s.Failed(200*ms, 2, errGone)
	s.PastEnd(200*ms, 2, 0)
	s.ordered()
	if got := len(s.Figures().Timeline); got != before || before != 3 {
		t.Errorf("the timeline has %d entries more", got-before)
	}
	s.octets(0, 0, 0)
	s.Received(200*ms, 1, 5) // before its response has begun: nobody knows of what
	s.octets(0, 5, 0)
	s.Advance(100 * ms) // time does not go back
	if got := s.Figures().Duration; got != 200*ms {
		t.Errorf("it is %v", got)
	}
}
