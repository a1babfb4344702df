package ui

import (
	"fmt"
	"net/http"
	"slices"

	"wiretime/report"
	"wiretime/stats"
	"wiretime/store"
)

// ratioTable is every cell of a run against the one of its section that has the baseline's label.
type ratioTable struct {
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit"`
	Baseline  string   `json:"baseline"`
	Baselines []string `json:"baselines"` // the labels that a baseline may have
	Pairs     []pair   `json:"pairs"`
}

// pair compares a cell with its section's baseline: the ratio and the difference of their medians, with 95 % intervals.
type pair struct {
	Section  int     `json:"section"`
	Cell     int     `json:"cell"`
	Base     int     `json:"base"`
	Ratio    float64 `json:"ratio"` // 0 where a value is not positive
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Diff     float64 `json:"diff"`
	DiffLow  float64 `json:"diffLow"`
	DiffHigh float64 `json:"diffHigh"`
	Interval bool    `json:"interval"` // false with fewer than six values on a side
	N        int     `json:"n"`
	NBase    int     `json:"nBase"`
}

func (s *Server) ratios(r *http.Request) (any, error) {
	run, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	metric, baseline := r.URL.Query().Get("metric"), r.URL.Query().Get("baseline")
	return s.kept(fmt.Sprintf("ratios %d %q %q", run, metric, baseline), func(st *store.Store) (any, error) {
		return ratiosOf(st, run, metric, baseline)
	})
}

// headlines are the metrics that answer what people ask first, of each workload.
var headlines = []string{"onload", "ttd", "loading_delay", "plt"}

// ratiosOf compares the cells of a run by a metric; "" is the first headline that they have. The baseline "" is the first cell's label.
func ratiosOf(st *store.Store, id int64, metric, baseline string) (*ratioTable, error) {
	run, err := st.Run(id)
	if err != nil {
		return nil, err
	}
	metrics, err := st.Metrics(id)
	if err != nil {
		return nil, err
	}
	wanted := []string{metric}
	if metric == "" {
		wanted = slices.Clone(headlines)
		for _, m := range metrics {
			if m.Unit == "ms" && !slices.Contains(wanted, m.Name) && len(wanted) < mostMetrics {
				wanted = append(wanted, m.Name)
			}
		}
	}
	whole, err := st.Results(id, wanted...)
	if err != nil {
		return nil, err
	}
	results, _ := report.Pooled(whole)
	t := &ratioTable{Metric: wanted[0], Baselines: []string{}, Pairs: []pair{}}
	for _, name := range wanted {
		if slices.ContainsFunc(results, func(r store.Result) bool { return len(r.Values[name]) > 0 }) {
			t.Metric = name
			break
		}
	}
	for _, m := range metrics {
		if m.Name == t.Metric {
			t.Unit = m.Unit
		}
	}
	if t.Unit == "" {
		return nil, fmt.Errorf("compare the cells of run %d: the run has no metric %.40q: %w", id, t.Metric, errNotFound)
	}
	t.Baseline = baseline
	return t, t.compare(results, stats.NewBootstrap(run.Seed))
}

func (t *ratioTable) compare(results []store.Result, bootstrap *stats.Bootstrap) error {
	labels, sections := report.Places(results)
	for _, label := range labels {
		if !slices.Contains(t.Baselines, label) {
			t.Baselines = append(t.Baselines, label)
		}
	}
	if t.Baseline == "" && len(t.Baselines) > 0 {
		t.Baseline = t.Baselines[0]
	}
	if !slices.Contains(t.Baselines, t.Baseline) && len(t.Baselines) > 0 {
		return fmt.Errorf("compare the cells of a run with %.60q: none is labelled so: %w", t.Baseline, errNotFound)
	}
	for i, cells := range sections {
		base := slices.IndexFunc(cells, func(c int) bool { return labels[c] == t.Baseline })
		if base < 0 {
			continue
		}
		y := results[cells[base]].Values[t.Metric]
		for _, c := range cells {
			x := results[c].Values[t.Metric]
			if c == cells[base] || len(x) == 0 || len(y) == 0 {
				continue
			}
			p := pair{Section: i, Cell: c, Base: cells[base], N: len(x), NBase: len(y)}
			d := bootstrap.Compare(x, y)
			p.Diff, p.DiffLow, p.DiffHigh, p.Interval = d.Value, d.Low, d.High, d.Enough
			if slices.Min(x) > 0 && slices.Min(y) > 0 {
				q := bootstrap.CompareRatio(x, y)
				p.Ratio, p.Low, p.High = q.Value, q.Low, q.High
			}
			t.Pairs = append(t.Pairs, p)
		}
	}
	return nil
}
