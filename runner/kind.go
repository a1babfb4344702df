package runner

import (
	"time"

	"wiretime/evidence"
	"wiretime/metric"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
)

// kind describes one workload to the runner: what its loads need, and what their evidence
// contains.
type kind interface {
	// bind looks up what the job's cell names and estimates the job's cost.
	bind(r *run, j *job) error
	// unsupported returns why the job cannot run here, or "" if it can.
	unsupported(r *run, j *job) string
	// order returns the station's order for the job.
	order(r *run, j *job, id string) station.Order
	// guest returns how much memory a guest needs for the job on top of its own, in octets, and
	// how much the job extends the guest's time limit.
	guest(r *run, j *job) (memory int64, longer time.Duration)
	// fills reports whether the batch is enough work for one guest.
	fills(b *batch) bool
	// faster returns the clock that is expected to finish first the cells that differ from c
	// only in their protocol.
	faster(c study.Cell, s *site.Site, o study.Options) string

	// collect adds the parts of the evidence that only this workload leaves.
	collect(left *evidence.Evidence, record *station.Record)
	// set returns the workload's metrics and checks. own lists the metrics that the runner and
	// the lab add; values returns the values of those that are not disturbances.
	set() metric.Set
	own() []study.Metric
	values(record *workload.Record) map[string]float64
	// headline names the metric that the progress shows. lasted returns the load's duration on
	// its clock, where that metric is ms.
	headline(j *job) string
	lasted(r *run, j *job, ms float64) time.Duration
	// files names the artefacts besides the capture that a repeated load must leave unchanged.
	files() []string
}

// kinds has an entry for each workload.
var kinds = map[*study.Workload]kind{study.Pages(): pageLoads{}, study.Streams(): streamLoads{}}

// kind returns the kind of the job's workload.
func (j *job) kind() kind { return kinds[j.planned.Cell.Workload] }

// Metrics returns the metrics that a run stores for each load of a workload, in display order.
func Metrics(w *study.Workload) []study.Metric {
	k := kinds[w]
	var all []study.Metric
	for _, m := range k.set().Metrics {
		all = append(all, m.Metric)
	}
	return append(all, k.own()...)
}

// FasterClock returns the clock that is expected to finish first the cells that differ from c
// only in their protocol, in a run that keeps all cores busy. The virtual clock costs processor
// time only. The real clock also costs waiting, and few loads may wait side by side without
// disturbing each other. The choice is the same for all protocols, because cells on different
// clocks are not compared. Firefox runs on the real clock only. s is nil for a stream.
func FasterClock(c study.Cell, s *site.Site, o study.Options, virtual bool) string {
	if !virtual || c.By() == station.Firefox {
		return study.ClockReal
	}
	return kinds[c.Workload].faster(c, s, o)
}

// headline returns the metric that the progress shows for an attempt, its value (-1 without
// one) and the load's duration.
func (r *run) headline(j *job, record store.LoadRecord) (name string, ms float64, lasted time.Duration) {
	name = j.kind().headline(j)
	ms, ok := record.Values[name]
	if !ok {
		return name, -1, 0
	}
	return name, ms, j.kind().lasted(r, j, ms)
}
