package metric

var stalled = Metric{
	Name: "stalled", Unit: "ms", Title: "Stalled",
	Definition: "How long a viewing was stalled in all: each time from when the buffer was empty until playback resumed, or the viewer sought, or the viewing ended. A viewing that never played has no value.",
	Of: func(l *Load) (float64, bool) {
		if !l.hasPlayed() {
			return 0, false
		}
		return milliseconds(int64(l.Stream.Figures.Times.Stalled)), true
	},
}
