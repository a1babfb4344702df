package metric

var lcp = Metric{
	Name: "lcp", Unit: "ms", Title: "LCP",
	Definition: "The last largest-contentful-paint the browser reported, from navigationStart.",
	Of:         func(l *Load) (float64, bool) { return seen(l.Timing.LCP) },
}
