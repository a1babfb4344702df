package network

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// week makes the access line of a home over seven days, as a ride with a row for each hour. Its time 0 is midnight.
// The rate falls in the evening, when the neighbours are at home too, and the delay grows. Everything follows from
// the seed.
type week struct {
	name string
	seed uint64
}

// adslWeek is the line of Lulic's second experiment.
var adslWeek = week{"adsl-week", 2013}

const (
	weekDays      = 7
	weekDown      = 3_000_000 // bit/s, at night
	weekUp        = 512_000
	weekDelay     = 15  // ms, one-way, at night
	weekRateWidth = 0.1 // standard deviation of the rate's logarithm from hour to hour
	weekWaitWidth = 0.2 // of the delay's
)

// weekShare is the share of the night's rate that is left at an hour of the day. Between two hours it changes evenly.
var weekShare = []struct{ hour, share float64 }{{0, 0.90}, {2, 1}, {6, 1}, {18, 0.80}, {20, 0.65}, {21, 0.65}, {24, 0.90}}

func (w week) ride() *Ride {
	luck := rand.New(rand.NewPCG(w.seed, 0))
	ride := &Ride{Name: w.name, End: weekDays * 24 * time.Hour}
	for hour := range weekDays * 24 {
		share := shareAt(float64(hour % 24))
		busy := math.Exp(weekRateWidth * luck.NormFloat64())
		slower := math.Exp(weekWaitWidth*math.Abs(luck.NormFloat64())) / share
		kbits := func(rate float64) BitRate { return BitRate(math.Round(rate*share*busy/1000)) * kbit }
		delay := time.Duration(math.Round(weekDelay*slower)) * time.Millisecond
		ride.Rows = append(ride.Rows, Row{At: time.Duration(hour) * time.Hour, Down: kbits(weekDown), Up: kbits(weekUp), DownDelay: delay, UpDelay: delay})
	}
	return ride
}

// shareAt returns the share of the rate at an hour from 0 to 24.
func shareAt(hour float64) float64 {
	for i, to := range weekShare[1:] {
		if from := weekShare[i]; hour <= to.hour {
			return from.share + (to.share-from.share)*(hour-from.hour)/(to.hour-from.hour)
		}
	}
	return weekShare[len(weekShare)-1].share
}

// path returns the profile.
func (w week) path() Path {
	ride := w.ride()
	access := ride.Access("adsl", Link{}, Link{})
	access.Up.Queue, access.Down.Queue = DefaultQueue(access.Up.Rate), DefaultQueue(access.Down.Rate)
	return Path{
		Name: w.name, Access: []Access{access},
		Source: "Lulic: Midiendo la Performance de SPDY, 2013, section 5.2, for the week; uSwitch, speed tests of November 2011 (BBC News, technology-15742055), " +
			"for the shape: fastest from midnight to 6 h, then slowly down, slowest from 19 to 21 h, with 35 % less than at 2 to 3 h",
		Note: fmt.Sprintf("A made ride of seven days that begins at midnight. The paper prints neither rate nor delay of its line. "+
			"Wiretime's choices, by the rule in network/profiles_week.go with seed %d: an ADSL line of %v down and %v up at night, of which 80 %% are left at 18 h and 65 %% at 20 h; "+
			"each hour differs from the day's course by a log-normal factor (sigma %v); a one-way delay of at least %d ms, which grows as the rate falls, and by a factor of its own (sigma %v). "+
			"No loss but by the queue. One-way delay: %v up, %v down. These, and the rates above, are means over the week. "+
			"Queue: %d bytes up, %d bytes down, 250 ms at the mean rate but at least 64 kB.",
			w.seed, BitRate(weekDown), BitRate(weekUp), weekRateWidth, weekDelay, weekWaitWidth,
			access.Up.Delay, access.Down.Delay, access.Up.Queue.Bytes, access.Down.Queue.Bytes),
	}
}
