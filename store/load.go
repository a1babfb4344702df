package store

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/study"
)

// Validity is the verdict on one load.
type Validity string

// These are the verdicts. Only the values of valid loads count in results; the others are
// kept and shown.
const (
	Valid       Validity = "valid"
	Invalid     Validity = "invalid"     // ran, but broke a validity rule (late packets, wrong protocol, ...)
	Failed      Validity = "failed"      // did not finish: timeout, crash of the browser, ...
	Unsupported Validity = "unsupported" // the cell cannot run here
)

// LoadRecord holds the results of one attempt at a planned load, apart from the files in
// its staged folder.
type LoadRecord struct {
	Planned    Planned
	Attempt    int // from 1
	Started    time.Time
	Wall       time.Duration // real time spent, all included
	Validity   Validity
	Reason     string // why the load is not valid; empty if it is valid
	Values     map[string]float64
	Violations []study.Violation
	Pages      []study.Page // in the order of the journey; none if the load has one page only
	Final      bool         // no attempt will follow, whatever the verdict
	Making     *Making      // how it was made, on the virtual clock; nil if it cannot be made again
	Worker     string       // that made it (PutWorker); empty if the run's own process did
	Drop       bool         // keep no artefacts, only their checksums
	// Files describes the artefacts that were dropped where the load was made, so that none are staged here. It needs Drop.
	Files    []File
	Compress bool // compress the artefacts that are kept
}

// ID returns the load's name, such as "r1-0007-a2": run 1, place 7 in the plan, second
// attempt.
func (r LoadRecord) ID() string {
	return fmt.Sprintf("r%d-%04d-a%d", r.Planned.Run, r.Planned.Index, r.Attempt)
}

// Load is one load as the store holds it.
type Load struct {
	ID         string
	Run        int64
	Index      int // place in the plan, from 0
	Cell       study.Cell
	Repeat     int // from 0
	Seed       uint64
	Attempt    int // from 1
	Started    time.Time
	Wall       time.Duration
	Validity   Validity
	Reason     string
	Artefacts  string // absolute path of the folder; empty if there is none
	Worker     string // that made it; empty if the run's own process did
	Dropped    bool   // it had artefacts, and the store has kept their checksums only
	Values     map[string]float64
	Violations []study.Violation
	Pages      []study.Page // in the order of the journey; none if the load has one page only
}

// LoadsWithFiles returns the IDs of the loads that have artefacts in the store in dir, sorted as text. It only lists a
// folder, so it is quick, and the store may be in use.
func LoadsWithFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, loadsName))
	if err != nil {
		return nil, fmt.Errorf("list the loads of store %s: %w", dir, err)
	}
	var ids []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), stagedSuffix) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Loads returns every load of a run, all attempts included, in the order of
// the plan.
func (s *Store) Loads(run int64) ([]Load, error) {
	var all []Load
	err := s.eachBatch(run, func(loads []Load) error {
		all = append(all, loads...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loads of run %d: %w", run, err)
	}
	return all, nil
}

// LoadsOf returns every load of a run's cell, as Loads does.
func (s *Store) LoadsOf(run int64, cell study.Cell) ([]Load, error) {
	ids, err := query(s, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) }, "SELECT id FROM cell WHERE run = ? AND key = ?", run, cell.Key())
	var loads []Load
	if err == nil && len(ids) > 0 {
		loads, err = s.loads(map[int64]study.Cell{ids[0]: cell}, "WHERE p.cell = ?", ids[0])
	}
	if err != nil {
		return nil, fmt.Errorf("loads of cell %s in run %d: %w", cell.Key(), run, err)
	}
	return loads, nil
}

// Load returns one load; the error wraps ErrNotFound if there is none.
func (s *Store) Load(id string) (Load, error) {
	loads, err := s.loads(nil, "WHERE l.id = ?", id)
	if err != nil {
		return Load{}, fmt.Errorf("load %s: %w", id, err)
	}
	if len(loads) == 0 {
		return Load{}, fmt.Errorf("load %s: %w %s; want an id like r1-0007-a1 (run, place in the plan, attempt); 'wiretime export csv' lists them", id, ErrNotFound, s.dir)
	}
	return loads[0], nil
}

// batch is how many planned loads are read at a time.
const batch = 1000

// eachBatch calls f with the loads of a run, some at a time, in the order of the plan.
func (s *Store) eachBatch(run int64, f func([]Load) error) error {
	cells, err := s.cells(run)
	if err != nil {
		return err
	}
	places, err := query(s, func(rows *sql.Rows) (idx int64, err error) { return idx, rows.Scan(&idx) }, "SELECT idx FROM planned WHERE run = ? ORDER BY idx", run)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(places, batch) {
		loads, err := s.loads(cells, "WHERE p.run = ? AND p.idx BETWEEN ? AND ?", run, some[0], some[len(some)-1])
		if err != nil {
			return err
		}
		if err := f(loads); err != nil {
			return err
		}
	}
	return nil
}

