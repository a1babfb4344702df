package metric

import "time"

var plt = Metric{
	Name: "plt", Unit: "ms", Title: "PLT",
	Definition: "From navigationStart until the last byte of the last resource the page needs: " +
		"the latest end among the page's HAR entries, those for data: URLs and those that the load did not wait for left out. " +
		"Of several pages: the time in which at least one of them was being loaded, pauses on a journey left out.",
	Of: func(l *Load) (float64, bool) {
		var sum time.Duration
		spans := l.spans()
		for _, s := range spans {
			sum += s.to.Sub(s.from)
		}
		return milliseconds(int64(sum)), len(spans) > 0
	},
}
