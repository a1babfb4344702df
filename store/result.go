package store

import (
	"database/sql"
	"fmt"

	"wiretime/study"
)

// Result is a run's result for one cell.
type Result struct {
	Cell   study.Cell
	Values map[string][]float64 // by metric: the raw values of the valid loads, in the order of the plan

	// These count attempts by verdict: a late load and its repetition count as one invalid and
	// one valid.
	Valid, Invalid, Failed, Unsupported int

	Planned int // loads planned
	Pending int // planned loads that still need an attempt
}

// Results returns the results of a run, one per cell in the order of the study.
func (s *Store) Results(run int64) ([]Result, error) {
	results, _, err := s.ResultsAndLoads(run)
	return results, err
}

// ResultsAndLoads returns what Results and Loads return, and reads the loads once.
func (s *Store) ResultsAndLoads(run int64) ([]Result, []Load, error) {
	if _, err := s.Run(run); err != nil {
		return nil, nil, err
	}
	cells, err := s.cells(run)
	if err != nil {
		return nil, nil, fmt.Errorf("results of run %d: %w", run, err)
	}
	results, err := query(s, func(rows *sql.Rows) (Result, error) {
		r := Result{Values: map[string][]float64{}}
		var cell int64
		err := rows.Scan(&r.Planned, &r.Pending, &cell)
		if err == nil {
			r.Cell, err = cellOf(cells, cell)
		}
		return r, err
	}, `SELECT count(p.id), count(p.id) FILTER (WHERE p.state = 'planned'), c.id
		FROM cell c LEFT JOIN planned p ON p.cell = c.id WHERE c.run = ? GROUP BY c.id ORDER BY c.id`, run)
	if err != nil {
		return nil, nil, fmt.Errorf("results of run %d: %w", run, err)
	}
	byKey := make(map[string]*Result, len(results))
	for i := range results {
		byKey[results[i].Cell.Key()] = &results[i]
	}
	loads, err := s.Loads(run)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range loads {
		r := byKey[l.Cell.Key()]
		switch l.Validity {
		case Invalid:
			r.Invalid++
		case Failed:
			r.Failed++
		case Unsupported:
			r.Unsupported++
		case Valid:
			r.Valid++
			for metric, v := range l.Values {
				r.Values[metric] = append(r.Values[metric], v)
			}
		}
	}
	return results, loads, nil
}
