package runner

import (
	"time"

	"wiretime/study"
)

// Metrics of the clock of the worker that made a load at a place, which its time in the store is of.
var (
	clockOffset = study.Metric{Name: "clock_offset", Unit: "ms", Title: "Clock offset",
		Definition: "how far the clock of the worker was ahead of the coordinator's when its batch began; " +
			"from the answer of least round trip to several questions for the time, taken to be given in its middle"}
	clockBound = study.Metric{Name: "clock_bound", Unit: "ms", Title: "Clock bound",
		Definition: "how far the clock offset can be wrong, in either direction: half of that round trip"}
)

// PlaceMetrics returns the metrics that runs of studies with places store beside those of their workload.
func PlaceMetrics() []study.Metric { return []study.Metric{clockOffset, clockBound} }

// NoteClock notes in a load's values how far its worker's clock was ahead, and how far that can be wrong.
func NoteClock(values map[string]float64, offset, bound time.Duration) {
	values[clockOffset.Name], values[clockBound.Name] = inMS(offset), inMS(bound)
}
