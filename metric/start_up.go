package metric

var startUp = Metric{
	Name: "start_up", Unit: "ms", Title: "Start-up",
	Definition: "Start-up delay of a viewing: from its beginning, before the first session is opened, until the first segment is shown. Seeks before that do not begin it anew. A viewing that never played has none.",
	Of: func(l *Load) (float64, bool) {
		if !l.hasPlayed() {
			return 0, false
		}
		return milliseconds(int64(l.Stream.Figures.StartUp)), true
	},
}
