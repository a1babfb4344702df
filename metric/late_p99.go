package metric

var lateP99 = Metric{
	Name: "late_p99", Unit: "ms", Title: "Lateness p99",
	Definition: "The 99th percentile (nearest rank) of the time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	Of:         func(l *Load) (float64, bool) { return l.lateness(0.99) },
}
