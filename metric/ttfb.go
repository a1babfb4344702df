package metric

var ttfb = Metric{
	Name: "ttfb", Unit: "ms", Title: "TTFB",
	Definition: "Navigation Timing's responseStart of the document, from navigationStart.",
	Of:         func(l *Load) (float64, bool) { return seen(l.Timing.TTFB) },
}
