package metric

var handovers = Metric{
	Name: "handovers", Unit: "handovers", Title: "Handovers",
	Definition: "How often the client's access link, and with it its address, changed before the stream was over. The network's manager may have planned more.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil {
			return 0, false
		}
		return float64(len(l.Stream.Figures.Handovers)), true
	},
}
