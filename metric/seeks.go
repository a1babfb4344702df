package metric

var seeks = Metric{
	Name: "seeks", Unit: "seeks", Title: "Seeks",
	Definition: "How often the viewer went to another segment, within what was buffered or not. They follow from the seed alone, so that viewings of equal length have equal ones.",
	Of: func(l *Load) (float64, bool) {
		if !l.isViewing() {
			return 0, false
		}
		return float64(l.Stream.Figures.Seeks), true
	},
}