const fromLoad = ` FROM planned p JOIN load l ON l.planned = p.id `

// loads reads the loads that the condition selects, which are of one run, then their values, violations and pages. cells
// are the run's; if they are nil, loads reads them, too.
func (s *Store) loads(cells map[int64]study.Cell, where string, args ...any) ([]Load, error) {
	rows, err := query(s, s.scanLoad, `SELECT l.id, p.run, p.idx, p.repeat, p.seed, l.attempt, l.started, l.wall_ms,
		l.validity, l.reason, l.artefacts, `+s.dropped()+`, `+s.since(workersSince, "coalesce((SELECT name FROM worker WHERE id = l.worker), '')", "''")+`, p.cell`+fromLoad+where+` ORDER BY p.idx, l.attempt`, args...)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if cells == nil {
		if cells, err = s.cells(rows[0].Run); err != nil {
			return nil, err
		}
	}
	loads := make([]Load, len(rows))
	byID := make(map[string]*Load, len(loads))
	for i, r := range rows {
		loads[i] = r.Load
		if loads[i].Cell, err = cellOf(cells, r.cell); err != nil {
			return nil, err
		}
		byID[loads[i].ID] = &loads[i]
	}
	// Only the later queries see a load committed since the first one.
	names := map[string]string{} // of metrics, each in one place
	var id, metric string
	var value any
	err = each(s, func(rows *sql.Rows) error {
		if err := rows.Scan(&id, &metric, &value); err != nil {
			return err
		}
		if _, known := names[metric]; !known {
			names[metric] = metric
		}
		v, ok := value.(float64) // an interface, because database/sql would write other numbers as text and parse it
		if !ok {
			return fmt.Errorf("%w: load %.40q has a value that is not a number", ErrDamaged, id)
		}
		if l := byID[id]; l != nil {
			l.Values[names[metric]] = v
		}
		return nil
	}, "SELECT v.load, v.metric, v.value"+fromLoad+"JOIN value v ON v.load = l.id "+where, args...)
	if err != nil {
		return nil, err
	}
	err = each(s, func(rows *sql.Rows) error {
		var id string
		var v study.Violation
		err := rows.Scan(&id, &v.Rule, &v.Detail)
		if l := byID[id]; l != nil {
			l.Violations = append(l.Violations, v)
		}
		return err
	}, "SELECT v.load, v.rule, v.detail"+fromLoad+"JOIN violation v ON v.load = l.id "+where+" ORDER BY v.rowid", args...)
	if err != nil || s.version < 3 {
		return loads, err
	}
	err = each(s, func(rows *sql.Rows) error {
		var id string
		var p study.Page
		err := rows.Scan(&id, &p.URL, &p.Started, &p.DCL, &p.OnLoad, &p.PLT)
		if l := byID[id]; l != nil {
			l.Pages = append(l.Pages, p)
		}
		return err
	}, "SELECT g.load, g.url, g.started, g.dcl, g.onload, g.plt"+fromLoad+"JOIN page g ON g.load = l.id "+where+" ORDER BY g.load, g.number", args...)
	return loads, err
}

// loadRow is a load that lacks its cell, and the cell's row ID.
type loadRow struct {
	Load
	cell int64
}

func (s *Store) scanLoad(rows *sql.Rows) (loadRow, error) {
	l := loadRow{Load: Load{Values: map[string]float64{}}}
	var started int64
	var wallMS float64
	var artefacts sql.NullString
	err := rows.Scan(&l.ID, &l.Run, &l.Index, &l.Repeat, &l.Seed, &l.Attempt, &started, &wallMS,
		&l.Validity, &l.Reason, &artefacts, &l.Dropped, &l.Worker, &l.cell)
	l.Started = time.Unix(0, started)
	l.Wall = time.Duration(math.Round(wallMS * 1e6))
	if err == nil {
		err = checkRead("name of a worker", l.Worker)
	}
	if err == nil && artefacts.Valid {
		l.Artefacts, err = s.artefacts(l.ID, artefacts.String)
	}
	return l, err
}

// artefacts returns the folder of a load's artefacts, which the database names. It is always the same one, and a folder of
// the store: another store's database could name any.
func (s *Store) artefacts(id, folder string) (string, error) {
	if want := path.Join(loadsName, id); folder != want || !loadFolder.MatchString(id) || strings.HasSuffix(id, stagedSuffix) {
		return "", fmt.Errorf("%w: load %.40q has its files in %.80q, which is not its place", ErrDamaged, id, folder)
	}
	dir := s.path(loadsName, id)
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%w: %s is not a folder, and links in a store are not followed", ErrDamaged, dir)
	}
	return dir, nil
}
