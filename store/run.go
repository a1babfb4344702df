package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"wiretime/study"
)

// RunSpec describes a run before its first load.
type RunSpec struct {
	StudyName   string
	StudyText   string // the study file, byte for byte
	Seed        uint64
	Version     string // of wiretime
	Environment json.RawMessage
	Started     time.Time
	Keep        string              // which valid loads keep their artefacts (study.Keeps)
	Metrics     []study.Metric      // in display order
	Cells       []study.Cell        // in the order of the study
	Plan        []study.PlannedLoad // in the order to run them
	Published   []Figure            // figures that papers printed for the cells, in display order
	Claims      []Claim             // claims about the cells, in display order
}

// Run is one execution of a study.
type Run struct {
	ID          int64
	StudyName   string
	StudyText   string
	Seed        uint64
	Version     string
	Environment json.RawMessage
	Started     time.Time
	Finished    time.Time // zero while loads remain
	Keep        string    // which valid loads keep their artefacts (study.Keeps)
	Planned     int       // loads planned
	Done        int       // planned loads that need no further attempt
}

// Quick reports whether the run measures only its study's quick part.
func (r Run) Quick() bool {
	var e map[string]any
	if err := json.Unmarshal(r.Environment, &e); err != nil {
		return false
	}
	quick, _ := e[study.QuickKey].(bool)
	return quick
}

// Planned is a load of a run's plan.
type Planned struct {
	ID       int64 // row ID
	Run      int64
	Index    int // place in the plan, from 0
	Cell     study.Cell
	Repeat   int // from 0
	Seed     uint64
	Done     bool // no further attempt is needed
	Attempts int  // attempts the store already holds
}

