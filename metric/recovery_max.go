package metric

var recoveryMax = Metric{
	Name: "recovery_max", Unit: "ms", Title: "Recovery max",
	Definition: "The longest time, over the handovers that recovered, from when the client's address had changed until media came again, as recovery has it.",
	Of:         func(l *Load) (float64, bool) { return longest(l.recoveries()) },
}
