package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// firstVersion makes a store as programs made it that knew version 1 of the
// schema: one run of two cells, whose first load is done.
func firstVersion(t *testing.T) string {
	t.Helper()
	schema, err := os.ReadFile("testdata/schema-1.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(fmt.Sprintf("BEGIN; %s PRAGMA application_id=%d; PRAGMA user_version=1; COMMIT; PRAGMA journal_mode=WAL;", schema, applicationID) + `
		INSERT INTO run VALUES (1, 'old', 'name: old', '7', 'v0.1', '{}', 1, NULL);
		INSERT INTO metric VALUES (1, 0, 'plt', 'ms', 'PLT', 'until the last byte');
		INSERT INTO cell VALUES (1, 1, 'flags/h2', 'flags', 'h2', 'cable', '{}', 'chromium', 'cubic', 10);
		INSERT INTO cell VALUES (2, 1, 'flags/h3', 'flags', 'h3', 'cable', '{}', 'chromium', 'cubic', 10);
		INSERT INTO planned VALUES (1, 1, 0, 1, 0, '11', 'done');
		INSERT INTO planned VALUES (2, 1, 1, 2, 0, '12', 'planned');
		INSERT INTO load VALUES ('r1-0000-a1', 1, 1, 2, 3.5, 'valid', '', NULL);
		INSERT INTO value VALUES ('r1-0000-a1', 'plt', 1234.5);`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func version(t *testing.T, s *Store) (v int) {
	t.Helper()
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// holdsTheOldRun checks all that firstVersion put into the store.
func holdsTheOldRun(t *testing.T, s *Store) {
	t.Helper()
	results, err := s.Results(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Cell.Clock != "real" || results[1].Cell.Clock != "real" || !cmp.Equal(results[0].Values["plt"], []float64{1234.5}) {
		t.Errorf("results are %+v", results)
	}
	if l, err := s.Load("r1-0000-a1"); err != nil || l.Cell.Clock != "real" || l.Seed != 11 {
		t.Errorf("the load is %+v (%v)", l, err)
	}
	if p, err := s.Pending(1); err != nil || len(p) != 1 || p[0].Cell.Clock != "real" || p[0].Cell.Key != "flags/h3" {
		t.Errorf("pending are %+v (%v)", p, err)
	}
}

func TestAStoreOfTheFirstVersionIsReadAsItIs(t *testing.T) {
	s := mustOpen(t, firstVersion(t), Read)
	defer mustClose(t, s)
	holdsTheOldRun(t, s)
	if v := version(t, s); v != 1 {
		t.Errorf("reading made it version %d", v)
	}
}

func TestAStoreOfTheFirstVersionIsUpgradedByItsWriter(t *testing.T) {
	dir := firstVersion(t)
	s := mustOpen(t, dir, Write)
	holdsTheOldRun(t, s)
	pending, err := s.Pending(1)
	if err != nil {
		t.Fatal(err)
	}
	// The old run goes on, and a new one may use the virtual clock.
	r := measured(pending[0])
	r.Values = map[string]float64{"plt": 2}
	if err := s.Commit(r); err != nil {
		t.Error(err)
	}
	virtual := spec(1)
	virtual.Cells[0].Clock = "virtual"
	if run, err := s.BeginRun(virtual); err != nil {
		t.Error(err)
	} else if results, err := s.Results(run); err != nil || results[0].Cell.Clock != "virtual" {
		t.Errorf("results are %+v (%v)", results, err)
	}
	mustClose(t, s)

	s = mustOpen(t, dir, Read)
	defer mustClose(t, s)
	if v := version(t, s); v != SchemaVersion {
		t.Errorf("it is version %d, want %d", v, SchemaVersion)
	}
	fresh := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, fresh)
	if d := cmp.Diff(columns(t, fresh), columns(t, s)); d != "" {
		t.Error("an upgraded store differs from a new one:", d)
	}
}

// columns are all columns of the database: table, name, type, whether null is
// allowed, place in the primary key.
func columns(t *testing.T, s *Store) []string {
	t.Helper()
	all, err := query(s, func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(&text)
	}, `SELECT concat_ws(' ', t.name, c.cid, c.name, c.type, c."notnull", c.pk)
		FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid`)
	if err != nil || len(all) < 40 {
		t.Fatal(len(all), err)
	}
	return all
}

func TestAnUpgradeThatFailsLeavesTheStoreAsItWas(t *testing.T) {
	dir := firstVersion(t)
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
	if err == nil {
		_, err = db.Exec("ALTER TABLE cell ADD COLUMN clock TEXT") // somebody's own
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(dir, Write); err == nil {
		mustClose(t, s)
		t.Fatal("opened")
	}
	s := mustOpen(t, dir, Read)
	defer mustClose(t, s)
	holdsTheOldRun(t, s)
	if v := version(t, s); v != 1 {
		t.Errorf("it is version %d, want 1", v)
	}
}
