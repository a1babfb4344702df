package metric

var switches = Metric{
	Name: "switches", Unit: "switches", Title: "Switches",
	Definition: "How often a segment was shown in another resolution than the one shown before it, also across seeks. A viewing that never played has no value.",
	Of: func(l *Load) (float64, bool) {
		if !l.hasPlayed() {
			return 0, false
		}
		return float64(l.Stream.Figures.Switches), true
	},
}
