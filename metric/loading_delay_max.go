package metric

var loadingDelayMax = Metric{
	Name: "loading_delay_max", Unit: "ms", Title: "Loading delay max",
	Definition: "The longest loading delay of a segment that became whole in a viewing: from when the player wanted it until its last octet had come.",
	Of:         func(l *Load) (float64, bool) { return longest(l.loadingDelays()) },
}
