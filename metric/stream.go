package metric

import (
	"slices"
	"time"

	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/study"
)

// Streams returns the metrics and checks of media streams. The metrics say how long it took for the viewer, what playback
// was like, what came of it all, what it took on the wire, and how far to trust it. What does not apply, such as the
// stalls of a download, has no value.
func Streams() Set {
	return Set{
		Metrics: slices.Concat(viewerWaits(), playback(), outcome(), streamPackets()),
		Checks:  []Check{checkTransport, checkSACK, checkSessions, checkStreamAgreement},
	}
}

// ofStream makes a metric of a stream's record.
func ofStream(m study.Metric, of func(*record.Stream) (float64, bool)) Metric {
	return Metric{m, func(ev *evidence.Evidence) (float64, bool) {
		if ev.Stream == nil {
			return 0, false
		}
		return of(ev.Stream)
	}}
}

// ofPlayback makes a metric of viewings in which something was shown.
func ofPlayback(m study.Metric, of func(*player.Figures) float64) Metric {
	return ofStream(m, func(s *record.Stream) (float64, bool) {
		if isDownload(s) || !s.Figures.Started {
			return 0, false
		}
		return of(&s.Figures), true
	})
}

// playerDownload is the player that fetches a file; all others are of viewings.
const playerDownload = "download"

func isDownload(s *record.Stream) bool { return s.Player == playerDownload }

// viewerWaits returns how long things took for the viewer.
func viewerWaits() []Metric {
	return []Metric{
		ofStream(study.Metric{
			Name: "ttd", Unit: "ms", Title: "TTD",
			Definition: "Total transmission delay of a download (Nam et al., 2021, section 4.2): from its beginning, before the first session is opened, until the last octet of the file has come. " +
				"Reconnections and the pauses after failures count. A file that did not come whole has none.",
		}, func(s *record.Stream) (float64, bool) {
			if !isDownload(s) {
				return 0, false
			}
			d, ok := s.Figures.TTD()
			return milliseconds(int64(d)), ok
		}),
		ofStream(study.Metric{
			Name: "loading_delay", Unit: "ms", Title: "Loading delay",
			Definition: "Mean loading delay of the segments that became whole in a viewing (Nam et al., 2021, section 4.2: waiting and transmission): from when the player wanted a segment, " +
				"which is as soon as the one before it is whole and the buffer has room, or after a seek, until its last octet has come. Waiting for a session counts. " +
				"Segments that a seek cancelled have none, and slow ones are cancelled more often than fast ones.",
		}, func(s *record.Stream) (float64, bool) { return mean(loadingDelays(s)) }),
		ofStream(study.Metric{
			Name: "loading_delay_max", Unit: "ms", Title: "Loading delay max",
			Definition: "The longest loading delay of a segment that became whole in a viewing: from when the player wanted it until its last octet had come.",
		}, func(s *record.Stream) (float64, bool) { return longest(loadingDelays(s)) }),
		ofStream(study.Metric{
			Name: "set_up", Unit: "ms", Title: "Set-up",
			Definition: "From when the first session was to be opened until it could take the first request: the handshakes of the transport, and of TLS or DTLS where the transport has it. " +
				"A first session that could not be opened, or was given up before, has none.",
		}, func(s *record.Stream) (float64, bool) {
			if len(s.Sessions) == 0 || s.Sessions[0].SetUp <= 0 {
				return 0, false
			}
			return milliseconds(int64(s.Sessions[0].SetUp)), true
		}),
		ofPlayback(study.Metric{
			Name: "start_up", Unit: "ms", Title: "Start-up",
			Definition: "Start-up delay of a viewing: from its beginning, before the first session is opened, until the first segment is shown. Seeks before that do not begin it anew. A viewing that never played has none.",
		}, func(f *player.Figures) float64 { return milliseconds(int64(f.StartUp)) }),
		ofStream(study.Metric{
			Name: "recovery", Unit: "ms", Title: "Recovery",
			Definition: "Mean, over the handovers, of the time from when the client's address had changed until media came again: until the first octets after there was a session at the new address, " +
				"or until there was that session if no octets were waited for. With strategy multihome, where the viewer does nothing: until the end of the longest silence, while octets were waited for, before the next handover. " +
				"Handovers that had not recovered when the next one, or the end, came have none. A NAT's rebinding, of which nobody is told, counts as a handover with strategy multihome does.",
		}, func(s *record.Stream) (float64, bool) { return mean(recoveries(s)) }),
		ofStream(study.Metric{
			Name: "recovery_max", Unit: "ms", Title: "Recovery max",
			Definition: "The longest time, over the handovers that recovered, from when the client's address had changed until media came again, as recovery has it.",
		}, func(s *record.Stream) (float64, bool) { return longest(recoveries(s)) }),
	}
}

