package metric

var unusedPushes = Metric{
	Name: "unused_pushes", Unit: "responses", Title: "Unused pushes",
	Definition: "Responses that the server pushed and that answered no request: the page never asked for what they hold, or had already asked for it. Their octets are in the bytes of the load, not in its requests.",
	Of: func(l *Load) (float64, bool) {
		n := 0
		for _, times := range l.unusedPushes() {
			n += times
		}
		return float64(n), l.Server != nil && l.HAR != nil
	},
}
