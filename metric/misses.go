package metric

var misses = Metric{
	Name: "misses", Unit: "requests", Title: "Misses",
	Definition: "Requests for a URL that the site's archive does not hold, nor anything near it, as the server counted them; the browser's own request for a /favicon.ico is among them.",
	Of: func(l *Load) (float64, bool) {
		n := 0
		for i := range l.Server {
			if l.Server[i].Miss {
				n++
			}
		}
		return float64(n), l.Server != nil
	},
}
