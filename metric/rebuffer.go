package metric

var rebuffer = Metric{
	Name: "rebuffer", Unit: "%", Title: "Rebuffer ratio",
	Definition: "Share of the time stalled in the time stalled and playing (BufRatio of Dobrian et al., SIGCOMM 2011); start-up, seeks and the time past the end of the video are in neither. A viewing that never played has no value.",
	Of: func(l *Load) (float64, bool) {
		if !l.hasPlayed() {
			return 0, false
		}
		return 100 * l.Stream.Figures.Rebuffer, true
	},
}
