package metric

import "time"

var loadingDelay = Metric{
	Name: "loading_delay", Unit: "ms", Title: "Loading delay",
	Definition: "Mean loading delay of the segments that became whole in a viewing (Nam et al., 2021, section 4.2: waiting and transmission): from when the player wanted a segment, " +
		"which is as soon as the one before it is whole and the buffer has room, or after a seek, until its last octet has come. Waiting for a session counts. " +
		"Segments that a seek cancelled have none, and slow ones are cancelled more often than fast ones.",
	Of: func(l *Load) (float64, bool) { return mean(l.loadingDelays()) },
}

// loadingDelays are those of the segments that became whole, in the order of the loads.
func (l *Load) loadingDelays() (list []time.Duration) {
	if !l.isViewing() {
		return nil
	}
	for _, load := range l.Stream.Figures.Loads {
		if d, ok := load.Delay(); ok {
			list = append(list, d)
		}
	}
	return list
}
