package metric

import "time"

var plt = Metric{
	Name: "plt", Unit: "ms", Title: "PLT",
	Definition: "From navigationStart until the last byte of the last resource the page needs: " +
		"the latest end among the page's HAR entries, those for data: URLs left out.",
	Of: func(l *Load) (float64, bool) {
		entries := l.entries()
		if len(entries) == 0 || l.Timing.NavigationStart == 0 {
			return 0, false
		}
		return milliseconds(int64(lastEnd(entries).Sub(time.Unix(0, l.Timing.NavigationStart)))), true
	},
}
