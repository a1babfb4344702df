package report

import (
	"cmp"
	"maps"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Pooled puts the loads of sessions after the first, which are alike, into one result, whose cell's load is
// a range such as 2-100. Its values are one per session, the median of these loads: loads of one session are not
// independent of each other, and sessions are. Other results stay as they are. at has the index of the result that
// has a cell's loads, by the cell's key.
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
				continue // it is in the pool
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

// pool puts the results of several loads of one session into one.
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

// perSession returns a statistic of the values that each session has of some of its loads, in the order of the
// sessions. whole leaves out sessions that lack one of the values.
func perSession(loads []store.Result, metric, statistic string, whole bool) []float64 {
	sessions := map[int][]float64{}
	for _, r := range loads {
		for i, v := range r.Values[metric] {
			repeat := r.Repeats[metric][i]
			sessions[repeat] = append(sessions[repeat], v)
		}
	}
	all := []float64{}
	for _, repeat := range slices.Sorted(maps.Keys(sessions)) {
		if !whole || len(sessions[repeat]) == len(loads) {
			all = append(all, stats.Statistic(statistic).Of(sessions[repeat]))
		}
	}
	return all
}

// sample is what a figure or a side of a claim is about.
type sample struct {
	cell   study.Cell
	values []float64
	// statistic of the values is the figure. For a pool the values are the statistic of each session, and
	// the figure is their median.
	statistic stats.Statistic
}

// samples finds them in the results of a run.
type samples struct {
	results []store.Result
	cells   map[string]int
	members map[string][]store.Result // of a session, by its name without the load, in the order of its loads
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

// of returns the sample of a cell or, if loads is not empty, of these loads of its session.
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
