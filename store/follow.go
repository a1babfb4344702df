package store

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/study"
)

// DataVersion returns a number that is another one after another process has changed the database. It reads a few octets.
func (s *Store) DataVersion() (version int64, err error) {
	if err := s.db.QueryRow("PRAGMA data_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read the version of store %s: %w", s.dir, explain(err))
	}
	return version, nil
}

// Schema returns the version of the database's schema as it is now. A writer of a later program raises it.
func (s *Store) Schema() (version int, err error) {
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read the schema's version of store %s: %w", s.dir, explain(err))
	}
	return version, nil
}

// Cells returns the cells of a run in the order of the study.
func (s *Store) Cells(run int64) ([]study.Cell, error) {
	if _, err := s.Run(run); err != nil {
		return nil, err
	}
	byID, err := s.cells(run)
	if err != nil {
		return nil, fmt.Errorf("cells of run %d: %w", run, err)
	}
	cells := make([]study.Cell, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		cells = append(cells, byID[id])
	}
	return cells, nil
}

// ResultOf returns the result of one cell with the values of all metrics, and its loads as LoadsOf does.
func (s *Store) ResultOf(run int64, cell study.Cell) (Result, []Load, error) {
	r := Result{Cell: cell, Values: map[string][]float64{}, Repeats: map[string][]int{}}
	loads, err := s.LoadsOf(run, cell)
	if err != nil {
		return r, nil, err
	}
	err = each(s, func(rows *sql.Rows) error {
		var state string
		if err := rows.Scan(&state); err != nil {
			return err
		}
		r.plan(state)
		return nil
	}, "SELECT p.state FROM planned p JOIN cell c ON c.id = p.cell WHERE c.run = ? AND c.key = ?", run, cell.Key())
	if err != nil {
		return r, nil, fmt.Errorf("plan of cell %s in run %d: %w", cell.Key(), run, err)
	}
	for i := range loads {
		r.count(loads[i].Validity)
		if loads[i].Validity != Valid {
			continue
		}
		for metric, v := range loads[i].Values {
			r.add(metric, v, loads[i].Repeat)
		}
	}
	return r, loads, nil
}

// Broken returns how many attempts of a run broke each validity rule, by the rule's number.
func (s *Store) Broken(run int64) (map[int]int, error) {
	broken := map[int]int{}
	err := each(s, func(rows *sql.Rows) error {
		var rule, loads int
		err := rows.Scan(&rule, &loads)
		broken[rule] = loads
		return err
	}, `SELECT v.rule, count(DISTINCT v.load) FROM violation v CROSS JOIN load l ON l.id = v.load CROSS JOIN planned p ON p.id = l.planned
		WHERE p.run = ? GROUP BY v.rule`, run)
	if err != nil {
		return nil, fmt.Errorf("violations of run %d: %w", run, err)
	}
	return broken, nil
}

// Attempts returns how many attempts of a run came to each verdict.
func (s *Store) Attempts(run int64) (map[Validity]int, error) {
	attempts := map[Validity]int{}
	err := each(s, func(rows *sql.Rows) error {
		var v Validity
		var n int
		err := rows.Scan(&v, &n)
		attempts[v] = n
		return err
	}, "SELECT l.validity, count(*)"+fromLoad+"WHERE p.run = ? GROUP BY l.validity", run)
	if err != nil {
		return nil, fmt.Errorf("attempts of run %d: %w", run, err)
	}
	return attempts, nil
}

// Reasons returns the reasons of the attempts of a run that came to a verdict, in the order of the plan.
func (s *Store) Reasons(run int64, verdict Validity) ([]string, error) {
	reasons, err := query(s, func(rows *sql.Rows) (reason string, err error) { return reason, rows.Scan(&reason) },
		"SELECT l.reason"+fromLoad+"WHERE p.run = ? AND l.validity = ? ORDER BY p.idx, l.attempt", run, verdict)
	if err != nil {
		return nil, fmt.Errorf("reasons of run %d: %w", run, err)
	}
	return reasons, nil
}

// LastLoads returns the loads of a run that ended last, at most so many, the latest first.
func (s *Store) LastLoads(run int64, most int) ([]Load, error) {
	ids, err := query(s, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		"SELECT l.id"+fromLoad+"WHERE p.run = ? ORDER BY l.started + l.wall_ms * 1e6 DESC, l.id DESC LIMIT ?", run, most)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	marks, args := make([]string, len(ids)), make([]any, len(ids))
	for i, id := range ids {
		marks[i], args[i] = "?", id
	}
	loads, err := s.loads(nil, "WHERE l.id IN ("+strings.Join(marks, ", ")+")", args...)
	if err != nil {
		return nil, fmt.Errorf("last loads of run %d: %w", run, err)
	}
	slices.SortFunc(loads, func(a, b Load) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return loads, nil
}

// EachValue calls f with the value of one metric in every attempt of a run that has it, whatever the attempt's verdict, in the
// order of the plan.
func (s *Store) EachValue(run int64, metric string, f func(value float64)) error {
	err := each(s, func(rows *sql.Rows) error {
		var v float64
		if err := rows.Scan(&v); err != nil {
			return err
		}
		f(v)
		return nil
	}, "SELECT v.value"+fromLoad+"JOIN value v ON v.load = l.id WHERE p.run = ? AND v.metric = ? ORDER BY p.idx, l.attempt", run, metric)
	if err != nil {
		return fmt.Errorf("values of %s in run %d: %w", metric, run, err)
	}
	return nil
}
