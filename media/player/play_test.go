package player

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestAViewingToTheNanosecond follows one viewing moment by moment; every figure was
// computed by hand.
func TestAViewingToTheNanosecond(t *testing.T) {
	c := viewing()
	c.Segments, c.StartAt, c.ResumeAt, c.Ahead = 5, 2, 1, 3
	s := begin(t, c)
	s.LinkDelay(0, 20*ms)
	s.ordered("connect 1")
	s.Connected(60*ms, 1)
	s.ordered("ask 1 in 1: hd 0 from 0") // HD right after connecting
	s.Answered(100*ms, 1, hdOctets, 5)
	s.Received(300*ms, 1, 400_000)
	s.looks(400*ms, Starting, 0, 0)
	s.Received(500*ms, 1, 600_000)
	s.ordered("ask 2 in 1: qhd 1 from 0")
	s.looks(500*ms, Starting, 0, time.Second) // one of two

	s.comes(1500*ms+1, 2, qhdOctets)
	s.looks(1500*ms+1, Playing, 0, 2*time.Second)
	s.ordered("ask 3 in 1: qhd 2 from 0")
	s.comes(2000*ms, 3, qhdOctets)
	s.ordered() // 2.5 s are buffered, there is no room for another segment
	s.looks(2500*ms, Playing, 999_999_999, 2000*ms+1)
	s.looks(2500*ms+1, Playing, time.Second, 2*time.Second)
	s.ordered("ask 4 in 1: qhd 3 from 0")

	s.looks(4500*ms, Playing, 3*time.Second-1, 1)
	s.looks(4500*ms+1, Stalled, 3*time.Second, 0)
	s.looks(5000*ms, Stalled, 3*time.Second, 0)
	s.LinkDelay(5000*ms, 150*ms) // comes too late for request 4
	s.comes(5200*ms, 4, qhdOctets)
	s.ordered("ask 5 in 1: fhd 4 from 0")
	s.looks(5200*ms, Playing, 3*time.Second, time.Second)
	s.comes(6200*ms, 5, fhdOctets) // as the buffer runs out: in time
	s.looks(6200*ms, Playing, 4*time.Second, time.Second)
	s.ordered()
	s.Advance(8 * time.Second)

	if !s.Over() {
		t.Error("the viewing goes on past the end of the video")
	}
	f := s.Figures()
	if f.Duration != 7200*ms || !f.Started || f.StartUp != 1500*ms+1 || f.Stalls != 1 || f.Switches != 2 || f.Seeks != 0 || f.Failure != "" {
		t.Errorf("%+v", f)
	}
	if want := (Times{Starting: 1500*ms + 1, Playing: 5 * time.Second, Stalled: 700*ms - 1}); f.Times != want {
		t.Errorf("times %+v, want %+v", f.Times, want)
	}
	if want := float64(700*ms-1) / float64(5700*ms-1); f.Rebuffer != want {
		t.Errorf("rebuffer ratio %v, want %v", f.Rebuffer, want)
	}
	s.octets(15_000_000, 0, 0)
	if want := []int64{1_000_000, 4_000_000, 4_000_000, 0, 0, 4_000_000, 2_000_000}; !reflect.DeepEqual(f.Goodput, want) {
		t.Errorf("goodput %v, want %v", f.Goodput, want)
	}
	wantLoads := []Load{
		{Segment: 0, Resolution: HD, Asked: 60 * ms, Began: 100 * ms, Ended: 500 * ms, Whole: true, Octets: hdOctets, Requests: 1},
		{Segment: 1, Resolution: QHD, Wanted: 500 * ms, Asked: 500 * ms, Began: 1500*ms + 1, Ended: 1500*ms + 1, Whole: true, Octets: qhdOctets, Requests: 1},
		{Segment: 2, Resolution: QHD, Wanted: 1500*ms + 1, Asked: 1500*ms + 1, Began: 2000 * ms, Ended: 2000 * ms, Whole: true, Octets: qhdOctets, Requests: 1},
		{Segment: 3, Resolution: QHD, Wanted: 2500*ms + 1, Asked: 2500*ms + 1, Began: 5200 * ms, Ended: 5200 * ms, Whole: true, Octets: qhdOctets, Requests: 1},
		{Segment: 4, Resolution: FHD, Wanted: 5200 * ms, Asked: 5200 * ms, Began: 6200 * ms, Ended: 6200 * ms, Whole: true, Octets: fhdOctets, Requests: 1},
	}
	if !reflect.DeepEqual(f.Loads, wantLoads) {
		t.Errorf("loads\n%+v, want\n%+v", f.Loads, wantLoads)
	}
	if d, ok := f.Loads[0].Delay(); d != 500*ms || !ok {
		t.Errorf("the first loading delay is %v, %v; connecting counts, so it is 500 ms", d, ok)
	}
	if want := []Session{{Open: 60 * ms, Closed: 7200 * ms}}; !reflect.DeepEqual(f.Sessions, want) {
		t.Errorf("sessions %+v, want %+v", f.Sessions, want)
	}
	wantTimeline(t, f.Timeline, `
		0s connecting starting 0s
		0s delayed starting 0s
		60ms connected starting 0s
		60ms asked starting 0s
		100ms answered starting 0s
		500ms loaded starting 1s
		500ms asked starting 1s
		1.500000001s answered starting 1s
		1.500000001s loaded starting 2s
		1.500000001s playing playing 2s
		1.500000001s showing playing 2s
		1.500000001s asked playing 2s
		2s answered playing 1.500000001s
		2s loaded playing 2.500000001s
		2.500000001s showing playing 2s
		2.500000001s asked playing 2s
		3.500000001s showing playing 1s
		4.500000001s stalled stalled 0s
		5s delayed stalled 0s
		5.2s answered stalled 0s
		5.2s loaded stalled 1s
		5.2s playing playing 1s
		5.2s showing playing 1s
		5.2s asked playing 1s
		6.2s answered playing 0s
		6.2s loaded playing 1s
		6.2s showing playing 1s
		7.2s ended ended 0s
		7.2s over ended 0s`)
}

