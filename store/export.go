package store

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/study"
)

// header names the columns of an export. A row is one value of one load with all its axes: the long form, which
// statistics programs read directly. A load without values (a failed one) is one row without a metric. A nil in a row is
// null in JSON and empty in CSV.
var header = slices.Concat([]string{"run", "study", "load", "index", "repeat", "attempt", "seed"}, axisNames(),
	[]string{"started", "wall_ms", "worker", "validity", "reason", "metric", "unit", "value"})

// axisColumn is a column of a cell's values.
type axisColumn struct {
	name  string
	holds []study.Axis // the axes that it holds, of one cell one at most
	kind  reflect.Kind // String, Int or Float64
	value func(study.Cell) any
}

// axisColumns has a column for every axis of every workload. The listed ones have names and numbers
// of their own, which stay as they are; those of later axes follow.
var axisColumns = completed([]axisColumn{
	{"site", []study.Axis{study.AxisSite, study.AxisMedia, study.AxisUpload}, reflect.String, func(c study.Cell) any {
		return cmp.Or(c.On(study.AxisSite), c.On(study.AxisMedia), c.On(study.AxisUpload))
	}},
	{"protocol", []study.Axis{study.AxisProtocol, study.AxisTransport}, reflect.String, func(c study.Cell) any { return c.Over() }},
	{"network", []study.Axis{study.AxisNetwork}, reflect.String, func(c study.Cell) any { return c.Network.Name }},
	{"loader", []study.Axis{study.AxisLoader, study.AxisPlayer}, reflect.String, func(c study.Cell) any { return cmp.Or(c.On(study.AxisLoader), c.On(study.AxisPlayer)) }},
	{"congestion", []study.Axis{study.AxisCongestion}, reflect.String, func(c study.Cell) any { return c.On(study.AxisCongestion) }},
	{"initcwnd", []study.Axis{study.AxisInitCwnd}, reflect.Int, func(c study.Cell) any {
		if c.On(study.AxisInitCwnd) == study.System {
			return nil
		}
		return c.InitCwnd()
	}},
	{"clock", []study.Axis{study.AxisClock}, reflect.String, func(c study.Cell) any { return c.Clock() }},
	{"visit", []study.Axis{study.AxisVisit}, reflect.String, func(c study.Cell) any { return cmp.Or(c.On(study.AxisVisit), study.VisitCold) }},
	{"strategy", []study.Axis{study.AxisStrategy}, reflect.String, func(c study.Cell) any { return c.On(study.AxisStrategy) }},
	{"server", []study.Axis{study.AxisServer}, reflect.String, func(c study.Cell) any { return cmp.Or(c.On(study.AxisServer), study.ServerOwn) }},
	{"link_delay_ms", []study.Axis{study.AxisLinkDelay}, reflect.Float64, ofLink(func(l study.Link) any { return float64(l.Delay) / 1e6 })},
	{"loss", []study.Axis{study.AxisLoss}, reflect.Float64, ofLink(func(l study.Link) any { return l.Loss })},
	{"reconnections", []study.Axis{study.AxisReconnections}, reflect.Int, ofLink(func(l study.Link) any { return l.Reconnections })},
	{"session_load", []study.Axis{study.AxisLoad}, reflect.Int, func(c study.Cell) any { // beside load, which is the load's ID
		if !c.Workload.Has(study.AxisLoad) {
			return nil
		}
		return c.Load()
	}},
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
				all = append(all, axisColumn{string(axis), []study.Axis{axis}, reflect.String, func(c study.Cell) any {
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

// Spreadsheets may take a cell that begins with one of these for a formula; the full-width ones in East Asia. Some
// spreadsheets also divide lines at semicolons and tabs.
var (
	firstFormula = regexp.MustCompile(`^[=+\-@＝＋－＠\t\r\n]`)
	laterFormula = regexp.MustCompile(`([;\t] *)([=+\-@＝＋－＠])`)
)

// Inert returns a text such that spreadsheets take it for text. A study, a site's name or a server's answer may hold
// a formula, which could then read other cells or start programs. Numbers stay as they are.
func Inert(text string) string {
	if !strings.ContainsAny(text, "=+-@＝＋－＠\t\r\n;") {
		return text
	}
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

// about returns what all rows of a load begin with: its values in the columns before those of the metric.
func about(run Run, l *Load) []any {
	values := []any{run.ID, run.StudyName, l.ID, l.Index, l.Repeat, l.Attempt, l.Seed}
	for _, c := range axisColumns {
		values = append(values, c.value(l.Cell))
	}
	var worker any
	if l.Worker != "" {
		worker = l.Worker
	}
	return append(values, l.Started.UTC(), float64(l.Wall)/1e6, worker, string(l.Validity), l.Reason)
}

// asText returns a seed and a time as text, and any other value as it is. 64 bits do not fit in JavaScript's numbers.
func asText(v any) any {
	switch v := v.(type) {
	case uint64:
		return strconv.FormatUint(v, 10)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// rowFormat says how rows are written. A row is the text of what all rows of its load begin with, then that of its metric,
// then its value. The first two are made once for each load and once for each metric.
type rowFormat struct {
	begin   func(about []any) ([]byte, error)
	metric  func(name, unit string) ([]byte, error)
	value   func(row []byte, v *float64) ([]byte, error) // appends the value, nil for a row without a metric, and the row's end
	between string                                       // two rows
}

// writeRows writes the rows of all loads of a run in the order of the plan, a load's in the order of the metrics. It has
// only some of the loads in memory at a time. It returns the number of rows.
func (s *Store) writeRows(w io.Writer, run Run, metrics []study.Metric, format rowFormat) (rows int, err error) {
	names := make([][]byte, len(metrics))
	for i, m := range metrics {
		if names[i], err = format.metric(m.Name, m.Unit); err != nil {
			return 0, err
		}
	}
	none, err := format.metric("", "")
	if err != nil {
		return 0, err
	}
	var row []byte
	write := func(begin, metric []byte, v *float64) error {
		row = row[:0]
		if rows > 0 {
			row = append(row, format.between...)
		}
		rows++
		row, err = format.value(append(append(row, begin...), metric...), v)
		if err == nil {
			_, err = w.Write(row)
		}
		return err
	}
	var begin []byte
	err = s.eachRow(run, metrics, func(about []any) error {
		begin, err = format.begin(about)
		return err
	}, func(metric int, v *float64) error {
		if metric < 0 {
			return write(begin, none, nil)
		}
		return write(begin, names[metric], v)
	})
	return rows, err
}

// eachRow calls load with what the rows of a load begin with, then row for each of them: with the metric's place among the
// metrics and the value, or with -1 and nil if the load has no value. It goes through the loads of a run as writeRows does.
func (s *Store) eachRow(run Run, metrics []study.Metric, load func(about []any) error, row func(metric int, v *float64) error) error {
	return s.eachBatch(run.ID, func(loads []Load) error {
		for i := range loads {
			l := &loads[i]
			if err := load(about(run, l)); err != nil {
				return fmt.Errorf("load %s: %w", l.ID, err)
			}
			if len(l.Values) == 0 {
				if err := row(-1, nil); err != nil {
					return err
				}
			}
			for j, m := range metrics {
				if v, ok := l.Values[m.Name]; ok {
					if err := row(j, &v); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// exportBuffer is how many octets of an export are written at a time.
const exportBuffer = 64 << 10
