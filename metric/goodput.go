package metric

import "time"

var goodput = Metric{
	Name: "goodput", Unit: "Mbit/s", Title: "Goodput",
	Definition: "Octets of content received, wasted ones too, over the time from the first request until the last octet. Headers of any layer are not content; octets that came twice count once, unless they were asked for twice. " +
		"The last octet of a file that came whole is that moment to the nanosecond; otherwise it is the end of the last second of the stream in which any came, or the stream's own if that is sooner. " +
		"Time in which nothing was wanted, as with a full buffer, counts.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil || l.Stream.Figures.Received == 0 {
			return 0, false
		}
		took := l.lastOctet() - l.Stream.Figures.Loads[0].Asked
		return float64(l.Stream.Figures.Received) * 8 / 1e6 / took.Seconds(), took > 0
	},
}

// lastOctet is when the last octet of content came, as far as the record tells.
func (l *Load) lastOctet() time.Duration {
	f := &l.Stream.Figures
	if whole, ok := f.TTD(); ok && l.isDownload() {
		return f.Loads[0].Wanted + whole
	}
	return min(time.Duration(len(f.Goodput))*time.Second, f.Duration)
}
