package metric

var onload = Metric{
	Name: "onload", Unit: "ms", Title: "onLoad",
	Definition: "Navigation Timing's loadEventStart, from navigationStart.",
	Of:         func(l *Load) (float64, bool) { return seen(l.Timing.OnLoad) },
}
