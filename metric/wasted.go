package metric

var wasted = Metric{
	Name: "wasted", Unit: "B", Title: "Wasted",
	Definition: "Octets of content that the viewer received and threw away before they were played: by seeks, by asking anew for a segment in another resolution, or because they came when nobody waited for them any more.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil {
			return 0, false
		}
		return float64(l.Stream.Figures.Wasted), true
	},
}
