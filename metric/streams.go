package metric

import (
	"slices"
	"time"
)

// OfStreams lists the metrics of media streams in the order a reader wants them: how
// long it took for the viewer, what playback was like, what came of it all, what it
// took on the wire, and how far to trust it. What does not apply, such as the stalls
// of a download, has no value.
func OfStreams() []Metric {
	return []Metric{
		ttd, loadingDelay, loadingDelayMax, setUp, startUp, recovery, recoveryMax,
		stalls, stalled, rebuffer, switches, seeks,
		goodput, mediaDown, wasted, handovers, sessions, earlySessions,
		counting(bytesUp), counting(bytesDown),
		counted(packetsUp, func(c Counts) int64 { return c.Up }), counted(packetsDown, func(c Counts) int64 { return c.Down }),
		counted(drops, func(c Counts) int64 { return c.Drops }), counting(streamRetransmissions),
		ofCaptured(lateP50), ofCaptured(lateP99), ofCaptured(lateMax),
	}
}

// counting is a metric that needs all packets.
func counting(m Metric) Metric {
	of := m.Of
	m.Definition += " A capture that lacks packets has no value."
	m.Of = func(l *Load) (float64, bool) {
		if l.CaptureCut {
			return 0, false
		}
		return of(l)
	}
	return m
}

// counted is a metric of packets that the emulator counts as well.
func counted(m Metric, count func(Counts) int64) Metric {
	of := m.Of
	m.Definition += " Of a capture that lacks packets: as the emulator counted them."
	m.Of = func(l *Load) (float64, bool) {
		switch {
		case !l.CaptureCut:
			return of(l)
		case l.Counted == nil:
			return 0, false
		}
		return float64(count(*l.Counted)), true
	}
	return m
}

// ofCaptured is a metric for which the packets that there are will do.
func ofCaptured(m Metric) Metric {
	m.Definition += " Of a capture that lacks packets: of those that it has, which are the first."
	return m
}

// playerDownload is the player that fetches a file; all others are of viewings.
const playerDownload = "download"

func (l *Load) isDownload() bool { return l.Stream != nil && l.Stream.Player == playerDownload }

func (l *Load) isViewing() bool { return l.Stream != nil && l.Stream.Player != playerDownload }

// hasPlayed tells whether the load is a viewing in which something was shown.
func (l *Load) hasPlayed() bool { return l.isViewing() && l.Stream.Figures.Started }

// mean gives the mean in ms, of which an empty list has none.
func mean(list []time.Duration) (float64, bool) {
	if len(list) == 0 {
		return 0, false
	}
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return milliseconds(int64(sum)) / float64(len(list)), true
}

// longest gives the longest in ms, of which an empty list has none.
func longest(list []time.Duration) (float64, bool) {
	if len(list) == 0 {
		return 0, false
	}
	return milliseconds(int64(slices.Max(list))), true
}
