package metric

var lateP50 = Metric{
	Name: "late_p50", Unit: "ms", Title: "Lateness p50",
	Definition: "Median of the time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	Of:         func(l *Load) (float64, bool) { return l.lateness(0.5) },
}
