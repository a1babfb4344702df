package store

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"wiretime/study"
)

// row is one value of one load with all its axes: the long form, which statistics programs
// read directly. A load without values (a failed one) is one row without a metric.
type row struct {
	Run           int64    `json:"run"`
	Study         string   `json:"study"`
	Load          string   `json:"load"`
	Index         int      `json:"index"`
	Repeat        int      `json:"repeat"`
	Attempt       int      `json:"attempt"`
	Seed          uint64   `json:"seed,string"` // 64 bits do not fit in JavaScript's numbers
	Site          string   `json:"site"`
	Protocol      string   `json:"protocol"`
	Network       string   `json:"network"`
	Loader        string   `json:"loader"`
	Congestion    string   `json:"congestion"`
	InitCwnd      int      `json:"initcwnd"`
	Clock         string   `json:"clock"`
	Visit         string   `json:"visit"`
	Strategy      string   `json:"strategy"`
	Server        string   `json:"server"`
	LinkDelayMS   *float64 `json:"link_delay_ms"` // this and the next two: null, in CSV empty, for a workload without these axes
	Loss          *float64 `json:"loss"`
	Reconnections *int     `json:"reconnections"`
	Started       string   `json:"started"`
	WallMS        float64  `json:"wall_ms"`
	Validity      Validity `json:"validity"`
	Reason        string   `json:"reason"`
	Metric        string   `json:"metric"`
	Unit          string   `json:"unit"`
	Value         *float64 `json:"value"`
}

var header = []string{"run", "study", "load", "index", "repeat", "attempt", "seed", "site", "protocol", "network",
	"loader", "congestion", "initcwnd", "clock", "visit", "strategy", "server", "link_delay_ms", "loss", "reconnections", "started", "wall_ms", "validity", "reason", "metric", "unit", "value"}

func (r row) record() []string {
	reconnections := ""
	if r.Reconnections != nil {
		reconnections = strconv.Itoa(*r.Reconnections)
	}
	return []string{strconv.FormatInt(r.Run, 10), r.Study, r.Load, strconv.Itoa(r.Index), strconv.Itoa(r.Repeat),
		strconv.Itoa(r.Attempt), strconv.FormatUint(r.Seed, 10), r.Site, r.Protocol, r.Network,
		r.Loader, r.Congestion, strconv.Itoa(r.InitCwnd), r.Clock, r.Visit, r.Strategy, r.Server,
		optional(r.LinkDelayMS), optional(r.Loss), reconnections, r.Started, decimal(r.WallMS), string(r.Validity), r.Reason,
		r.Metric, r.Unit, optional(r.Value)}
}

// optional formats a number that may be missing.
func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return decimal(*v)
}

// decimal returns the shortest text that reads back as the same number.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func rowsOf(run Run, metrics []study.Metric, loads []Load) []row {
	rows := []row{}
	for _, l := range loads {
		r := row{Run: run.ID, Study: run.StudyName, Load: l.ID, Index: l.Index, Repeat: l.Repeat, Attempt: l.Attempt, Seed: l.Seed,
			Site: l.Cell.Subject(), Protocol: l.Cell.Over(), Network: l.Cell.Network.Name, Loader: l.Cell.By(),
			Congestion: l.Cell.On(study.AxisCongestion), InitCwnd: l.Cell.InitCwnd(), Clock: l.Cell.Clock(),
			Visit: cmp.Or(l.Cell.On(study.AxisVisit), study.VisitCold), Strategy: l.Cell.On(study.AxisStrategy),
			Server:  cmp.Or(l.Cell.On(study.AxisServer), study.ServerOwn),
			Started: l.Started.UTC().Format(time.RFC3339Nano), WallMS: float64(l.Wall) / 1e6, Validity: l.Validity, Reason: l.Reason}
		if l.Cell.Workload.Has(study.AxisLinkDelay) {
			link := l.Cell.Link()
			delay := float64(link.Delay) / 1e6
			r.LinkDelayMS, r.Loss, r.Reconnections = &delay, &link.Loss, &link.Reconnections
		}
		if len(l.Values) == 0 {
			rows = append(rows, r)
		}
		for _, m := range metrics {
			if v, ok := l.Values[m.Name]; ok {
				r.Metric, r.Unit, r.Value = m.Name, m.Unit, &v
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func (s *Store) exported(id int64) (Run, []study.Metric, []row, error) {
	run, err := s.Run(id)
	if err != nil {
		return Run{}, nil, nil, err
	}
	metrics, err := s.Metrics(id)
	if err != nil {
		return Run{}, nil, nil, err
	}
	loads, err := s.Loads(id)
	if err != nil {
		return Run{}, nil, nil, err
	}
	return run, metrics, rowsOf(run, metrics, loads), nil
}

// ExportCSV writes the raw values of a run, valid or not, as RFC 4180 CSV with
// a header: one line per load and metric, with all the axes.
func (s *Store) ExportCSV(w io.Writer, run int64) error {
	_, _, rows, err := s.exported(run)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	out.Write(header)
	for _, r := range rows {
		out.Write(r.record())
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("export run %d as CSV: %w", run, explain(err))
	}
	return nil
}

// ExportJSON writes the same rows as ExportCSV, in "rows", after the run itself (study,
// seed, environment), the definitions of its metrics, and the published figures and claims
// about its cells.
func (s *Store) ExportJSON(w io.Writer, id int64) error {
	run, metrics, rows, err := s.exported(id)
	if err != nil {
		return err
	}
	published, err := s.Published(id)
	if err != nil {
		return err
	}
	claims, err := s.Claims(id)
	if err != nil {
		return err
	}
	type about struct {
		ID          int64           `json:"id"`
		Study       string          `json:"study"`
		StudyText   string          `json:"study_text"`
		Seed        uint64          `json:"seed,string"`
		Version     string          `json:"wiretime_version"`
		Environment json.RawMessage `json:"environment"`
		Started     time.Time       `json:"started"`
		Finished    *time.Time      `json:"finished"`
		Planned     int             `json:"planned"`
		Done        int             `json:"done"`
	}
	document := struct {
		Run       about          `json:"run"`
		Metrics   []study.Metric `json:"metrics"`
		Published []Figure       `json:"published,omitempty"`
		Claims    []Claim        `json:"claims,omitempty"`
		Rows      []row          `json:"rows"`
	}{
		about{ID: run.ID, Study: run.StudyName, StudyText: run.StudyText, Seed: run.Seed, Version: run.Version,
			Environment: run.Environment, Started: run.Started.UTC(), Planned: run.Planned, Done: run.Done},
		metrics, published, claims, rows,
	}
	if !run.Finished.IsZero() {
		finished := run.Finished.UTC()
		document.Run.Finished = &finished
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	if err := out.Encode(document); err != nil {
		return fmt.Errorf("export run %d as JSON: %w", id, explain(err))
	}
	return nil
}
