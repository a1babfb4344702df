package metric

var requests = Metric{
	Name: "requests", Unit: "requests", Title: "Requests",
	Definition: "HAR entries of the page that went to the network: data: URLs and answers from the browser's caches left out, redirects and failures counted.",
	Of: func(l *Load) (float64, bool) {
		return float64(len(l.fetched())), l.HAR != nil
	},
}
