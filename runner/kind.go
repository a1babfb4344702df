package runner

import (
	"slices"
	"time"

	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/workloads"
)

// Metrics returns the metrics that a run stores for each load of a workload, in display order.
func Metrics(w *study.Workload) []study.Metric {
	k := workloads.Of(w).Kind()
	var all []study.Metric
	for _, m := range k.Set.Metrics {
		all = append(all, m.Metric)
	}
	if k.Loopback {
		return slices.Concat(all, k.Own)
	}
	if k.HAR != "" {
		all = append(all, lateShift)
	}
	return slices.Concat(all, []study.Metric{emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal}, k.Own)
}

// FasterClock returns the clock that is expected to finish first the cells that differ from c
// only in their protocol, in a run that keeps all cores busy. The virtual clock costs processor
// time only. The real clock also costs waiting, and few loads may wait side by side without
// disturbing each other. The choice is the same for all protocols, because cells on different
// clocks are not compared. s is nil for a stream.
func FasterClock(c study.Cell, s *site.Site, o study.Options, virtual bool) string {
	if !virtual {
		return study.ClockReal
	}
	work := func(clock string, cores float64) (sum time.Duration, ok bool) {
		all := workloads.Of(c.Workload).Costs(c, clock, s, o)
		for _, e := range all {
			sum += work(e, e.Duration, cores)
		}
		return sum, len(all) > 0
	}
	onReal, _ := work(study.ClockReal, realCores())
	onVirtual, ok := work(study.ClockVirtual, float64(cores()))
	if ok && onVirtual < onReal {
		return study.ClockVirtual
	}
	return study.ClockReal
}

// headline returns the metric that the progress shows for an attempt, its value (-1 without
// one) and the load's duration.
func headline(j *job, record store.LoadRecord) (name string, ms float64, lasted time.Duration) {
	ms, ok := record.Values[j.Headline]
	if !ok {
		return j.Headline, -1, 0
	}
	if j.Lasts > 0 {
		return j.Headline, ms, j.Lasts
	}
	return j.Headline, ms, time.Duration(ms * float64(time.Millisecond))
}