func wantTimeline(t *testing.T, timeline []Entry, want string) {
	t.Helper()
	var lines []string
	for _, e := range timeline {
		lines = append(lines, strings.Join([]string{e.At.String(), string(e.Event), string(e.State), e.Buffer.String()}, " "))
	}
	got := strings.Join(lines, "\n")
	want = strings.ReplaceAll(strings.TrimSpace(want), "\t", "")
	if got != want {
		t.Errorf("the timeline is\n%s\nwant\n%s", got, want)
	}
}

func TestStartUpAndResumptionWaitForSoManySegments(t *testing.T) {
	for _, test := range []struct {
		startAt, resumeAt, segments int
		plays, resumes              int // with how many segments come
	}{
		{1, 1, 100, 1, 1},
		{1, 3, 100, 1, 3},
		{4, 2, 100, 4, 2},
		{4, 4, 6, 4, 2}, // no more than two are left
		{4, 4, 2, 2, 0}, // and here no more than two in all
	} {
		c := viewing()
		c.Segments, c.StartAt, c.ResumeAt = test.segments, test.startAt, test.resumeAt
		s := connected(t, c)
		now, request := 100*ms, 0
		until := func() (segments int) {
			for s.Status().State != Playing && !s.Over() {
				segments++
				request++
				now += time.Millisecond
				s.comes(now, request, hdOctets)
			}
			return segments
		}
		if got := until(); got != test.plays {
			t.Errorf("%+v: playback starts with %d segments", test, got)
		}
		now += time.Duration(test.plays) * SegmentLength
		s.Advance(now)
		if test.resumes == 0 {
			if s.Figures().Stalls != 0 || !s.Over() {
				t.Errorf("%+v: the end of the video is a stall", test)
			}
			continue
		}
		if got := until(); got != test.resumes || s.Figures().Stalls != 1 {
			t.Errorf("%+v: playback resumes with %d segments, after %d stalls", test, got, s.Figures().Stalls)
		}
	}
}

func TestNoMoreIsBufferedThanTheresRoomFor(t *testing.T) {
	for _, ahead := range []int{1, 2, 7} {
		c := viewing()
		c.ResumeAt, c.Ahead = 1, ahead
		s := connected(t, c)
		for request := 1; request <= 20; request++ {
			at := time.Second + time.Duration(request)*10*ms // faster than it plays
			s.comes(at, request, hdOctets)
		}
		s.looks(1900*ms, Playing, 890*ms, time.Duration(ahead)*time.Second-890*ms)
	}
}

func TestTheResolutionShownSwitches(t *testing.T) {
	s := connected(t, viewing())
	request := 0
	for i, delay := range []time.Duration{50 * ms, 50 * ms, 150 * ms, 150 * ms, 250 * ms, 50 * ms} {
		request++
		s.LinkDelay(time.Second+time.Duration(i)*ms, delay)
		s.comes(time.Second+time.Duration(i)*ms, request, hdOctets)
	}
	// hd, qhd, qhd, fhd, fhd, hd
	s.Advance(6 * time.Second)
	if f := s.Figures(); f.Switches != 3 {
		t.Errorf("%d switches, want 3: %v", f.Switches, f.Loads)
	}
}

