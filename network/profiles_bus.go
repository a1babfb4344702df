package network

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// bus makes a ride by bus under WiBro (mobile WiMAX), with a row for each busStep. The logarithms of
// rate and delay are first-order autoregressive processes. Outages begin at random, and after each the
// rate starts low. Everything follows from the seed.
type bus struct {
	name   string
	route  string
	seed   uint64
	length time.Duration
}

// buses are the two routes of Kim et al.: 63 and 93 loads at busInterval.
var buses = []bus{
	{"wibro-bus-out", "the way to the station, of 63 loads, 20 s each", 63, 63 * busInterval},
	{"wibro-bus-back", "the way back by another route, of 93 loads, 20 s each", 93, 93 * busInterval},
}

const (
	busStep     = 2 * time.Second
	busInterval = 20 * time.Second // between the loads of a session; the paper says only that it was constant

	busDown      = 2_400_000 // bit/s, median
	busMostDown  = 5_300_000
	busLeastDown = 150_000
	busUpShare   = 2.0 / 5.3 // of the rate down
	busRateWidth = 0.6       // standard deviation of the rate's logarithm
	busRateTime  = 12 * time.Second

	busDelayDown  = 30 // ms, median
	busDelayUp    = 50
	busDelayWidth = 0.3
	busDelayTime  = 20 * time.Second

	busOutageEvery = 150 * time.Second // on average, from the end of one to the beginning of the next
	busOutageMean  = 6 * time.Second   // of the time that an outage lasts beyond busStep
	busOutageMost  = 30 * time.Second
	busAfterOutage = -1.5             // standard deviations of the rate's logarithm
	busSafe        = 30 * time.Second // at both ends of the ride no outage begins
)

func (b bus) ride() *Ride {
	luck := rand.New(rand.NewPCG(b.seed, 0))
	ride := &Ride{Name: b.name, End: b.length}
	rate, delay := luck.NormFloat64(), luck.NormFloat64()
	for at := time.Duration(0); at < b.length; at += busStep {
		if luck.Float64() < float64(busStep)/float64(busOutageEvery) && at >= busSafe && at < b.length-busSafe-busOutageMost {
			lasts := min(busStep+time.Duration(luck.ExpFloat64()*float64(busOutageMean)).Round(busStep), busOutageMost)
			ride.Rows = append(ride.Rows, Row{At: at, Link: LinkDropping})
			at += lasts
			rate = busAfterOutage
		}
		ride.Rows = append(ride.Rows, busRow(at, rate, delay))
		rate = wander(luck, rate, busRateTime)
		delay = wander(luck, delay, busDelayTime)
	}
	return ride
}

// wander takes a step of busStep of a process with mean 0 and standard deviation 1, whose autocorrelation falls to
// 1/e within fades.
func wander(luck *rand.Rand, x float64, fades time.Duration) float64 {
	keeps := math.Exp(-float64(busStep) / float64(fades))
	return keeps*x + math.Sqrt(1-keeps*keeps)*luck.NormFloat64()
}

func busRow(at time.Duration, rate, delay float64) Row {
	down := min(max(busDown*math.Exp(busRateWidth*rate), busLeastDown), busMostDown)
	slower := math.Exp(busDelayWidth * delay)
	kbits := func(rate float64) BitRate { return BitRate(math.Round(rate/1000)) * kbit }
	millis := func(ms float64) time.Duration { return time.Duration(math.Round(ms)) * time.Millisecond }
	return Row{At: at, Down: kbits(down), Up: kbits(down * busUpShare), DownDelay: millis(busDelayDown * slower), UpDelay: millis(busDelayUp * slower)}
}

// path returns the profile.
func (b bus) path() Path {
	ride := b.ride()
	access := ride.Access("wibro", Link{}, Link{})
	access.Up.Queue, access.Down.Queue = DefaultQueue(access.Up.Rate), DefaultQueue(access.Down.Rate)
	count, sum := ride.Outages()
	return Path{
		Name: b.name, Access: []Access{access},
		Source: "Kim, Yi, Lee: A Research on the Performance Analysis of SPDY Protocol in Mobile Networks, Kyung Hee University, 2013, section IV.3, figures 1 and 2, " +
			"for the shape; Kim, Cai, Na, Choi: Performance Measurement over Mobile WiMAX/IEEE 802.16e Network, 2008, for an RTT far above that of WLAN; Han, Lee, Moon, Jang, Lee: Evaluation of VoIP Quality over WiBro, PAM 2008, for the highest rates, 5.3 Mbit/s down and 2 Mbit/s up",
		Note: fmt.Sprintf("A made ride: %s. The paper prints no rate, delay or interval; it says that the network was unstable and that access failed from time to time. "+
			"Wiretime's choices, by the rule in network/profiles_bus.go with seed %d: every %v a new rate, log-normal around %v down (sigma %v, memory %v, at most 5.3 Mbit/s) and up in proportion 2 to 5.3; "+
			"a new delay, log-normal around %d ms down and %d ms up (sigma %v, memory %v), so an RTT of some 80 ms, between the WLAN's and the 3G's of the same paper's profiles; outages every %v on average, of %v to %v, "+
			"after which the rate starts low, at 0.4 of its median. An outage drops packets. The client keeps its address. "+
			"Here: %d outages, %v in all, over %v. After that the path stays as it is. "+
			"One-way delay: %v up, %v down. These, and the rates above, are means over the ride. Queue: %d bytes up, %d bytes down, 250 ms at the mean rate but at least 64 kB.",
			b.route, b.seed, busStep, BitRate(busDown), busRateWidth, busRateTime, busDelayDown, busDelayUp, busDelayWidth, busDelayTime, busOutageEvery, busStep, busOutageMost,
			count, sum, b.length, access.Up.Delay, access.Down.Delay, access.Up.Queue.Bytes, access.Down.Queue.Bytes),
	}
}
