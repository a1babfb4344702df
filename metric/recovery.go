package metric

import "time"

var recovery = Metric{
	Name: "recovery", Unit: "ms", Title: "Recovery",
	Definition: "Mean, over the handovers, of the time from when the client's address had changed until media came again: until the first octets after there was a session at the new address, " +
		"or until there was that session if no octets were waited for. With strategy multihome, where the viewer does nothing: until the end of the longest silence, while octets were waited for, before the next handover. " +
		"Handovers that had not recovered when the next one, or the end, came have none.",
	Of: func(l *Load) (float64, bool) { return mean(l.recoveries()) },
}

// recoveries are those of the handovers that recovered, in their order.
func (l *Load) recoveries() (list []time.Duration) {
	if l.Stream == nil {
		return nil
	}
	for _, h := range l.Stream.Figures.Handovers {
		if h.Recovered > 0 {
			list = append(list, h.Recovered-h.At)
		}
	}
	return list
}
