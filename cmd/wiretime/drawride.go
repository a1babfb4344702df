package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"wiretime/network"
)

// rideBar is the rate that one character of a bar stands for, in bit/s.
const rideBar = 100_000

// longRide is the length from which on a ride is drawn hour by hour.
const longRide = 24 * time.Hour

// drawRide prints a path that follows a ride, with a line and a bar for each minute, or for each hour of a long one.
func drawRide(out io.Writer, p network.Path) error {
	ride := p.Access[0].Ride
	var text strings.Builder
	unit, step := "minute", time.Minute
	if ride.End >= longRide {
		unit, step = "  hour", time.Hour
	}
	fmt.Fprintf(&text, "\n  %s  RTT, ms  down, Mbit/s (outages count as 0)\n", unit)
	for from := time.Duration(0); from < ride.End; from += step {
		to := min(from+step, ride.End)
		down, _ := p.Offered(network.Down, from, to)
		line := fmt.Sprintf("  %6.0f  %7s  %4.1f %s", float64(from/step), meanRTT(ride, from, to), down.Rate/1e6, strings.Repeat("#", int(down.Rate/rideBar)))
		if down.Outage > 0 {
			line += fmt.Sprintf("  link down for %v", down.Outage)
		}
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// meanRTT returns the mean round-trip time, in ms, of the rows that begin between two moments and have the
// link up; "-" if there are none.
func meanRTT(ride *network.Ride, from, to time.Duration) string {
	var sum time.Duration
	n := 0
	for _, r := range ride.Rows {
		if r.At >= from && r.At < to && r.Link == network.LinkUp {
			sum += r.DownDelay + r.UpDelay
			n++
		}
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprint((sum / time.Duration(n)).Round(time.Millisecond).Milliseconds())
}
