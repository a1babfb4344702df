package store

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"wiretime/study"
)

// Result is a run's result for one cell.
type Result struct {
	Cell   study.Cell
	Values map[string][]float64 // by metric: the raw values of the valid loads, in the order of the plan
	// Repeats has, for each of Values, the repeat of its load, from 0, which tells the sessions apart. It is nil in a
	// run without sessions of several loads.
	Repeats map[string][]int

	// These count attempts by verdict: a late load and its repetition count as one invalid and
	// one valid.
	Valid, Invalid, Failed, Unsupported int

	Planned int // loads planned
	Pending int // planned loads that still need an attempt
}

// plan counts a planned load.
func (r *Result) plan(state any) {
	r.Planned++
	if state == "planned" {
		r.Pending++
	}
}

// count counts an attempt by its verdict, if there was one.
func (r *Result) count(v Validity) {
	switch v {
	case Invalid:
		r.Invalid++
	case Failed:
		r.Failed++
	case Unsupported:
		r.Unsupported++
	case Valid:
		r.Valid++
	}
}

// add adds the value of a valid load.
func (r *Result) add(metric string, value float64, repeat int) {
	r.Values[metric] = append(r.Values[metric], value)
	if r.Repeats != nil {
		r.Repeats[metric] = append(r.Repeats[metric], repeat)
	}
}

// append adds what later loads of the same cell came to.
func (r *Result) append(later Result) {
	for metric, values := range later.Values {
		r.Values[metric] = append(r.Values[metric], values...)
		if r.Repeats != nil {
			r.Repeats[metric] = append(r.Repeats[metric], later.Repeats[metric]...)
		}
	}
	r.Valid, r.Invalid, r.Failed, r.Unsupported = r.Valid+later.Valid, r.Invalid+later.Invalid, r.Failed+later.Failed, r.Unsupported+later.Unsupported
	r.Planned, r.Pending = r.Planned+later.Planned, r.Pending+later.Pending
}

// mostColumns is how many metrics Results looks up one by one. With very many, whole loads are cheaper.
const mostColumns = 32

// Results returns the results of a run, one per cell in the order of the study, with the values of the given metrics. With
// up to 32 of them it reads neither other metrics nor whole loads; with more, the results have the values of all metrics.
func (s *Store) Results(run int64, metrics ...string) ([]Result, error) {
	if len(metrics) > mostColumns {
		results, _, err := s.ResultsAndLoads(run)
		return results, err
	}
	r, err := s.Run(run)
	if err != nil {
		return nil, err
	}
	results, err := s.results(run, r.Planned, metrics)
	if err != nil {
		return nil, fmt.Errorf("results of run %d: %w", run, err)
	}
	return results, nil
}

