// Package compare says how two sets of measured cells differ: runs, stores, or the values of an axis within one run. Cells are
// paired by all axes on which they are not compared. What cannot be compared is said, not computed.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

// Spec names one side of a comparison: a store with a run, or cells of a run.
type Spec struct {
	Dir   string          // folder of the store; empty: that of the command's flag
	Run   int64           // number of the run in it; 0: the latest
	Where study.Selection // nil: all cells
}

// ParseSpec reads a side: a store as in "results", with a run as in "results:3", or values on axes as in "protocol=h2" and
// "server=mine,protocol=h3".
func ParseSpec(text string) (Spec, error) {
	axis, _, selects := strings.Cut(text, "=")
	if selects && slices.Contains(axes(), axis) {
		where, err := parseWhere(text)
		return Spec{Where: where}, err
	}
	if selects && !strings.ContainsAny(axis, "/.") {
		return Spec{}, fmt.Errorf("read %q: unknown axis %q; the axes are %s (for a folder with = in its name, write ./%s)", text, axis, strings.Join(axes(), ", "), text)
	}
	dir, number, numbered := cutLast(text, ":")
	if !numbered || strings.Contains(number, "/") {
		dir, numbered = text, false
	}
	s := Spec{Dir: dir}
	if numbered {
		run, err := strconv.ParseInt(number, 10, 64)
		if err != nil || run < 1 {
			return Spec{}, fmt.Errorf("read %q: invalid run %q: want a number from 1, as in results:3", text, number)
		}
		s.Run = run
	}
	if s.Dir == "" {
		return Spec{}, fmt.Errorf("read %q: want a store as in results, a run of it as in results:3, or cells as in protocol=h2", text)
	}
	return s, nil
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

func parseWhere(text string) (study.Selection, error) {
	where := study.Selection{}
	for part := range strings.SplitSeq(text, ",") {
		axis, value, ok := strings.Cut(part, "=")
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("read %q: want AXIS=VALUE between commas, as in server=mine,protocol=h3", text)
		case !slices.Contains(axes(), axis):
			return nil, fmt.Errorf("read %q: unknown axis %q; the axes are %s", text, axis, strings.Join(axes(), ", "))
		case where[study.Axis(axis)] != nil:
			return nil, fmt.Errorf("read %q: it names two values on axis %s; name one", text, axis)
		}
		where[study.Axis(axis)] = []string{value}
	}
	return where, nil
}

// axes returns the names of the axes of all workloads.
func axes() []string {
	var all []string
	for _, w := range study.Workloads() {
		for _, a := range w.Axes {
			if !slices.Contains(all, string(a.Axis)) {
				all = append(all, string(a.Axis))
			}
		}
	}
	return all
}

// Side is one of the two sets of cells that are compared.
type Side struct {
	Name    string // as the user wrote it
	Store   *store.Store
	Run     store.Run
	metrics []study.Metric
	where   study.Selection
	results []store.Result // without values: the cells, and how many loads were attempted
}

// Open reads the cells of a run that a side names. An empty selection takes all. It is an error if no cell has a value that
// the side names; the error lists those that cells have.
func Open(name string, st *store.Store, run int64, where study.Selection) (Side, error) {
	s := Side{Name: name, Store: st, where: where}
	var err error
	if s.Run, err = st.Run(run); err != nil {
		return s, err
	}
	if s.metrics, err = st.Metrics(run); err != nil {
		return s, err
	}
	all, err := st.Results(run)
	if err != nil {
		return s, err
	}
	if s.results = slices.DeleteFunc(slices.Clone(all), func(r store.Result) bool { return !where.Picks(r.Cell) }); len(s.results) > 0 {
		return s, nil
	}
	for axis, values := range where {
		var known []string
		for _, r := range all {
			if v := r.Cell.On(axis); v != "" && !slices.Contains(known, v) {
				known = append(known, v)
			}
		}
		if !slices.Contains(known, values[0]) {
			return s, fmt.Errorf("compare %s: run %d of store %s has no cell with %s %q; its cells have %s", name, run, st.Dir(), axis, values[0], orNone(known))
		}
	}
	return s, fmt.Errorf("compare %s: run %d of store %s has no such cell", name, run, st.Dir())
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "no such axis"
	}
	return strings.Join(words, ", ")
}

// metric returns a metric of the side's run.
func (s Side) metric(name string) (study.Metric, bool) {
	i := slices.IndexFunc(s.metrics, func(m study.Metric) bool { return m.Name == name })
	if i < 0 {
		return study.Metric{}, false
	}
	return s.metrics[i], true
}

// excluded counts the attempts that were not valid and do not count.
func (s Side) excluded() (n int) {
	for _, r := range s.results {
		n += r.Invalid + r.Failed
	}
	return n
}

// comparedAxes returns the axes by which the sides differ as a whole. They are those by which the sides are selected, both by the same ones.
// Between two runs they are the axes on which each side has a single value, and each another; all but the clock, on which figures do not
// mean the same.
func comparedAxes(a, b Side) ([]study.Axis, error) {
	var compared []study.Axis
	for _, pair := range [][2]Side{{a, b}, {b, a}} {
		for axis := range pair[0].where {
			if pair[1].where[axis] == nil {
				return nil, fmt.Errorf("compare %s with %s: only %s names a value on axis %s; name one on both sides", a.Name, b.Name, pair[0].Name, axis)
			}
			if !slices.Contains(compared, axis) {
				compared = append(compared, axis)
			}
		}
	}
	if len(compared) == 0 && a.Store.Dir() == b.Store.Dir() && a.Run.ID == b.Run.ID {
		return nil, errors.New("compare a run with itself: name two runs as in results:1 results:2, or two values of an axis as in protocol=h2 protocol=h3")
	}
	if len(compared) == 0 && a.results[0].Cell.Workload == b.results[0].Cell.Workload {
		for _, info := range a.results[0].Cell.Workload.Axes {
			first, second := a.values(info.Axis), b.values(info.Axis)
			if info.Axis != study.AxisClock && len(first) == 1 && len(second) == 1 && first[0] != second[0] {
				compared = append(compared, info.Axis)
			}
		}
	}
	slices.Sort(compared)
	return compared, nil
}

// values returns the values that the side's cells have on an axis.
func (s Side) values(axis study.Axis) (values []string) {
	for _, r := range s.results {
		if v := r.Cell.On(axis); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
