package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"wiretime/network"
)

// journeyBar is how many bit/s a character of a bar stands for.
const journeyBar = 100_000

// drawJourney draws a path that follows a journey, a line for each minute of it.
func drawJourney(out io.Writer, p network.Path) error {
	j := p.Access[0].Journey
	var text strings.Builder
	fmt.Fprintf(&text, "\n  minute  RTT, ms  down, Mbit/s (outages count as 0)\n")
	for from := time.Duration(0); from < j.End; from += time.Minute {
		to := min(from+time.Minute, j.End)
		down, _ := p.Offered(network.Down, from, to)
		line := fmt.Sprintf("  %6.0f  %7s  %4.1f %s", from.Minutes(), meanRTT(j, from, to), down.Rate/1e6, strings.Repeat("#", int(down.Rate/journeyBar)))
		if down.Outage > 0 {
			line += fmt.Sprintf("  link down for %v", down.Outage)
		}
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// meanRTT returns the mean round trip of the rows that begin between two moments, in ms; "-" if
// the link is down then.
func meanRTT(j *network.Journey, from, to time.Duration) string {
	var sum time.Duration
	n := 0
	for _, r := range j.Rows {
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
