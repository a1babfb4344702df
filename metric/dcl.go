package metric

var dcl = Metric{
	Name: "dcl", Unit: "ms", Title: "DCL",
	Definition: "Navigation Timing's domContentLoadedEventStart, from navigationStart (onContentLoad in a HAR).",
	Of:         func(l *Load) (float64, bool) { return seen(l.Timing.DCL) },
}
