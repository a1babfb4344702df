package store

import (
	"database/sql"
	"fmt"
	"strconv"

	"wiretime/study"
)

// Extend adds loads to a run, which is then unfinished. The plan begins with the loads that the run has, and the added ones are
// of the same cells: it is the plan of the same study with more repeats. A plan that is no longer than the run's adds nothing.
func (s *Store) Extend(run int64, plan []study.PlannedLoad) error {
	if s.lock == nil {
		return fmt.Errorf("extend run %d: %w", run, ErrReadOnly)
	}
	has, err := s.Plan(run)
	if err != nil {
		return err
	}
	for i, p := range has[:min(len(has), len(plan))] {
		if p.Index != i || p.Repeat != plan[i].Repeat || p.Seed != plan[i].Seed || p.Cell.Key() != plan[i].Cell.Key() {
			return fmt.Errorf("extend run %d: its load %d, repeat %d of cell %s, is not what the study plans there now", run, i, p.Repeat, p.Cell.Key())
		}
	}
	if len(plan) <= len(has) {
		return nil
	}
	err = s.transact(func(tx *sql.Tx) error {
		in := newInserter(tx)
		for i, p := range plan[len(has):] {
			row, err := in.exec(`INSERT INTO planned (run, idx, cell, repeat, seed) SELECT run, ?, id, ?, ? FROM cell WHERE run = ? AND key = ?`,
				len(has)+i, p.Repeat, strconv.FormatUint(p.Seed, 10), run, p.Cell.Key())
			if err := exactlyOne(row, err); err != nil {
				return fmt.Errorf("planned load %d: %w (the run must have its cell)", len(has)+i, err)
			}
		}
		_, err := tx.Exec("UPDATE run SET finished = NULL WHERE id = ?", run)
		return err
	})
	if err != nil {
		return fmt.Errorf("extend run %d: %w", run, explain(err))
	}
	return nil
}
