package metric

var unused = Metric{
	Name: "unused", Unit: "responses", Title: "Unused responses",
	Definition: "Responses that the server log shows and that answered no request of the page's: pushed ones that the page did not ask for, or had asked for already, and those that the browser itself asked for on Early Hints and then did not use. Their octets are in the bytes of the load, they are not in its requests.",
	Of: func(l *Load) (float64, bool) {
		n := 0
		for _, times := range l.unused() {
			n += times
		}
		return float64(n), l.Server != nil && l.HAR != nil
	},
}
