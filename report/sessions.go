package report

import (
	"cmp"
	"maps"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Pooled joins the results of each session's loads after the first into one, whose cell's load is a range such as 2-100. It has one value
// per session, the median of these loads, because the loads of a session are not independent of each other. Other results stay as they are.
// at has the index of the result that has a cell's loads, by the cell's key.
func Pooled(results []store.Result) (pooled []store.Result, at map[string]int) {
	at = map[string]int{}
	rest := map[string][]store.Result{} // by the session
	for _, r := range results {
		if r.Cell.Load() > 1 {
			session := r.Cell.But(study.AxisLoad)
			rest[session] = append(rest[session], r)
		}
	}
	for _, r := range results {
		members := []store.Result{r}
		if r.Cell.Load() > 1 {
			if members = rest[r.Cell.But(study.AxisLoad)]; r.Cell.Load() != members[0].Cell.Load() {
				continue // it has been pooled with the session's second load
			}
			r = pool(members)
		}
		for _, m := range members {
			at[m.Cell.Key()] = len(pooled)
		}
		pooled = append(pooled, r)
	}
	return pooled, at
}

// pool joins the results of several loads of a session.
func pool(members []store.Result) store.Result {
	first, last := members[0].Cell, members[len(members)-1].Cell
	all := store.Result{Cell: first.Pool(first.Load(), last.Load()), Values: map[string][]float64{}}
	for _, m := range members {
		all.Valid += m.Valid
		all.Invalid += m.Invalid
		all.Failed += m.Failed
		all.Unsupported += m.Unsupported
		all.Planned += m.Planned
		all.Pending += m.Pending
		for metric := range m.Values {
			if all.Values[metric] == nil {
				all.Values[metric] = perSession(members, metric, study.Median, false)
			}
		}
	}
	return all
}

// perSession returns, for each repeat of a session, a statistic of a metric's values in the given loads, in the order of the repeats. whole
// leaves out repeats in which one of the loads is not valid, but not those in which the metric does not apply to one of them.
func perSession(loads []store.Result, metric, statistic string, whole bool) []float64 {
	sessions, valid := map[int][]float64{}, map[int]int{} // by repeat: the values, and how many loads are valid
	for _, r := range loads {
		for _, repeat := range validIn(r) {
			valid[repeat]++
		}
		for i, v := range r.Values[metric] {
			repeat := r.Repeats[metric][i]
			sessions[repeat] = append(sessions[repeat], v)
		}
	}
	all := []float64{}
	for _, repeat := range slices.Sorted(maps.Keys(sessions)) {
		if !whole || valid[repeat] == len(loads) {
			all = append(all, stats.Statistic(statistic).Of(sessions[repeat]))
		}
	}
	return all
}

// validIn returns the repeats in which the load was valid: those with a value of any metric.
func validIn(r store.Result) []int {
	all := map[int]bool{}
	for _, repeats := range r.Repeats {
		for _, repeat := range repeats {
			all[repeat] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// sample holds the values behind a published figure or one side of a claim.
type sample struct {
	cell   study.Cell
	values []float64
	// statistic turns the values into the figure. For a range of a session's loads, values has the wanted statistic of each
	// repeat, and statistic is the median.
	statistic stats.Statistic
}

// samples finds samples in the results of a run.
type samples struct {
	results []store.Result
	cells   map[string]int            // the indices of results, by the keys of their cells
	members map[string][]store.Result // the results of a session, in the order of its loads, by the cell without the load
}

func newSamples(results []store.Result) *samples {
	s := &samples{results: results, cells: cellsByKey(results), members: map[string][]store.Result{}}
	for _, r := range results {
		if r.Cell.Load() > 0 {
			session := r.Cell.But(study.AxisLoad)
			s.members[session] = append(s.members[session], r)
		}
	}
	return s
}

// of returns the sample of a cell or, if loads names a range, of these loads of its session.
func (s *samples) of(cell, loads, metric, statistic string) sample {
	statistic = cmp.Or(statistic, study.Median)
	r := s.results[s.cells[cell]]
	found := sample{r.Cell, r.Values[metric], stats.Statistic(statistic)}
	first, last, err := study.ParseLoads(loads)
	if err != nil {
		return found
	}
	var members []store.Result
	for _, m := range s.members[r.Cell.But(study.AxisLoad)] {
		if n := m.Cell.Load(); n >= first && n <= last {
			members = append(members, m)
		}
	}
	found.cell, found.statistic = r.Cell.Pool(first, last), study.Median
	found.values = perSession(members, metric, statistic, true)
	return found
}