// loadingDelays are those of the segments that became whole, in the order of the loads.
func loadingDelays(s *record.Stream) (list []time.Duration) {
	if isDownload(s) {
		return nil
	}
	for _, load := range s.Figures.Loads {
		if d, ok := load.Delay(); ok {
			list = append(list, d)
		}
	}
	return list
}

// recoveries are those of the rebindings and handovers that recovered, each in their order.
func recoveries(s *record.Stream) (list []time.Duration) {
	for _, r := range s.Figures.Rebindings {
		if r.Recovered > 0 {
			list = append(list, r.Recovered-r.At)
		}
	}
	for _, h := range s.Figures.Handovers {
		if h.Recovered > 0 {
			list = append(list, h.Recovered-h.At)
		}
	}
	return list
}

// playback returns what playback was like.
func playback() []Metric {
	return []Metric{
		ofPlayback(study.Metric{
			Name: "stalls", Unit: "stalls", Title: "Stalls",
			Definition: "How often playback stopped because the buffer was empty before the end of the video. Waiting before the first segment is shown, and after a seek, is no stall. A viewing that never played has no value.",
		}, func(f *player.Figures) float64 { return float64(f.Stalls) }),
		ofPlayback(study.Metric{
			Name: "stalled", Unit: "ms", Title: "Stalled",
			Definition: "How long a viewing was stalled in all: each time from when the buffer was empty until playback resumed, or the viewer sought, or the viewing ended. A viewing that never played has no value.",
		}, func(f *player.Figures) float64 { return milliseconds(int64(f.Times.Stalled)) }),
		ofPlayback(study.Metric{
			Name: "rebuffer", Unit: "%", Title: "Rebuffer ratio",
			Definition: "Share of the time stalled in the time stalled and playing (BufRatio of Dobrian et al., SIGCOMM 2011); start-up, seeks and the time past the end of the video are in neither. A viewing that never played has no value.",
		}, func(f *player.Figures) float64 { return 100 * f.Rebuffer }),
		ofPlayback(study.Metric{
			Name: "switches", Unit: "switches", Title: "Switches",
			Definition: "How often a segment was shown in another resolution than the one shown before it, also across seeks. A viewing that never played has no value.",
		}, func(f *player.Figures) float64 { return float64(f.Switches) }),
		ofStream(study.Metric{
			Name: "seeks", Unit: "seeks", Title: "Seeks",
			Definition: "How often the viewer went to another segment, within what was buffered or not. They follow from the seed alone, so that viewings of equal length have equal ones.",
		}, func(s *record.Stream) (float64, bool) {
			if isDownload(s) {
				return 0, false
			}
			return float64(s.Figures.Seeks), true
		}),
	}
}