// BeginRun records a run with all its planned loads and returns its id.
func (s *Store) BeginRun(spec RunSpec) (int64, error) {
	if s.lock == nil {
		return 0, fmt.Errorf("begin run of study %s: %w", spec.StudyName, ErrReadOnly)
	}
	if len(spec.Plan) == 0 {
		return 0, fmt.Errorf("begin run of study %s: the plan holds no load", spec.StudyName)
	}
	var run int64
	err := s.transact(func(tx *sql.Tx) (err error) {
		run, err = insertRun(tx, spec)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("begin run of study %s: %w", spec.StudyName, err)
	}
	return run, nil
}

func insertRun(tx *sql.Tx, spec RunSpec) (int64, error) {
	if err := checkName("name of the study", spec.StudyName); err != nil {
		return 0, err
	}
	row, err := tx.Exec(`INSERT INTO run (study_name, study_text, seed, wiretime_version, environment, started, keep) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		spec.StudyName, spec.StudyText, strconv.FormatUint(spec.Seed, 10), spec.Version, string(spec.Environment), spec.Started.UnixNano(), cmp.Or(spec.Keep, study.KeepAll))
	if err != nil {
		return 0, err
	}
	run, err := row.LastInsertId()
	if err != nil {
		return 0, err
	}
	for i, m := range spec.Metrics {
		if _, err := tx.Exec(`INSERT INTO metric (run, position, name, unit, title, definition) VALUES (?, ?, ?, ?, ?, ?)`,
			run, i, m.Name, m.Unit, m.Title, m.Definition); err != nil {
			return 0, fmt.Errorf("metric %s: %w", m.Name, err)
		}
	}
	cells := make(map[string]int64, len(spec.Cells))
	for _, c := range spec.Cells {
		key := c.Key()
		if cells[key], err = insertCell(tx, run, c); err != nil {
			return 0, fmt.Errorf("cell %s: %w", key, err)
		}
	}
	in := newInserter(tx)
	for i, p := range spec.Plan {
		cell, ok := cells[p.Cell.Key()]
		if !ok {
			return 0, fmt.Errorf("planned load %d: the run has no cell %q", i, p.Cell.Key())
		}
		if _, err := in.exec(`INSERT INTO planned (run, idx, cell, repeat, seed) VALUES (?, ?, ?, ?, ?)`,
			run, i, cell, p.Repeat, strconv.FormatUint(p.Seed, 10)); err != nil {
			return 0, fmt.Errorf("planned load %d: %w", i, err)
		}
	}
	return run, insertPaper(tx, run, spec, cells)
}

// FinishRun marks a run as finished. It is an error if planned loads remain.
func (s *Store) FinishRun(run int64, at time.Time) error {
	if s.lock == nil {
		return fmt.Errorf("finish run %d: %w", run, ErrReadOnly)
	}
	r, err := s.Run(run)
	if err != nil {
		return err
	}
	if r.Done < r.Planned {
		return fmt.Errorf("finish run %d: %d of its %d loads remain", run, r.Planned-r.Done, r.Planned)
	}
	if err := s.update("UPDATE run SET finished = ? WHERE id = ?", at.UnixNano(), run); err != nil {
		return fmt.Errorf("finish run %d: %w", run, err)
	}
	return nil
}

// Plan returns all loads of a run in the order of the plan. EachPlanned needs less memory.
func (s *Store) Plan(run int64) ([]Planned, error) {
	var plan []Planned
	cells, err := s.cells(run)
	if err == nil {
		err = s.eachPlanned(cells, func(p Planned) { plan = append(plan, p) }, "WHERE p.run = ? ORDER BY p.idx", run)
	}
	if err != nil {
		return nil, fmt.Errorf("plan of run %d: %w", run, err)
	}
	return plan, nil
}

// EachPlanned calls f with each load of a run in the order of the plan, until f returns an error, which it then returns. It has only
// some loads in memory at a time; all of a cell share what that cell holds. f may use the store, and what it changes is seen a
// thousand loads later at most.
func (s *Store) EachPlanned(run int64, f func(Planned) error) error {
	cells, err := s.cells(run)
	if err != nil {
		return fmt.Errorf("plan of run %d: %w", run, err)
	}
	some := make([]Planned, 0, batch)
	for next := 0; ; {
		some = some[:0]
		err := s.eachPlanned(cells, func(p Planned) { some = append(some, p) }, "WHERE p.run = ? AND p.idx >= ? ORDER BY p.idx LIMIT ?", run, next, batch)
		if err != nil {
			return fmt.Errorf("plan of run %d: %w", run, err)
		}
		if len(some) == 0 {
			return nil
		}
		for _, p := range some {
			if err := f(p); err != nil {
				return err
			}
		}
		next = some[len(some)-1].Index + 1
	}
}

// eachPlanned calls f with the planned loads that the condition selects, which are of the run that has the cells.
func (s *Store) eachPlanned(cells map[int64]study.Cell, f func(Planned), where string, args ...any) error {
	return each(s, func(rows *sql.Rows) error {
		var p Planned
		var cell int64
		err := rows.Scan(&p.ID, &p.Run, &p.Index, &p.Repeat, &p.Seed, &p.Done, &p.Attempts, &cell)
		if err == nil {
			p.Cell, err = cellOf(cells, cell)
		}
		if err == nil {
			f(p)
		}
		return err
	}, `SELECT p.id, p.run, p.idx, p.repeat, p.seed, p.state = 'done', (SELECT count(*) FROM load l WHERE l.planned = p.id), p.cell
		FROM planned p `+where, args...)
}

// Pending returns the loads of a run that still need an attempt, in the order
// of the plan.
func (s *Store) Pending(run int64) ([]Planned, error) {
	plan, err := s.Plan(run)
	return slices.DeleteFunc(plan, func(p Planned) bool { return p.Done }), err
}

func (s *Store) selectRun() string {
	keep := "keep"
	if s.version < keepSince {
		keep = "'" + study.KeepAll + "'"
	}
	return `
	SELECT id, study_name, study_text, seed, wiretime_version, environment, started, finished, ` + keep + `,
	  (SELECT count(*) FROM planned p WHERE p.run = run.id),
	  (SELECT count(*) FROM planned p WHERE p.run = run.id AND p.state = 'done')
	FROM run `
}

func scanRun(rows *sql.Rows) (r Run, err error) {
	var started int64
	var finished sql.NullInt64
	err = rows.Scan(&r.ID, &r.StudyName, &r.StudyText, &r.Seed, &r.Version, (*jsonText)(&r.Environment), &started, &finished, &r.Keep, &r.Planned, &r.Done)
	r.Started = time.Unix(0, started)
	if finished.Valid {
		r.Finished = time.Unix(0, finished.Int64)
	}
	if err == nil {
		err = checkRead("name of the study", r.StudyName)
	}
	if err == nil && !slices.Contains(study.Keeps(), r.Keep) {
		err = fmt.Errorf("%w: run %d keeps %.40q, which no run does", ErrDamaged, r.ID, r.Keep)
	}
	return r, err
}

// Runs returns the runs of the store, oldest first.
func (s *Store) Runs() ([]Run, error) {
	runs, err := query(s, scanRun, s.selectRun()+"ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("runs of store %s: %w", s.dir, err)
	}
	return runs, nil
}

// Run returns one run; the error wraps ErrNotFound if there is none.
func (s *Store) Run(id int64) (Run, error) {
	runs, err := query(s, scanRun, s.selectRun()+"WHERE id = ?", id)
	if err != nil {
		return Run{}, fmt.Errorf("run %d: %w", id, err)
	}
	if len(runs) == 0 {
		return Run{}, fmt.Errorf("run %d: %w %s; `wiretime results` lists its runs", id, ErrNotFound, s.dir)
	}
	return runs[0], nil
}

// UnfinishedRun returns the latest run that was not finished, if there is one.
func (s *Store) UnfinishedRun() (Run, bool, error) {
	runs, err := query(s, scanRun, s.selectRun()+"WHERE finished IS NULL ORDER BY id DESC LIMIT 1")
	if err != nil {
		return Run{}, false, fmt.Errorf("unfinished run of store %s: %w", s.dir, err)
	}
	if len(runs) == 0 {
		return Run{}, false, nil
	}
	return runs[0], true, nil
}

// Metrics returns the metrics of a run in display order.
func (s *Store) Metrics(run int64) ([]study.Metric, error) {
	metrics, err := query(s, func(rows *sql.Rows) (m study.Metric, err error) {
		return m, rows.Scan(&m.Name, &m.Unit, &m.Title, &m.Definition)
	}, "SELECT name, unit, title, definition FROM metric WHERE run = ? ORDER BY position", run)
	if err != nil {
		return nil, fmt.Errorf("metrics of run %d: %w", run, err)
	}
	if len(metrics) > mostMetrics {
		return nil, fmt.Errorf("metrics of run %d: %w: it has %d, want at most %d", run, ErrDamaged, len(metrics), mostMetrics)
	}
	for _, m := range metrics {
		for what, text := range map[string]string{"name of a metric": m.Name, "title of a metric": m.Title, "unit of a metric": m.Unit} {
			if err := checkRead(what, text); err != nil {
				return nil, fmt.Errorf("metrics of run %d: %w", run, err)
			}
		}
	}
	return metrics, nil
}

// mostMetrics is how many metrics a run may have: reports have room for each at each load.
const mostMetrics = 1000

// longestName is how many octets a name may have that exports repeat in many rows.
const longestName = 1 << 10

func checkName(what, name string) error {
	if len(name) > longestName {
		return fmt.Errorf("the %s, %.40q..., has %d octets, want at most %d", what, name, len(name), longestName)
	}
	return nil
}

// checkRead is checkName for a name that the database holds.
func checkRead(what, name string) error {
	if err := checkName(what, name); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// query reads all rows of a statement.
func query[T any](s *Store, scan func(*sql.Rows) (T, error), statement string, args ...any) ([]T, error) {
	var all []T
	err := each(s, func(rows *sql.Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	}, statement, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each calls scan with each row of a statement.
func each(s *Store, scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := s.db.Query(statement, args...)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return explain(err)
		}
	}
	return explain(rows.Err())
}

// anyRow scans a row into values of the types that SQLite has. For other types database/sql writes each number as text and
// parses it.
type anyRow struct {
	values []any
	places []any // pointers to values
}

func newAnyRow(columns int) anyRow {
	r := anyRow{make([]any, columns), make([]any, columns)}
	for i := range r.values {
		r.places[i] = &r.values[i]
	}
	return r
}

// transact runs do in a transaction.
func (s *Store) transact(do func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return explain(err)
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback()
		return explain(err)
	}
	if err := tx.Commit(); err != nil {
		return explain(err)
	}
	s.announce()
	return nil
}

// update runs one statement in a transaction.
func (s *Store) update(statement string, args ...any) error {
	return s.transact(func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
}

// jsonText scans SQLite's text into raw JSON.
type jsonText json.RawMessage

func (j *jsonText) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return errors.New("JSON column does not hold text")
	}
	*j = jsonText(text)
	return nil
}
