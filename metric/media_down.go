package metric

var mediaDown = Metric{
	Name: "media_down", Unit: "B", Title: "Media down",
	Definition: "Octets of content that the viewer received, without headers of any layer: those played, those wasted and those held at the end, such as a file.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil {
			return 0, false
		}
		return float64(l.Stream.Figures.Received), true
	},
}
