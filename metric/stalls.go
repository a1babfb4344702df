package metric

var stalls = Metric{
	Name: "stalls", Unit: "stalls", Title: "Stalls",
	Definition: "How often playback stopped because the buffer was empty before the end of the video. Waiting before the first segment is shown, and after a seek, is no stall. A viewing that never played has no value.",
	Of: func(l *Load) (float64, bool) {
		if !l.hasPlayed() {
			return 0, false
		}
		return float64(l.Stream.Figures.Stalls), true
	},
}
