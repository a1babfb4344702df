package metric

// strategyZeroRTT is that of a stream whose later sessions are to begin with early data.
const strategyZeroRTT = "0-rtt"

var earlySessions = Metric{
	Name: "early", Unit: "sessions", Title: "Early data",
	Definition: "Sessions whose 0-RTT data the server took (RFC 9001 section 4.6). Only strategy 0-rtt asks for any.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil || l.Stream.Strategy != strategyZeroRTT {
			return 0, false
		}
		n := 0
		for _, s := range l.Stream.Sessions {
			if s.EarlyData {
				n++
			}
		}
		return float64(n), true
	},
}
