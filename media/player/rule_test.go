package player

import (
	"math"
	"testing"
	"time"
)

// TestPaperRule follows Nam et al., 2021, section 4.1.
func TestPaperRule(t *testing.T) {
	for _, test := range []struct {
		delay time.Duration
		want  Resolution
	}{
		{0, QHD}, {100*ms - 1, QHD}, {100 * ms, FHD}, {150 * ms, FHD}, {200 * ms, FHD}, {200*ms + 1, HD}, {time.Hour, HD},
	} {
		v := view{told: true, delay: test.delay}
		if got := byLinkDelay(v); got != test.want {
			t.Errorf("with a link delay of %v it asks for %v, want %v", test.delay, got, test.want)
		}
		v.fresh = true
		if got := byLinkDelay(v); got != HD {
			t.Errorf("right after connecting or a seek it asks for %v", got)
		}
	}
	if got := byLinkDelay(view{}); got != HD {
		t.Errorf("without knowing the link delay it asks for %v", got)
	}
}

// TestHDRightAfterConnectingAndSeeking checks that the first request after connecting and
// after a seek is for HD, whatever the delay, and the second is not.
func TestHDRightAfterConnectingAndSeeking(t *testing.T) {
	s := begin(t, viewing())
	s.LinkDelay(0, 10*ms)
	s.Connected(100*ms, 1)
	s.ordered("connect 1", "ask 1 in 1: hd 0 from 0")
	s.comes(200*ms, 1, hdOctets)
	s.ordered("ask 2 in 1: qhd 1 from 0")
	s.seek(50)
	s.ordered("cancel 2 in 1", "ask 3 in 1: hd 50 from 0")
	s.comes(300*ms, 3, hdOctets)
	s.ordered("ask 4 in 1: qhd 51 from 0")
	s.Lost(400*ms, 1, errGone)
	s.Connected(500*ms, 2)
	s.ordered("connect 2", "ask 5 in 2: hd 51 from 0")
}

// TestThroughputRule has segments with rates of 8, 16 and 32 Mbit/s, which 0.85 of the
// estimate must reach.
func TestThroughputRule(t *testing.T) {
	second := func(bits float64) sample { return sample{1_000_000, time.Duration(8e15 / bits)} }
	for _, test := range []struct {
		samples []sample
		want    Resolution
	}{
		{nil, HD},
		{[]sample{second(1e3)}, HD},
		{[]sample{second(16e6 / 0.8501)}, HD},
		{[]sample{second(16e6 / 0.8499)}, FHD},
		{[]sample{second(32e6 / 0.8501)}, FHD},
		{[]sample{second(32e6 / 0.8499)}, QHD},
		// The harmonic mean of 10 and 90 Mbit/s is 18, the arithmetic mean 50.
		{[]sample{second(10e6), second(90e6)}, HD},
		{[]sample{second(13e6), second(90e6)}, FHD}, // 22.7
		// Sizes are not weights.
		{[]sample{{1, 800}, {1e9, 80 * time.Second}}, HD}, // 10 and 100 Mbit/s: 18.2
	} {
		if got := byThroughput(view{config: Config{Sizes: sizes}, samples: test.samples}); got != test.want {
			t.Errorf("after %v it asks for %v, want %v", test.samples, got, test.want)
		}
	}
}

// TestThroughputIsThatOfTheLastSegments checks that the rule gets the last 20 segments,
// from request to last octet.
func TestThroughputIsThatOfTheLastSegments(t *testing.T) {
	c := viewing()
	c.Rule, c.StartAt, c.ResumeAt, c.Ahead = Throughput, 50, 50, 50
	s := connected(t, c)
	now := 100 * ms
	for request := 1; request <= 21; request++ {
		if got := s.lastLoad().Resolution; got != HD {
			t.Fatalf("request %d is for %v", request, got)
		}
		s.Answered(now+100*ms, request, hdOctets, 0)
		now += time.Second // 8 Mbit/s
		s.Received(now, request, hdOctets)
	}
	for request := 22; s.lastLoad().Resolution == HD; request++ {
		now += 50 * ms // 160 Mbit/s
		s.comes(now, request, hdOctets)
		// n fast and 20 - n slow ones: 20 / (n / 160 + (20 - n) / 8) reaches 16 / 0.85 from n = 13 on.
		if fast := request - 21; (fast >= 13) != (s.lastLoad().Resolution == FHD) {
			t.Fatalf("after %d fast segments it asks for %v", fast, s.lastLoad().Resolution)
		}
	}
}

// TestBOLA checks the buffer levels at which BOLA switches, where the scores of two
// resolutions are equal: Q = V (gp + (v S' - v' S) / (S' - S)).
func TestBOLA(t *testing.T) {
	for _, ahead := range []int{2, 10, 50} {
		v := view{config: Config{Sizes: sizes, Ahead: ahead}}
		V := float64(ahead-1) / (math.Log(4) + 5)
		threshold := func(low, high float64) time.Duration { // in HD segments
			return time.Duration(V * (5 + (math.Log(low)*high-math.Log(high)*low)/(high-low)) * float64(time.Second))
		}
		toFHD, toQHD := threshold(1, 2), threshold(2, 4)
		for _, test := range []struct {
			level time.Duration
			want  Resolution
		}{
			{0, HD}, {toFHD - time.Microsecond, HD}, {toFHD + time.Microsecond, FHD},
			{toQHD - time.Microsecond, FHD}, {toQHD + time.Microsecond, QHD}, {time.Duration(ahead-1) * time.Second, QHD},
		} {
			v.level = test.level
			if got := byBuffer(v); got != test.want {
				t.Errorf("with %v of %d s buffered it asks for %v, want %v", test.level, ahead, got, test.want)
			}
		}
	}
	// Figure 1 of the paper: V is 0.93 for 25 s of buffer, segments of 3 s and rates from 331 kbit/s to 6 Mbit/s.
	if V := (25.0/3 - 1) / (math.Log(6000.0/331) + bolaGammaP); math.Abs(V-0.93) > 0.005 {
		t.Errorf("V = %v", V)
	}
}
