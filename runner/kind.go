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

// kind is what the runner asks of a workload: what its loads need beside their plan, and what
// to make of what they leave.
type kind interface {
	// bind completes a job: what it loads, over what, and what that will cost.
	bind(r *run, j *job) error
	// unsupported says why a job cannot run here; "" if it can.
	unsupported(r *run, j *job) string
	// order is the job as a station takes it.
	order(r *run, j *job, id string) station.Order
	// guest is how much memory, in octets, a guest needs for the job beside what it needs
	// itself, and how much longer than others the job may take it.
	guest(r *run, j *job) (memory int64, longer time.Duration)
	// fills says whether a guest is given no more than the batch.
	fills(b *batch) bool
	// faster is the clock on which cells that differ from c in what they are loaded over are
	// expected to be done sooner.
	faster(c study.Cell, s *site.Site, o study.Options) string

	// collect adds to the evidence what only loads of this kind leave.
	collect(left *evidence.Evidence, record *station.Record)
	// set is the metrics and checks of such loads, own the metrics of the runner and the lab
	// that are kept beside them, and values those that are no disturbances.
	set() metric.Set
	own() []study.Metric
	values(record *workload.Record) map[string]float64
	// headline is the foremost figure of the job's load, and lasted how long the load took on
	// its clock if that figure is ms.
	headline(j *job) string
	lasted(r *run, j *job, ms float64) time.Duration
	// files are those that a load leaves alike when it is run again, beside its capture.
	files() []string
}

// kinds are those of the workloads.
var kinds = map[*study.Workload]kind{study.Pages(): pageLoads{}, study.Streams(): streamLoads{}}

// kind is that of the job's workload.
func (j *job) kind() kind { return kinds[j.planned.Cell.Workload] }

// Metrics are the figures that a run keeps of each load of a workload, in the order to show
// them.
func Metrics(w *study.Workload) []study.Metric {
	k := kinds[w]
	var all []study.Metric
	for _, m := range k.set().Metrics {
		all = append(all, m.Metric)
	}
	return append(all, k.own()...)
}

// FasterClock is the clock on which the cells that differ from c in what they are loaded over
// are expected to be done sooner, in a run that keeps all cores busy: the virtual one pays for
// the processor's work, the real one also for waiting, of which only as much happens at a time
// as loads do not disturb each other. Protocols are not told apart, for cells on different
// clocks are not compared. Firefox has no choice: see unsupported. A stream has no site.
func FasterClock(c study.Cell, s *site.Site, o study.Options, virtual bool) string {
	if !virtual || c.By() == station.Firefox {
		return study.ClockReal
	}
	return kinds[c.Workload].faster(c, s, o)
}

// headline is the foremost figure of an attempt, -1 if it has none, and how long the load took.
func (r *run) headline(j *job, record store.LoadRecord) (name string, ms float64, lasted time.Duration) {
	name = j.kind().headline(j)
	ms, ok := record.Values[name]
	if !ok {
		return name, -1, 0
	}
	return name, ms, j.kind().lasted(r, j, ms)
}
