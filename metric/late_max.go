package metric

var lateMax = Metric{
	Name: "late_max", Unit: "ms", Title: "Lateness max",
	Definition: "The longest time between when a delivered packet was due to leave the emulator and when it left, both directions.",
	Of:         func(l *Load) (float64, bool) { return l.lateness(1) },
}
