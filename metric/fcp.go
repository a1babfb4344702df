package metric

var fcp = Metric{
	Name: "fcp", Unit: "ms", Title: "FCP",
	Definition: "Paint Timing's first-contentful-paint, from navigationStart.",
	Of:         func(l *Load) (float64, bool) { return seen(l.Timing.FCP) },
}
