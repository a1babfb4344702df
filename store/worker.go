package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// workersSince is the first schema version of stores that say which worker made a load, and which loads were retracted.
const workersSince = 11

// Worker is a process that carries out loads for a run, on this machine or on another one.
type Worker struct {
	Name string `json:"name"` // unique within the run
	// Described is what the worker said of itself: its host, labels, the versions of its programs, and how far its clock is
	// from the coordinator's.
	Described json.RawMessage `json:"described"`
	Loads     int             `json:"loads"` // attempts that the store holds of it, whatever their verdict
}

// PutWorker records a worker of a run, or replaces the description of one that the run has. Described must be JSON.
func (s *Store) PutWorker(run int64, name string, described json.RawMessage) error {
	if err := s.putWorker(run, name, described); err != nil {
		return fmt.Errorf("describe worker %.40q of run %d: %w", name, run, err)
	}
	return nil
}

func (s *Store) putWorker(run int64, name string, described json.RawMessage) error {
	if s.lock == nil {
		return ErrReadOnly
	}
	if name == "" {
		return errors.New("the name of the worker is empty")
	}
	if err := checkName("name of the worker", name); err != nil {
		return err
	}
	return s.update(`INSERT INTO worker (run, name, described) VALUES (?, ?, ?)
		ON CONFLICT (run, name) DO UPDATE SET described = excluded.described`, run, name, string(described))
}

// Workers returns the workers of a run in the order in which they were first described.
func (s *Store) Workers(run int64) ([]Worker, error) {
	if s.version < workersSince {
		return nil, nil
	}
	workers, err := query(s, func(rows *sql.Rows) (w Worker, err error) {
		if err := rows.Scan(&w.Name, (*jsonText)(&w.Described), &w.Loads); err != nil {
			return w, err
		}
		return w, checkRead("name of a worker", w.Name)
	}, `SELECT w.name, w.described, coalesce(made.loads, 0) FROM worker w
		LEFT JOIN (SELECT worker, count(*) AS loads FROM load WHERE worker IS NOT NULL GROUP BY worker) made ON made.worker = w.id
		WHERE w.run = ? ORDER BY w.id`, run)
	if err != nil {
		return nil, fmt.Errorf("workers of run %d: %w", run, err)
	}
	return workers, nil
}

// LoadsBy returns the IDs of a worker's loads in a run, and of all later attempts at the same planned loads, whoever made those:
// what Retract must be given if none of the worker's loads can be believed. They are in the order of the plan.
func (s *Store) LoadsBy(run int64, worker string) ([]string, error) {
	if s.version < workersSince {
		return nil, nil
	}
	ids, err := query(s, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT l.id FROM planned p CROSS JOIN load l ON l.planned = p.id WHERE p.run = ?1 AND EXISTS (
			SELECT 1 FROM load e WHERE e.planned = l.planned AND e.attempt <= l.attempt
			AND e.worker = (SELECT id FROM worker WHERE run = ?1 AND name = ?2)) ORDER BY p.idx, l.attempt`, run, worker)
	if err != nil {
		return nil, fmt.Errorf("loads of worker %.40q in run %d: %w", worker, run, err)
	}
	return ids, nil
}