// results reads the results of a run of so many planned loads, with all connections at once.
func (s *Store) results(run int64, planned int, metrics []string) ([]Result, error) {
	cells, err := s.cells(run)
	if err != nil {
		return nil, err
	}
	results, parts := empty(cells), make([][]Result, max(1, min(s.readers, planned/batch)))
	var group errgroup.Group
	for i := range parts {
		first, last := i*planned/len(parts), (i+1)*planned/len(parts)-1
		if i == len(parts)-1 {
			last = math.MaxInt
		}
		group.Go(func() (err error) {
			parts[i], err = s.resultsOf(run, cells, first, last, metrics)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, part := range parts {
		for i := range results {
			results[i].append(part[i])
		}
	}
	return results, nil
}

// resultsOf returns the results of the loads from the first to the last of some places in the plan.
func (s *Store) resultsOf(run int64, cells map[int64]study.Cell, first, last int, metrics []string) ([]Result, error) {
	results, byCell := empty(cells), make(map[int64]*Result, len(cells))
	for i, id := range slices.Sorted(maps.Keys(cells)) {
		byCell[id] = &results[i]
	}
	// A row for each attempt, with a column for each metric, costs half of what a row for each value does.
	columns, args := "p.idx, p.cell, p.state, l.validity, p.repeat", []any{}
	for _, m := range metrics {
		columns += ", (SELECT value FROM value WHERE load = l.id AND metric = ?)"
		args = append(args, m)
	}
	row := newAnyRow(5 + len(metrics))
	var at any
	err := each(s, func(rows *sql.Rows) error {
		if err := rows.Scan(row.places...); err != nil {
			return err
		}
		idx, state, values := row.values[0], row.values[2], row.values[5:]
		cell, _ := row.values[1].(int64)
		r := byCell[cell]
		if r == nil {
			_, err := cellOf(nil, cell)
			return err
		}
		if idx != at {
			at = idx
			r.plan(state)
		}
		validity, _ := row.values[3].(string)
		r.count(Validity(validity))
		if Validity(validity) != Valid {
			return nil
		}
		for i, m := range metrics {
			if v, ok := values[i].(float64); ok {
				repeat, _ := row.values[4].(int64)
				r.add(m, v, int(repeat))
			}
		}
		return nil
	}, "SELECT "+columns+" FROM planned p LEFT JOIN load l ON l.planned = p.id WHERE p.run = ? AND p.idx BETWEEN ? AND ? ORDER BY p.idx, l.attempt",
		append(args, run, first, last)...)
	return results, err
}

// ResultsAndLoads returns what Results returns for all metrics, and what Loads returns.
func (s *Store) ResultsAndLoads(run int64) ([]Result, []Load, error) {
	results, err := s.Results(run)
	if err != nil {
		return nil, nil, err
	}
	loads, err := s.Loads(run)
	if err != nil {
		return nil, nil, err
	}
	byKey := make(map[string]*Result, len(results))
	for i := range results {
		byKey[results[i].Cell.Key()] = &results[i]
	}
	for _, l := range loads {
		if l.Validity != Valid {
			continue
		}
		r := byKey[l.Cell.Key()]
		for metric, v := range l.Values {
			r.add(metric, v, l.Repeat)
		}
	}
	return results, loads, nil
}

// empty returns results that count nothing: one for each cell, in the order of the study, which is that of the cells' row IDs.
func empty(cells map[int64]study.Cell) []Result {
	results, sessions := make([]Result, len(cells)), false
	for _, c := range cells {
		sessions = sessions || c.Load() > 1
	}
	for i, id := range slices.Sorted(maps.Keys(cells)) {
		results[i] = Result{Cell: cells[id], Values: map[string][]float64{}}
		if sessions {
			results[i].Repeats = map[string][]int{}
		}
	}
	return results
}

// Faults says which loads of a run could not be measured, and how many used a wrong protocol.
type Faults struct {
	Unsupported   []UnsupportedLoads // in the order of the plan
	WrongProtocol int                // attempts that broke validity rule 1
}

// UnsupportedLoads is how many planned loads cannot run here for one reason.
type UnsupportedLoads struct {
	Reason string
	Loads  int
}

// Faults returns the faults of a run.
func (s *Store) Faults(run int64) (Faults, error) {
	var f Faults
	var err error
	f.Unsupported, err = query(s, func(rows *sql.Rows) (u UnsupportedLoads, err error) {
		return u, rows.Scan(&u.Reason, &u.Loads)
	}, `SELECT l.reason, count(*) FROM load l CROSS JOIN planned p ON p.id = l.planned
		WHERE l.validity = 'unsupported' AND p.run = ? GROUP BY l.reason ORDER BY min(p.idx)`, run)
	if err == nil {
		err = each(s, func(rows *sql.Rows) error { return rows.Scan(&f.WrongProtocol) },
			`SELECT count(DISTINCT v.load) FROM violation v CROSS JOIN load l ON l.id = v.load CROSS JOIN planned p ON p.id = l.planned
			WHERE v.rule = 1 AND l.validity <> 'unsupported' AND p.run = ?`, run)
	}
	if err != nil {
		return Faults{}, fmt.Errorf("faults of run %d: %w", run, err)
	}
	return f, nil
}
