package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"wiretime/study"
)

// Retracted is an attempt that was taken back because its figures cannot be believed.
type Retracted struct {
	Load   string // its ID, which the next attempt at the planned load has, too
	Worker string // that made it; empty if the run's own process did
	Why    string
	At     time.Time
	Was    Former
}

// Former is what a retracted attempt was. The store keeps it as JSON.
type Former struct {
	Started    time.Time          `json:"started"`
	WallMS     float64            `json:"wall_ms"`
	Validity   Validity           `json:"validity"`
	Reason     string             `json:"reason,omitempty"`
	Values     map[string]float64 `json:"values"`
	Violations []study.Violation  `json:"violations,omitempty"`
	Pages      []study.Page       `json:"pages,omitempty"`
	Making     *Making            `json:"making,omitempty"`
	Files      []File             `json:"files"` // its artefacts, which are gone
}

// Retract takes attempts of a run back, because of a worker that turned out to lie. Their rows and artefacts go, and their planned
// loads are pending again, so that the run is unfinished. What they were stays in the store (Retracted), with the names, sizes
// and checksums of their artefacts. LoadsBy says what to retract of a worker.
//
// Attempts that belong together go together, else it is an error and nothing is retracted: with an attempt all later ones at its
// planned load, which would not have been made without it, and with an attempt at a load of a session those at the session's other loads.
// If the program is killed, either all or none are retracted, and the next writer removes artefacts that are left.
func (s *Store) Retract(run int64, loads []string, why string) error {
	if err := s.retract(run, loads, why); err != nil {
		return fmt.Errorf("retract loads of run %d: %w", run, explain(err))
	}
	return nil
}

