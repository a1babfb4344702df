package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// inserter writes rows in one transaction. It prepares each statement once, and looks up once what many loads have in common.
type inserter struct {
	tx       *sql.Tx
	prepared map[rowsOf]statement
	metrics  map[int64]map[string]bool // names, by run
	programs map[string]int64          // IDs, by description
	workers  map[workerOf]int64        // IDs
}

// rowsOf is a statement that is followed by so many rows of values, 0 if it is whole.
type rowsOf struct {
	statement string
	rows      int
}

// statement is one that the end of its transaction closes.
type statement struct{ *sql.Stmt }

type workerOf struct {
	run  int64
	name string
}

func newInserter(tx *sql.Tx) *inserter {
	return &inserter{tx, map[rowsOf]statement{}, map[int64]map[string]bool{}, map[string]int64{}, map[workerOf]int64{}}
}

// prepare returns a statement, which text writes if it is not prepared yet.
func (in *inserter) prepare(of rowsOf, text func() string) (statement, error) {
	if found, known := in.prepared[of]; known {
		return found, nil
	}
	made, err := in.tx.Prepare(text())
	if err != nil {
		return statement{}, err
	}
	in.prepared[of] = statement{made}
	return in.prepared[of], nil
}

// exec runs a statement.
func (in *inserter) exec(statement string, args ...any) (sql.Result, error) {
	s, err := in.query(statement)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

// query returns a prepared query.
func (in *inserter) query(query string) (statement, error) {
	return in.prepare(rowsOf{query, 0}, func() string { return query })
}

// lookUp returns the ID that a query finds.
func (in *inserter) lookUp(query string, args ...any) (id int64, err error) {
	s, err := in.query(query)
	if err != nil {
		return 0, err
	}
	err = s.QueryRow(args...).Scan(&id)
	return id, err
}

// mostRows is how many rows one statement inserts. SQLite takes up to 32766 values.
const mostRows = 250

// insert adds rows of so many columns, whose values follow each other, to the table that the statement names.
func (in *inserter) insert(into string, columns int, values []any) error {
	for some := range slices.Chunk(values, mostRows*columns) {
		rows := len(some) / columns
		s, err := in.prepare(rowsOf{into, rows}, func() string {
			row := "(?" + strings.Repeat(", ?", columns-1) + ")"
			return into + " VALUES " + row + strings.Repeat(", "+row, rows-1)
		})
		if err != nil {
			return err
		}
		if _, err := s.Exec(some...); err != nil {
			return err
		}
	}
	return nil
}

func insertLoads(tx *sql.Tx, kept []keeping) error {
	in := newInserter(tx)
	for _, k := range kept {
		err := in.load(k.record, k.published)
		if err == nil {
			err = in.files(k.record.ID(), k.dropped)
		}
		if err != nil {
			return fmt.Errorf("keep load %s: %w", k.record.ID(), err)
		}
	}
	return nil
}

func (in *inserter) load(r LoadRecord, published bool) error {
	id := r.ID()
	artefacts := sql.NullString{String: path.Join(loadsName, id), Valid: published}
	programs, boot, bootAttempt, err := in.making(r.Making)
	if err != nil {
		return err
	}
	worker, err := in.worker(r.Planned.Run, r.Worker)
	if err != nil {
		return err
	}
	if _, err := in.exec(`INSERT INTO load (id, planned, attempt, started, wall_ms, validity, reason, artefacts, programs, boot, boot_attempt, worker)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, r.Planned.ID, r.Attempt, r.Started.UnixNano(), float64(r.Wall)/1e6,
		string(r.Validity), r.Reason, artefacts, programs, boot, bootAttempt, worker); err != nil {
		return err
	}
	if err := in.values(id, r.Planned.Run, r.Values); err != nil {
		return err
	}
	for _, v := range r.Violations {
		if _, err := in.exec("INSERT INTO violation (load, rule, detail) VALUES (?, ?, ?)", id, v.Rule, v.Detail); err != nil {
			return err
		}
	}
	for i, p := range r.Pages {
		if _, err := in.exec("INSERT INTO page (load, number, url, started, dcl, onload, plt) VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, i+1, p.URL, p.Started, p.DCL, p.OnLoad, p.PLT); err != nil {
			return fmt.Errorf("page %d: %w", i+1, err)
		}
	}
	state := "planned"
	if r.Final || r.Validity == Valid || r.Validity == Unsupported {
		state = "done"
	}
	row, err := in.exec("UPDATE planned SET state = ? WHERE id = ? AND run = ? AND idx = ? AND state = 'planned'",
		state, r.Planned.ID, r.Planned.Run, r.Planned.Index)
	if err := exactlyOne(row, err); err != nil {
		return fmt.Errorf("its planned load: %w (it must be pending)", err)
	}
	return nil
}

// values inserts a load's values in the order in which the table has them.
func (in *inserter) values(load string, run int64, values map[string]float64) error {
	declared, err := in.declared(run)
	if err != nil {
		return err
	}
	id, all := any(load), make([]any, 0, 3*len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("metric %s: %v is not a measurement; leave the metric out", name, v)
		}
		if !declared[name] {
			return fmt.Errorf("metric %s: the run must declare it", name)
		}
		all = append(all, id, name, v)
	}
	return in.insert("INSERT INTO value (load, metric, value)", 3, all)
}

// declared returns the names of a run's metrics.
func (in *inserter) declared(run int64) (map[string]bool, error) {
	if found := in.metrics[run]; found != nil {
		return found, nil
	}
	rows, err := in.tx.Query("SELECT name FROM metric WHERE run = ?", run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names[name] = true
	}
	in.metrics[run] = names
	return names, rows.Err()
}

func (in *inserter) making(m *Making) (programs, boot, attempt sql.NullInt64, err error) {
	if m == nil {
		return
	}
	described, err := json.Marshal(m.Programs)
	if err != nil {
		return programs, boot, attempt, fmt.Errorf("describe its programs: %w", err)
	}
	id, known := in.programs[string(described)]
	if !known {
		_, err = in.exec("INSERT INTO programs (described) VALUES (?) ON CONFLICT DO NOTHING", string(described))
		if err == nil {
			id, err = in.lookUp("SELECT id FROM programs WHERE described = ?", string(described))
		}
		if err != nil {
			return programs, boot, attempt, err
		}
		in.programs[string(described)] = id
	}
	number := func(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }
	return number(id), number(int64(m.Boot)), number(int64(m.Attempt)), nil
}

// worker returns the ID of a run's worker, null for the run's own process.
func (in *inserter) worker(run int64, name string) (id sql.NullInt64, err error) {
	if name == "" {
		return id, nil
	}
	of := workerOf{run, name}
	found, known := in.workers[of]
	if !known {
		found, err = in.lookUp("SELECT id FROM worker WHERE run = ? AND name = ?", run, name)
		if errors.Is(err, sql.ErrNoRows) {
			return id, fmt.Errorf("run %d has no worker %.40q; describe it with PutWorker first", run, name)
		}
		if err != nil {
			return id, err
		}
		in.workers[of] = found
	}
	return sql.NullInt64{Int64: found, Valid: true}, nil
}

// files describes artefacts that were dropped. Those that were put back and are dropped again have their rows.
func (in *inserter) files(load string, files []File) error {
	for _, f := range files {
		if _, err := in.exec("INSERT INTO artefact (load, name, octets, sha256) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET octets = excluded.octets, sha256 = excluded.sha256",
			load, f.Name, f.Octets, f.SHA256); err != nil {
			return fmt.Errorf("artefact %s: %w", f.Name, err)
		}
	}
	return nil
}

func exactlyOne(row sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := row.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows instead of one", n)
	}
	return err
}
