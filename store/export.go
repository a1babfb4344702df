package store

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"time"

	"wiretime/study"
)

// row is one value of one load with all its axes: the long form, which statistics programs
// read directly. A load without values (a failed one) is one row without a metric. It has a
// value for each column of header; nil is null in JSON and empty in CSV.
type row []any

// header names the columns of a row's values.
var header = slices.Concat([]string{"run", "study", "load", "index", "repeat", "attempt", "seed"}, axisNames(),
	[]string{"started", "wall_ms", "validity", "reason", "metric", "unit", "value"})

// axisColumn is a column of a cell's values.
type axisColumn struct {
	name  string
	holds []study.Axis // the axes that it holds, of one cell one at most
	value func(study.Cell) any
}

// axisColumns has a column for every axis of every workload. The listed ones have names and numbers
// of their own, which stay as they are; those of later axes follow.
var axisColumns = completed([]axisColumn{
	{"site", []study.Axis{study.AxisSite, study.AxisMedia}, func(c study.Cell) any { return c.Subject() }},
	{"protocol", []study.Axis{study.AxisProtocol, study.AxisTransport}, func(c study.Cell) any { return c.Over() }},
	{"network", []study.Axis{study.AxisNetwork}, func(c study.Cell) any { return c.Network.Name }},
	{"loader", []study.Axis{study.AxisLoader, study.AxisPlayer}, func(c study.Cell) any { return c.By() }},
	{"congestion", []study.Axis{study.AxisCongestion}, func(c study.Cell) any { return c.On(study.AxisCongestion) }},
	{"initcwnd", []study.Axis{study.AxisInitCwnd}, func(c study.Cell) any { return c.InitCwnd() }},
	{"clock", []study.Axis{study.AxisClock}, func(c study.Cell) any { return c.Clock() }},
	{"visit", []study.Axis{study.AxisVisit}, func(c study.Cell) any { return cmp.Or(c.On(study.AxisVisit), study.VisitCold) }},
	{"strategy", []study.Axis{study.AxisStrategy}, func(c study.Cell) any { return c.On(study.AxisStrategy) }},
	{"server", []study.Axis{study.AxisServer}, func(c study.Cell) any { return cmp.Or(c.On(study.AxisServer), study.ServerOwn) }},
	{"link_delay_ms", []study.Axis{study.AxisLinkDelay}, ofLink(func(l study.Link) any { return float64(l.Delay) / 1e6 })},
	{"loss", []study.Axis{study.AxisLoss}, ofLink(func(l study.Link) any { return l.Loss })},
	{"reconnections", []study.Axis{study.AxisReconnections}, ofLink(func(l study.Link) any { return l.Reconnections })},
})

// ofLink returns a property of a stream's link, and nil for pages.
func ofLink(value func(study.Link) any) func(study.Cell) any {
	return func(c study.Cell) any {
		if !c.Workload.Has(study.AxisLinkDelay) {
			return nil
		}
		return value(c.Link())
	}
}

// completed adds a column for each axis that has none. It holds the axis's words, and nil for a
// workload without the axis.
func completed(all []axisColumn) []axisColumn {
	for _, w := range study.Workloads() {
		for _, info := range w.Axes {
			axis := info.Axis
			if !slices.ContainsFunc(all, func(c axisColumn) bool { return slices.Contains(c.holds, axis) }) {
				all = append(all, axisColumn{string(axis), []study.Axis{axis}, func(c study.Cell) any {
					if !c.Workload.Has(axis) {
						return nil
					}
					return c.On(axis)
				}})
			}
		}
	}
	return all
}

func axisNames() []string {
	names := make([]string, len(axisColumns))
	for i, c := range axisColumns {
		names[i] = c.name
	}
	return names
}

// MarshalJSON writes the row as an object with the keys of header, in their order.
func (r row) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, v := range r {
		value, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", header[i], err)
		}
		separator := ','
		if i == 0 {
			separator = '{'
		}
		fmt.Fprintf(&out, "%c%q:%s", separator, header[i], value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// record returns the row as CSV.
func (r row) record() []string {
	fields := make([]string, len(r))
	for i, v := range r {
		switch v := v.(type) {
		case nil:
		case float64:
			fields[i] = decimal(v)
		case string:
			fields[i] = inert(v)
		default:
			fields[i] = fmt.Sprint(v)
		}
	}
	return fields
}

// Spreadsheets may take a cell that begins with one of these for a formula; the full-width ones in East Asia. Some
// spreadsheets also divide lines at semicolons and tabs.
var (
	firstFormula = regexp.MustCompile(`^[=+\-@＝＋－＠\t\r\n]`)
	laterFormula = regexp.MustCompile(`([;\t] *)([=+\-@＝＋－＠])`)
)

// inert returns a text such that spreadsheets take it for text. A study, a site's name or a server's answer may hold
// a formula, which could then read other cells or start programs. Numbers stay as they are.
func inert(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	text = laterFormula.ReplaceAllString(text, "$1'$2")
	if firstFormula.MatchString(text) {
		return "'" + text
	}
	return text
}

// decimal returns the shortest text that reads back as the same number.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func rowsOf(run Run, metrics []study.Metric, loads []Load) []row {
	rows := []row{}
	for _, l := range loads {
		// 64 bits do not fit in JavaScript's numbers: the seed is text.
		about := row{run.ID, run.StudyName, l.ID, l.Index, l.Repeat, l.Attempt, strconv.FormatUint(l.Seed, 10)}
		for _, c := range axisColumns {
			about = append(about, c.value(l.Cell))
		}
		about = append(about, l.Started.UTC().Format(time.RFC3339Nano), float64(l.Wall)/1e6, string(l.Validity), l.Reason)
		if len(l.Values) == 0 {
			rows = append(rows, append(about, "", "", nil))
		}
		for _, m := range metrics {
			if v, ok := l.Values[m.Name]; ok {
				rows = append(rows, append(slices.Clone(about), m.Name, m.Unit, v))
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
// a header: one line per load and metric, with all the axes. A text that a spreadsheet
// would take for a formula has an apostrophe before it.
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
		Keep        string          `json:"keep"`
	}
	document := struct {
		Run       about          `json:"run"`
		Metrics   []study.Metric `json:"metrics"`
		Published []Figure       `json:"published,omitempty"`
		Claims    []Claim        `json:"claims,omitempty"`
		Rows      []row          `json:"rows"`
	}{
		about{ID: run.ID, Study: run.StudyName, StudyText: run.StudyText, Seed: run.Seed, Version: run.Version,
			Environment: run.Environment, Started: run.Started.UTC(), Planned: run.Planned, Done: run.Done, Keep: run.Keep},
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
