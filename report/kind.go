package report

import (
	"slices"

	"wiretime/store"
	"wiretime/study"
)

// kind says what the report shows of the cells of one workload.
type kind struct {
	// contenders are the axes by which cells may be compared, the most important one first. Cells
	// are compared by the first contender that varies or, if together is set, by every contender
	// that varies. If none varies, the first one is used.
	contenders []study.Axis
	together   bool
	// apart are the rarely used axes on which cells of one section must agree.
	apart []study.Axis
	// strategy explains a strategy.
	strategy func(name string) string

	// metrics are the columns of a table of results. A table also has those of optional for
	// which one of its cells has a value.
	metrics, optional []string
	// overview are the metrics by which cells are compared, as far as they have values, the one first that most readers want.
	overview []string
	// clockMetrics are the times by which clocks may be compared: the first that has a value
	// counts, the last one if none has.
	clockMetrics []string

	// followed are the metrics that a series draws; without any, a workload has no series. The longest line of a panel must have at least
	// fewest values.
	followed []string
	fewest   int

	// checks returns the validity rules in the words of the workload.
	checks func(Axes) []Check
	// network describes the network of a cell.
	network func(Axes, study.Cell) Network
	// extend adds what only reports of this workload have.
	extend func(*Data, Axes, []store.Result)
}

// kinds has a row for each workload.
var kinds = map[*study.Workload]kind{study.Pages(): pageKind, study.Streams(): streamKind, study.Uploads(): uploadKind, study.Crowds(): crowdKind}

func (a Axes) kind() kind { return kinds[a.Workload] }

// compare returns the axes by which cells are compared, given which axes vary.
func (k kind) compare(varies func(study.Axis) bool) []study.Axis {
	compared := slices.DeleteFunc(slices.Clone(k.contenders), func(axis study.Axis) bool { return !varies(axis) })
	switch {
	case len(compared) == 0:
		return k.contenders[:1]
	case k.together:
		return compared
	}
	return compared[:1]
}

// Metrics names the metrics that a table of these results shows, in display order.
func (a Axes) Metrics(results []store.Result) []string {
	metrics := slices.Clone(a.kind().metrics)
	for _, name := range a.kind().optional {
		if slices.ContainsFunc(results, func(r store.Result) bool { return len(r.Values[name]) > 0 }) {
			metrics = append(metrics, name)
		}
	}
	return metrics
}

// ShownMetrics names those of a run's metrics that its tables of results, comparisons and sentences need: store.Results
// reads them in a fraction of the time that it takes for all.
func ShownMetrics(metrics []study.Metric, published []store.Figure, claims []store.Claim) []string {
	needed := map[string]bool{"misses": true, "inexact": true} // of Gaps
	for _, k := range kinds {
		for _, name := range slices.Concat(k.metrics, k.optional, k.overview, k.clockMetrics) {
			needed[name] = true
		}
	}
	for _, f := range published {
		needed[f.Metric] = true
	}
	for _, c := range claims {
		for _, p := range c.Pairs {
			needed[p.Metric], needed[p.ToMetric] = true, true
		}
	}
	var names []string
	for _, m := range metrics {
		if needed[m.Name] {
			names = append(names, m.Name)
		}
	}
	return names
}

// clockMetric names the time by which the clocks of a run are compared.
func (a Axes) clockMetric(results []store.Result) string {
	names := a.kind().clockMetrics
	for _, name := range names {
		if slices.ContainsFunc(results, func(r store.Result) bool { return len(r.Values[name]) > 0 }) {
			return name
		}
	}
	return names[len(names)-1]
}