// outcome returns what came of the stream.
func outcome() []Metric {
	return []Metric{
		ofStream(study.Metric{
			Name: "goodput", Unit: "Mbit/s", Title: "Goodput",
			Definition: "Octets of content received, wasted ones too, over the time from the first request until the last octet. Headers of any layer are not content; octets that came twice count once, unless they were asked for twice. " +
				"The last octet of a file that came whole is that moment to the nanosecond; otherwise it is the end of the last second of the stream in which any came, or the stream's own if that is sooner. " +
				"Time in which nothing was wanted, as with a full buffer, counts.",
		}, func(s *record.Stream) (float64, bool) {
			if s.Figures.Received == 0 {
				return 0, false
			}
			took := lastOctet(s) - s.Figures.Loads[0].Asked
			return float64(s.Figures.Received) * 8 / 1e6 / took.Seconds(), took > 0
		}),
		ofStream(study.Metric{
			Name: "slow_start_window", Unit: "B", Title: "Slow start window",
			Definition: "The server's congestion window when a QUIC connection first left slow start, because packets were lost or because the round trip had grown (HyStart), by the server's own account. " +
				"A stream whose connections stayed in slow start, or over another transport, has none.",
		}, func(s *record.Stream) (float64, bool) { return float64(s.SlowStart), s.SlowStart > 0 }),
		ofStream(study.Metric{
			Name: "media_down", Unit: "B", Title: "Media down",
			Definition: "Octets of content that the viewer received, without headers of any layer: those played, those wasted and those held at the end, such as a file.",
		}, func(s *record.Stream) (float64, bool) { return float64(s.Figures.Received), true }),
		ofStream(study.Metric{
			Name: "wasted", Unit: "B", Title: "Wasted",
			Definition: "Octets of content that the viewer received and threw away before they were played: by seeks, by asking anew for a segment in another resolution, or because they came when nobody waited for them any more.",
		}, func(s *record.Stream) (float64, bool) { return float64(s.Figures.Wasted), true }),
		ofStream(study.Metric{
			Name: "handovers", Unit: "handovers", Title: "Handovers",
			Definition: "How often the client's access link, and with it its address, changed before the stream was over. The network's manager may have planned more.",
		}, func(s *record.Stream) (float64, bool) { return float64(len(s.Figures.Handovers)), true }),
		ofStream(study.Metric{
			Name: "sessions", Unit: "sessions", Title: "Sessions",
			Definition: "Connections, or associations, with the server that were opened, so that requests could be made in them; attempts that failed or were given up before are left out. One that migrates is one.",
		}, func(s *record.Stream) (float64, bool) {
			n := 0
			for _, s := range s.Figures.Sessions {
				if s.Open > 0 {
					n++
				}
			}
			return float64(n), true
		}),
		ofStream(study.Metric{
			Name: "order_delay", Unit: "ms", Title: "Order delay",
			Definition: "Mean, over the orders that client and server carried out, of the time from when the network's manager sent an order until it had been carried out. " +
				"Only streams whose manager is a node of its own have one.",
		}, func(s *record.Stream) (float64, bool) {
			var list []time.Duration
			for _, o := range s.Orders {
				if o.Done > 0 {
					list = append(list, o.Done-o.Sent)
				}
			}
			return mean(list)
		}),
		ofStream(study.Metric{
			Name: "control_packets", Unit: "packets", Title: "Control packets",
			Definition: "IP packets that reached the network's manager, or came from it, while the stream lasted. No other metric counts them. Only streams whose manager is a node of its own have them.",
		}, func(s *record.Stream) (float64, bool) { return float64(s.ControlPackets), len(s.Orders) > 0 }),
		ofStream(study.Metric{
			Name: "early", Unit: "sessions", Title: "Early data",
			Definition: "Sessions whose 0-RTT data the server took (RFC 9001 section 4.6). Only strategy 0-rtt asks for any.",
		}, func(s *record.Stream) (float64, bool) {
			if s.Strategy != study.StrategyZeroRTT {
				return 0, false
			}
			n := 0
			for _, s := range s.Sessions {
				if s.EarlyData {
					n++
				}
			}
			return float64(n), true
		}),
	}
}

// lastOctet is when the last octet of content came, as far as the record tells.
func lastOctet(s *record.Stream) time.Duration {
	f := &s.Figures
	if whole, ok := f.TTD(); ok && isDownload(s) {
		return f.Loads[0].Wanted + whole
	}
	return min(time.Duration(len(f.Goodput))*time.Second, f.Duration)
}

// mean returns the mean in ms, or false for an empty list.
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

// longest returns the longest in ms, or false for an empty list.
func longest(list []time.Duration) (float64, bool) {
	if len(list) == 0 {
		return 0, false
	}
	return milliseconds(int64(slices.Max(list))), true
}
