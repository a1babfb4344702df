// Package summary writes what came out of a run as one JSON document for other programs: the statistics of each cell, the
// outcomes of claims, how many attempts count, and what the run was measured with. docs/summary.schema.json describes it.
package summary

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"wiretime/report"
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Version is the version of the document. Keys that are added do not change it.
const Version = 1

type document struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Run     run    `json:"run"`
	// Environment is as the store keeps it.
	Environment json.RawMessage `json:"environment"`
	Metrics     []study.Metric  `json:"metrics"`
	Cells       []cell          `json:"cells"`
	Claims      []claim         `json:"claims"`
	Unsupported []unsupported   `json:"unsupported"`
	// WrongProtocol counts attempts that used another protocol than the one asked for.
	WrongProtocol int `json:"wrong_protocol"`
}

type run struct {
	ID       int64      `json:"id"`
	Study    string     `json:"study"`
	Quick    bool       `json:"quick"` // it measured only a part of the study
	Seed     string     `json:"seed"`  // 64 bits do not fit in JavaScript's numbers
	Version  string     `json:"wiretime_version"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"` // null while loads remain
	Planned  int        `json:"planned"`
	Done     int        `json:"done"`
}

type cell struct {
	Key      string                `json:"key"`
	Axes     map[string]string     `json:"axes"`
	Planned  int                   `json:"planned"`
	Pending  int                   `json:"pending"`
	Attempts attempts              `json:"attempts"`
	Metrics  map[string]statistics `json:"metrics"` // those that a valid load has
}

type attempts struct {
	Valid       int `json:"valid"`
	Invalid     int `json:"invalid"`
	Failed      int `json:"failed"`
	Unsupported int `json:"unsupported"`
}

// statistics are those of a metric's values in a cell, in the metric's unit.
type statistics struct {
	N      int      `json:"n"`
	Median float64  `json:"median"`
	Low    *float64 `json:"low"` // with High the median's 95 % interval; null with fewer than six values
	High   *float64 `json:"high"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
}

type claim struct {
	Text    string `json:"text"`
	Test    string `json:"test"`
	Verdict string `json:"verdict"`
	Pairs   []pair `json:"pairs"`
}

type pair struct {
	Name    string   `json:"name"`
	Outcome string   `json:"outcome"`
	Value   *float64 `json:"value"` // the ratio or, of a claim of growth, the mean change per step; null if nothing was measured
	Low     *float64 `json:"low"`   // with High its 95 % interval; null without one
	High    *float64 `json:"high"`
}

type unsupported struct {
	Reason string `json:"reason"`
	Loads  int    `json:"loads"`
}

// Write writes the summary of a run.
func Write(st *store.Store, id int64, w io.Writer) error {
	d, err := summarise(st, id)
	if err == nil {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", " ")
		err = out.Encode(d)
	}
	if err != nil {
		return fmt.Errorf("summarise run %d: %w", id, err)
	}
	return nil
}

func summarise(st *store.Store, id int64) (document, error) {
	r, err := st.Run(id)
	if err != nil {
		return document{}, err
	}
	d := document{Format: "wiretime-summary", Version: Version, Environment: r.Environment, Run: run{ID: r.ID, Study: r.StudyName, Quick: r.Quick(),
		Seed: strconv.FormatUint(r.Seed, 10), Version: r.Version, Started: r.Started.UTC(), Planned: r.Planned, Done: r.Done}}
	if !r.Finished.IsZero() {
		finished := r.Finished.UTC()
		d.Run.Finished = &finished
	}
	if d.Metrics, err = st.Metrics(id); err != nil {
		return document{}, err
	}
	if d.Cells, err = cellsOf(st, id, d.Metrics); err != nil {
		return document{}, err
	}
	if d.Claims, err = claimsOf(st, r, d.Metrics); err != nil {
		return document{}, err
	}
	faults, err := st.Faults(id)
	d.Unsupported, d.WrongProtocol = []unsupported{}, faults.WrongProtocol
	for _, u := range faults.Unsupported {
		d.Unsupported = append(d.Unsupported, unsupported{u.Reason, u.Loads})
	}
	return d, err
}

// together is how many metrics are read at a time, so that large runs fit into memory.
const together = 16

func cellsOf(st *store.Store, id int64, metrics []study.Metric) ([]cell, error) {
	cells := []cell{}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	for some := range slices.Chunk(names, together) {
		results, err := st.Results(id, some...)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			if i == len(cells) {
				cells = append(cells, cellOf(r))
			}
			for name, values := range r.Values {
				if len(values) > 0 {
					cells[i].Metrics[name] = statisticsOf(values)
				}
			}
		}
	}
	return cells, nil
}

func cellOf(r store.Result) cell {
	c := cell{Key: r.Cell.Key(), Axes: map[string]string{}, Planned: r.Planned, Pending: r.Pending, Metrics: map[string]statistics{},
		Attempts: attempts{r.Valid, r.Invalid, r.Failed, r.Unsupported}}
	for _, info := range r.Cell.Workload.Axes {
		c.Axes[string(info.Axis)] = r.Cell.On(info.Axis)
	}
	return c
}

func statisticsOf(values []float64) statistics {
	m := stats.Median(values)
	s := statistics{N: m.N, Median: m.Median, Min: slices.Min(values), Max: slices.Max(values)}
	if m.Reached {
		s.Low, s.High = &m.Low, &m.High
	}
	return s
}

func claimsOf(st *store.Store, r store.Run, metrics []study.Metric) ([]claim, error) {
	claims, err := st.Claims(r.ID)
	if err != nil || len(claims) == 0 {
		return []claim{}, err
	}
	results, err := st.Results(r.ID, report.ShownMetrics(metrics, nil, claims)...)
	if err != nil {
		return nil, err
	}
	var all []claim
	for _, j := range report.JudgeClaims(results, metrics, claims, r.Seed) {
		c := claim{Text: j.Text, Test: j.Test, Verdict: j.Verdict, Pairs: []pair{}}
		for _, p := range j.Pairs {
			one := pair{Name: p.Name, Outcome: p.Outcome}
			if p.Outcome != report.Unmeasured {
				one.Value = &p.Ratio
			}
			if p.Interval {
				one.Low, one.High = &p.Low, &p.High
			}
			c.Pairs = append(c.Pairs, one)
		}
		all = append(all, c)
	}
	return all, nil
}