func TestTheViewerHasEnough(t *testing.T) {
	c := viewing()
	c.For = 5 * time.Second
	s := connected(t, c)
	s.comes(time.Second, 1, hdOctets)
	s.Answered(1500*ms, 2, hdOctets, 100)
	s.Received(1500*ms, 2, 300_000)
	if at, ok := s.Next(); at != 2*time.Second || !ok {
		t.Errorf("next is %v, %v; the buffer is empty at 2 s", at, ok)
	}
	s.Advance(2 * time.Second)
	if at, ok := s.Next(); at != 5*time.Second || !ok {
		t.Errorf("next is %v, %v; the viewing ends at 5 s", at, ok)
	}
	s.Orders()
	s.Received(6*time.Second, 2, 700_000) // too late
	s.ordered()
	if _, ok := s.Next(); ok || !s.Over() {
		t.Error("the viewing goes on")
	}
	f := s.Figures()
	if want := (Times{Starting: time.Second, Playing: time.Second, Stalled: 3 * time.Second}); f.Times != want || f.Duration != 5*time.Second || f.Failure != "" {
		t.Errorf("%+v", f)
	}
	s.octets(hdOctets, 0, 300_000)

	s = connected(t, viewing())
	s.End(3*time.Second, errGone)
	if f := s.Figures(); f.Duration != 3*time.Second || f.Failure != "the server is gone" || f.Started {
		t.Errorf("%+v", f)
	}
}

func TestOctetsOfASegmentInTheMiddle(t *testing.T) {
	c := viewing()
	c.For = 1333*ms + 333_333
	s := connected(t, c)
	s.comes(time.Second, 1, 1_000_001)
	s.Advance(2 * time.Second)
	s.octets(333_333, 0, 666_668) // 333,333.66...
}

func TestFiguresSurviveJSON(t *testing.T) {
	f := run(t, watched(7), wire{setUp: 80 * ms, delay: 120 * ms, perOctet: 300, handovers: []time.Duration{4 * time.Second}, loses: []time.Duration{9 * time.Second}})
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var again Figures
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, f) {
		t.Errorf("the figures come back from JSON as\n%+v, want\n%+v", again, f)
	}
	if err := json.Unmarshal([]byte(`{"loads": [{"resolution": "8k"}]}`), &again); err == nil || !strings.Contains(err.Error(), `unknown resolution "8k": there are plain, hd, fhd, qhd`) {
		t.Errorf("an unknown resolution: %v", err)
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string // "" = fine
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { *c = Config{Mode: File, OnHandover: Migrate} }, ""},
		{func(c *Config) { c.StartAt, c.ResumeAt, c.Ahead = 3, 3, 3 }, ""},
		{func(c *Config) { c.SeekProbability, c.For = 1, time.Second }, ""},
		{func(c *Config) { c.Sizes = [3]int64{} }, ""}, // the paper's rule does not look at them
		{func(c *Config) { c.Mode = "listen" }, `start a viewing: unknown mode "listen": want view or file`},
		{func(c *Config) { c.Segments = 0 }, "0 segments: must be positive"},
		{func(c *Config) { c.For = -1 }, "invalid duration -1ns"},
		{func(c *Config) { c.GiveUp = -1 }, "invalid timeout -1ns"},
		{func(c *Config) { c.OnHandover = "pray" }, `unknown strategy "pray" for handovers: there are reconnect, 0-rtt, migrate and multihome`},
		{func(c *Config) { c.Mode, c.OnHandover = File, "" }, `unknown strategy ""`},
		{func(c *Config) { c.SeekProbability = 1.5 }, "invalid seek probability 1.5: want a number from 0 to 1"},
		{func(c *Config) { c.SeekProbability = -0.1 }, "invalid seek probability -0.1"},
		{func(c *Config) { c.SeekProbability = 0.3 }, "a viewing with seeks needs a duration"},
		{func(c *Config) { c.StartAt = 11 }, "playback starts with 11 segments, but the buffer holds 10: want 1 to 10"},
		{func(c *Config) { c.ResumeAt = -1 }, "playback resumes with -1 segments"},
		{func(c *Config) { c.Ahead = 1 }, "playback resumes with 2 segments, but the buffer holds 1"},
		{func(c *Config) { c.Ahead = -1 }, "the buffer holds -1: want 1 to 1"},
		{func(c *Config) { c.Rule = "best" }, `unknown rule "best" for the resolution: want paper, throughput or bola`},
		{func(c *Config) { c.Rule, c.Sizes[2] = Throughput, fhdOctets }, "rule throughput needs segment sizes that grow"},
		{func(c *Config) { c.Rule, c.Sizes[0] = BOLA, 0 }, "rule bola needs segment sizes that grow"},
		{func(c *Config) { c.Rule, c.ResumeAt, c.Ahead = BOLA, 1, 1 }, "rule bola needs a buffer of at least 2 segments"},
	} {
		c := viewing()
		test.change(&c)
		_, err := New(c)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", c, err, test.want)
		}
	}
}
