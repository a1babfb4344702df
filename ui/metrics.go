package ui

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"

	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
)

// sizes are metrics in octets that are served beside those that tables show.
var sizes = []string{"bytes_down", "bytes_up"}

// metrics serves what a monitoring system wants to know of the store and of its latest run.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	body, err := s.kept("metrics", func(st *store.Store) (any, error) {
		e := newExposition()
		e.add("wiretime_build", "", 1, s.Version)
		if err := s.measure(e, st); err != nil {
			return nil, err
		}
		return string(e.text()), nil
	})
	if errors.Is(err, store.ErrNotStore) { // nothing has been measured yet
		e := newExposition()
		e.add("wiretime_build", "", 1, s.Version)
		e.add("wiretime_runs", "", 0)
		answerMetrics(w, e.text())
		return
	}
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	var text string
	if err := json.Unmarshal(body, &text); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	answerMetrics(w, []byte(text))
}

func answerMetrics(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", openMetricsType)
	_, _ = w.Write(text)
}

// measure adds the store's runs and its latest one.
func (s *Server) measure(e *exposition, st *store.Store) error {
	runs, err := st.Runs()
	if err != nil {
		return err
	}
	e.add("wiretime_runs", "", float64(len(runs)))
	if len(runs) == 0 {
		return nil
	}
	run := runs[len(runs)-1]
	clock, err := clockOf(st, run.ID)
	if err != nil {
		return err
	}
	if clock == "both" {
		clock = "several"
	}
	of := []string{strconv.FormatInt(run.ID, 10), run.StudyName}
	e.add("wiretime_run", "", 1, of[0], of[1], clock, run.Version)
	e.add("wiretime_run_start_time_seconds", "", float64(run.Started.UnixNano())/1e9, of...)
	if !run.Finished.IsZero() {
		e.add("wiretime_run_end_time_seconds", "", float64(run.Finished.UnixNano())/1e9, of...)
	}
	active := run.Finished.IsZero() && store.Writer(s.Store) > 0
	e.add("wiretime_run_active", "", float64(map[bool]int{true: 1}[active]), of...)
	e.add("wiretime_run_planned_loads", "", float64(run.Planned), of...)
	e.add("wiretime_run_done_loads", "", float64(run.Done), of...)
	if active {
		last, err := st.LastLoads(run.ID, pacedLoads)
		if err != nil {
			return err
		}
		p := progress{Pending: run.Planned - run.Done}
		if p.estimate(s.Store, last); p.Left != nil {
			e.add("wiretime_run_remaining_seconds", "", *p.Left/1e3, of...)
		}
	}
	if err := attempts(e, st, run.ID, of); err != nil {
		return err
	}
	return cells(e, st, run.ID, of)
}

// attempts adds the run's attempts, the rules that they broke, and how late they were.
func attempts(e *exposition, st *store.Store, run int64, of []string) error {
	counts, err := st.Attempts(run)
	if err != nil {
		return err
	}
	for _, v := range []store.Validity{store.Valid, store.Invalid, store.Failed, store.Unsupported} {
		e.add("wiretime_attempts", "", float64(counts[v]), of[0], of[1], string(v))
	}
	broken, err := st.Broken(run)
	if err != nil {
		return err
	}
	for rule := 1; rule <= 7; rule++ {
		e.add("wiretime_violations", "", float64(broken[rule]), of[0], of[1], strconv.Itoa(rule))
	}
	var late []float64 // seconds
	sum := 0.0
	err = st.EachValue(run, lateMetric, func(ms float64) {
		late = append(late, ms/1e3)
		sum += ms / 1e3
	})
	if err != nil {
		return err
	}
	slices.Sort(late)
	for _, q := range []float64{0.5, 0.99, 1} {
		if n := len(late); n > 0 {
			e.add("wiretime_load_lateness_seconds", "", late[int(math.Ceil(q*float64(n)))-1], of[0], of[1], strconv.FormatFloat(q, 'g', -1, 64))
		}
	}
	e.add("wiretime_load_lateness_seconds", "_count", float64(len(late)), of...)
	e.add("wiretime_load_lateness_seconds", "_sum", sum, of...)
	return nil
}

// cells adds the medians and the attempts of the run's cells.
func cells(e *exposition, st *store.Store, run int64, of []string) error {
	metrics, err := st.Metrics(run)
	if err != nil {
		return err
	}
	results, err := st.Results(run, append(report.ShownMetrics(metrics, nil, nil), sizes...)...)
	if err != nil {
		return err
	}
	results, _ = report.Pooled(results)
	for _, r := range results {
		c := r.Cell
		rest := []string{c.Subject(), c.Over(), c.Network.Name, c.By(), c.On(study.AxisServer), c.Clock()}
		for _, m := range metrics {
			values := r.Values[m.Name]
			if len(values) == 0 {
				continue
			}
			sum := report.Summarize(values)
			labels := append([]string{of[0], of[1], c.Key(), m.Name}, rest...)
			switch m.Unit {
			case "ms":
				e.add("wiretime_cell_median_seconds", "", sum.Median/1e3, labels...)
				if sum.Interval {
					e.add("wiretime_cell_median_low_seconds", "", sum.Low/1e3, labels...)
					e.add("wiretime_cell_median_high_seconds", "", sum.High/1e3, labels...)
				}
			case "B":
				e.add("wiretime_cell_median_bytes", "", sum.Median, labels...)
			}
		}
		for _, v := range []struct {
			validity store.Validity
			n        int
		}{{store.Valid, r.Valid}, {store.Invalid, r.Invalid}, {store.Failed, r.Failed}, {store.Unsupported, r.Unsupported}} {
			e.add("wiretime_cell_attempts", "", float64(v.n), append([]string{of[0], of[1], c.Key(), string(v.validity)}, rest...)...)
		}
	}
	return nil
}
