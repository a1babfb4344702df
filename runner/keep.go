package runner

import (
	"math"
	"slices"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// trim drops the artefacts that the run does not keep of some cells, which count as one cell. A job stands for each
// cell. With keep: median it drops nothing before the cells are complete.
func (r *run) trim(cells []*job) error {
	if r.Keep != study.KeepMedian && r.Keep != study.KeepNone {
		return nil
	}
	r.trimming.Lock()
	defer r.trimming.Unlock()
	var loads []store.CellLoad
	for _, j := range cells {
		if r.Keep == study.KeepMedian {
			if complete, err := r.Store.CellComplete(j.planned.ID); err != nil || !complete {
				return err
			}
		}
		more, err := r.Store.CellLoads(j.planned.ID)
		if err != nil {
			return err
		}
		loads = append(loads, more...)
	}
	stays := ""
	if r.Keep == study.KeepMedian {
		stays = medianLoad(Metrics(cells[0].planned.Cell.Workload), loads)
	}
	for _, l := range loads {
		if l.Kept && l.ID != stays {
			if err := r.Store.Drop(l.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keep says what a store that keeps such artefacts (study.Keeps) does with those of an attempt at once.
func Keep(r *store.LoadRecord, keep string) {
	r.Drop = keep == study.KeepNone && r.Validity == store.Valid
	r.Compress = keep == study.KeepCompressed
}

// Trim drops the artefacts that a run does not keep of the cells of some loads, which were made elsewhere. Loads of a session
// are next to each other.
func Trim(c Config, loads []store.Planned) error {
	queue := make([]*job, len(loads))
	for i, p := range loads {
		queue[i] = &job{planned: p}
	}
	gatherSeries(queue)
	r := &run{Config: c}
	return r.trimAll(queue)
}

// trimAll trims all cells, since a run may have been killed before it could.
func (r *run) trimAll(queue []*job) error {
	trimmed := map[string]bool{}
	for _, group := range together(queue) {
		key := group[0].planned.Cell.Key()
		if trimmed[key] {
			continue
		}
		trimmed[key] = true
		trim := func() error { return r.trim(group) }
		if s := group[0].series; s != nil {
			trim = func() error { return r.trimSeries(s) }
		}
		if err := trim(); err != nil {
			return err
		}
	}
	return nil
}

// medianLoad returns the ID of the load with artefacts whose onLoad (without an onLoad, whose first
// metric in ms) is nearest to the median of all loads: the one that the report shows of its cell.
// It returns "" if no load has artefacts.
func medianLoad(metrics []study.Metric, loads []store.CellLoad) string {
	has := func(metric string) bool {
		return slices.ContainsFunc(loads, func(l store.CellLoad) bool { _, ok := l.Values[metric]; return ok })
	}
	decides := "onload"
	if !has(decides) {
		if i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Unit == "ms" && has(m.Name) }); i >= 0 {
			decides = metrics[i].Name
		}
	}
	var values []float64
	for _, l := range loads {
		if v, ok := l.Values[decides]; ok {
			values = append(values, v)
		}
	}
	median := stats.Median(values).Median
	best, nearest := "", math.Inf(1)
	for _, l := range loads {
		v, ok := l.Values[decides]
		if !ok {
			v = math.MaxFloat64 // rather than none
		}
		if far := math.Abs(v - median); l.Kept && far < nearest {
			best, nearest = l.ID, far
		}
	}
	return best
}