func (s *Store) retract(run int64, loads []string, why string) error {
	if s.lock == nil {
		return ErrReadOnly
	}
	cells, err := s.cells(run)
	if err != nil {
		return err
	}
	r := retraction{run: run, why: why, at: time.Now(), going: map[string]bool{}, sessions: sessionsOf(cells)}
	var folders []string
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(loads))), batch) {
		found, err := s.named(run, cells, some)
		if err != nil {
			return err
		}
		for _, l := range found {
			if err := s.remember(&r, l); err != nil {
				return fmt.Errorf("load %s: %w", l.ID, err)
			}
			if l.Artefacts != "" {
				folders = append(folders, l.Artefacts)
			}
		}
	}
	if len(r.formers) == 0 {
		return nil
	}
	if err := s.transact(r.carryOut); err != nil {
		return err
	}
	for _, folder := range folders {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// named returns the loads of a run with these IDs.
func (s *Store) named(run int64, cells map[int64]study.Cell, ids []string) ([]Load, error) {
	args := []any{run}
	for _, id := range ids {
		args = append(args, id)
	}
	loads, err := s.loads(cells, "WHERE +p.run = ? AND l.id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", args...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(loads, func(l Load) bool { return l.ID == id }) {
			return nil, fmt.Errorf("load %.40q: %w as one of the run", id, ErrNotFound)
		}
	}
	return loads, nil
}

// remember notes what a load was before it goes.
func (s *Store) remember(r *retraction, l Load) error {
	files, err := s.Files(l)
	if err != nil {
		return err
	}
	making, err := s.Making(l.ID)
	if err != nil {
		return err
	}
	text, err := json.Marshal(Former{l.Started.UTC(), float64(l.Wall) / 1e6, l.Validity, l.Reason, l.Values, l.Violations, l.Pages, making, files})
	if err != nil {
		return fmt.Errorf("describe it: %w", err)
	}
	r.formers = append(r.formers, former{l.ID, string(text)})
	r.going[l.ID] = true
	return nil
}

// retraction is a retraction that is prepared.
type retraction struct {
	run      int64
	why      string
	at       time.Time
	formers  []former
	going    map[string]bool   // by ID
	sessions map[int64][]int64 // the cells of a session of several loads, by the row ID of each of them
}

// former is a load that goes, and what it was, as JSON.
type former struct{ id, was string }

// carryOut changes the rows.
func (r *retraction) carryOut(tx *sql.Tx) error {
	in := newInserter(tx)
	if err := r.checkWhole(in); err != nil {
		return err
	}
	for _, f := range r.formers {
		for _, statement := range []string{
			"UPDATE planned SET state = 'planned' WHERE id = (SELECT planned FROM load WHERE id = ?)",
			"DELETE FROM value WHERE load = ?", "DELETE FROM violation WHERE load = ?", "DELETE FROM page WHERE load = ?", "DELETE FROM artefact WHERE load = ?",
		} {
			if _, err := in.exec(statement, f.id); err != nil {
				return fmt.Errorf("load %s: %w", f.id, err)
			}
		}
		_, err := in.exec("INSERT INTO retracted (run, load, worker, why, at, record) SELECT ?, id, worker, ?, ?, ? FROM load WHERE id = ?",
			r.run, r.why, r.at.UnixNano(), f.was, f.id)
		if err == nil {
			err = exactlyOne(in.exec("DELETE FROM load WHERE id = ?", f.id))
		}
		if err != nil {
			return fmt.Errorf("load %s: %w", f.id, err)
		}
	}
	_, err := tx.Exec("UPDATE run SET finished = NULL WHERE id = ?", r.run)
	return err
}

// checkWhole makes sure that attempts that belong together go together.
func (r *retraction) checkWhole(in *inserter) error {
	type attempt struct {
		session int64 // the row ID of its first cell
		repeat  int
		attempt int
	}
	checked := map[attempt]bool{}
	for _, f := range r.formers {
		if err := r.goes(in, f.id, "is a later attempt at the same load; retract it as well",
			"SELECT n.id FROM load l JOIN load n ON n.planned = l.planned AND n.attempt > l.attempt WHERE l.id = ?", f.id); err != nil {
			return err
		}
		var cell int64
		var a attempt
		s, err := in.query("SELECT p.cell, p.repeat, l.attempt FROM load l JOIN planned p ON p.id = l.planned WHERE l.id = ?")
		if err != nil {
			return err
		}
		if err := s.QueryRow(f.id).Scan(&cell, &a.repeat, &a.attempt); err != nil {
			return err
		}
		session := r.sessions[cell]
		if len(session) == 0 {
			continue
		}
		a.session = session[0]
		if checked[a] {
			continue
		}
		checked[a] = true
		for _, other := range session {
			if err := r.goes(in, f.id, "belongs to the same session; a session is retracted as a whole",
				"SELECT l.id FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = ? AND p.repeat = ? AND l.attempt = ?", other, a.repeat, a.attempt); err != nil {
				return err
			}
		}
	}
	return nil
}

// goes makes sure that the loads that a query finds, which belong to a load that goes, go with it.
func (r *retraction) goes(in *inserter, load, belongs, query string, args ...any) error {
	s, err := in.query(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if !r.going[id] {
			return fmt.Errorf("load %s: load %s %s", load, id, belongs)
		}
	}
	return rows.Err()
}

// sessionsOf returns the cells of each session of several loads, by the row ID of each of them.
func sessionsOf(cells map[int64]study.Cell) map[int64][]int64 {
	byName := map[string][]int64{}
	for _, id := range slices.Sorted(maps.Keys(cells)) {
		if c := cells[id]; c.Workload.Has(study.AxisLoad) {
			name := c.But(study.AxisLoad)
			byName[name] = append(byName[name], id)
		}
	}
	sessions := map[int64][]int64{}
	for _, session := range byName {
		if len(session) > 1 {
			for _, id := range session {
				sessions[id] = session
			}
		}
	}
	return sessions
}

// Retracted returns the attempts of a run that were taken back, in the order in which that happened.
func (s *Store) Retracted(run int64) ([]Retracted, error) {
	if s.version < workersSince {
		return nil, nil
	}
	all, err := query(s, func(rows *sql.Rows) (r Retracted, err error) {
		var at int64
		var was string
		if err := rows.Scan(&r.Load, &r.Worker, &r.Why, &at, &was); err != nil {
			return r, err
		}
		r.At = time.Unix(0, at)
		if err := json.Unmarshal([]byte(was), &r.Was); err != nil {
			return r, fmt.Errorf("%w: what load %.40q was is not described: %w", ErrDamaged, r.Load, err)
		}
		return r, checkRead("name of a worker", r.Worker)
	}, `SELECT r.load, coalesce(w.name, ''), r.why, r.at, r.record FROM retracted r LEFT JOIN worker w ON w.id = r.worker
		WHERE r.run = ? ORDER BY r.id`, run)
	if err != nil {
		return nil, fmt.Errorf("retracted loads of run %d: %w", run, err)
	}
	return all, nil
}
