package metric

var inexact = Metric{
	Name: "inexact", Unit: "requests", Title: "Inexact answers",
	Definition: "Requests for a URL that the site's archive does not hold, which were answered with what it holds for one that differs in its query, as the server counted them.",
	Of: func(l *Load) (float64, bool) {
		n := 0
		for i := range l.Server {
			if l.Server[i].Near != "" {
				n++
			}
		}
		return float64(n), l.Server != nil
	},
}
