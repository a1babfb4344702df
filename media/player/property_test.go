package player

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// FuzzViewing plays over random networks with handovers and lost sessions. It checks the
// invariants at every moment, compares the timeline with the final figures, and checks that
// the same seed and network give the same viewing.
func FuzzViewing(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		c, w := someViewing(random, seed), someWire(random)
		figures := run(t, c, w)
		checkTimeline(t, figures, c.Parallel)
		if again := run(t, c, w); !reflect.DeepEqual(figures, again) {
			t.Fatal("the same viewing twice is not the same")
		}
		for i, l := range figures.Loads {
			if c.Parallel == 1 && i+1 < len(figures.Loads) && l.Ended > figures.Loads[i+1].Wanted {
				t.Fatalf("load %d is wanted before load %d has ended", i+1, i)
			}
		}
	})
}

func someViewing(random *rand.Rand, seed uint64) Config {
	c := viewing()
	if random.IntN(5) == 0 {
		c.Mode = File
	}
	c.Seed = seed
	c.For = time.Duration(random.Int64N(int64(40 * time.Second)))
	c.Segments = 1 + random.IntN(40)
	c.Rule = []Rule{Paper, Throughput, BOLA}[random.IntN(3)]
	if c.Parallel = 1; c.Rule != Throughput {
		c.Parallel += int(seed % 4)
	}
	c.FileSize = hdOctets
	c.Ahead = 2 + random.IntN(10)
	c.StartAt, c.ResumeAt = 1+random.IntN(c.Ahead), 1+random.IntN(c.Ahead)
	if c.For > 0 {
		c.SeekProbability = []float64{0, 0.3, 1}[random.IntN(3)]
	}
	c.OnHandover = strategies[random.IntN(len(strategies))]
	c.GiveUp = time.Duration(1+random.IntN(20)) * time.Second
	return c
}

func someWire(random *rand.Rand) wire {
	w := wire{
		setUp: time.Duration(random.IntN(2e9)), delay: time.Duration(random.IntN(4e8)),
		perOctet: time.Duration(random.IntN(1500)), segments: 1 + random.IntN(50),
	}
	for range random.IntN(4) {
		w.handovers = append(w.handovers, time.Duration(random.IntN(30e9)))
	}
	for range random.IntN(4) {
		w.loses = append(w.loses, time.Duration(random.IntN(30e9)))
	}
	for range 30 {
		w.delays = append(w.delays, time.Duration(random.IntN(3e8)))
	}
	return w
}

// FuzzWords reports arbitrary events in any order: the player must neither panic nor lose
// an octet.
func FuzzWords(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 100, 2, 1, 50, 3, 1, 9, 5, 1, 1, 6, 2, 2, 7, 1, 1, 8, 0, 200})
	f.Add(uint64(2), []byte{0, 1, 0, 2, 1, 3, 3, 1, 255, 9, 60, 1, 4, 1, 1, 0, 2, 2, 2, 2, 0, 3, 2, 255, 1, 1, 1})
	f.Fuzz(func(t *testing.T, seed uint64, words []byte) {
		c := someViewing(rand.New(rand.NewPCG(seed, 1)), seed)
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		r := running{player: p}
		for ; len(words) >= 3; words = words[3:] {
			now, which, n := p.now+time.Duration(words[2])*3*ms, int(words[1]%16), int64(words[2])
			switch words[0] % 10 {
			case 0:
				p.Connected(now, which)
			case 1:
				p.Lost(now, which, nil)
			case 2:
				p.Answered(now, which, n-1, int(n)%9)
			case 3:
				p.Received(now, which, n-1)
			case 4:
				p.Failed(now, which, errGone)
			case 5:
				p.PastEnd(now, which, int(n)-1)
			case 6:
				p.Moved(now, which)
			case 7:
				p.Associate(now, "AP2")
			case 8:
				p.Lost(now, which, errGone)
			case 9:
				p.Advance(now)
			}
			r.check(t)
			if at, ok := p.Next(); ok == p.Over() || ok && at < p.now-SegmentLength {
				t.Fatalf("at %v next is %v, %v", p.now, at, ok)
			}
			p.Orders()
		}
		p.End(p.now+1, nil)
		r.check(t)
		checkTimeline(t, p.Figures(), c.Parallel)
	})
}
