package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// earlier makes a store of an earlier schema version: one run of two cells, whose first
// load is done.
func earlier(t *testing.T, version int) string {
	t.Helper()
	schema, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(fmt.Sprintf("BEGIN; %s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT; PRAGMA journal_mode=WAL;", schema, applicationID, version) + `
		INSERT INTO run VALUES (1, 'old', 'name: old', '7', 'v0.1', '{}', 1, NULL);
		INSERT INTO metric VALUES (1, 0, 'plt', 'ms', 'PLT', 'until the last byte');
		INSERT INTO cell VALUES (1, 1, 'flags/h2', 'flags', 'h2', 'cable', '{}', 'chromium', 'cubic', 10` + axesSince[version] + `);
		INSERT INTO cell VALUES (2, 1, 'flags/h3', 'flags', 'h3', 'cable', '{}', 'chromium', 'cubic', 10` + axesSince[version] + `);
		INSERT INTO planned VALUES (1, 1, 0, 1, 0, '11', 'done');
		INSERT INTO planned VALUES (2, 1, 1, 2, 0, '12', 'planned');
		INSERT INTO load VALUES ('r1-0000-a1', 1, 1, 2, 3.5, 'valid', '', NULL);
		INSERT INTO value VALUES ('r1-0000-a1', 'plt', 1234.5);`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// axesSince holds the values of the axes that a version added.
var axesSince = map[int]string{1: "", 2: ", 'virtual'", 3: ", 'virtual', 'cached', 'parallel-6'",
	4: ", 'virtual', 'cached', 'parallel-6', 'nginx'"}

// oldCell returns the first cell of earlier's run as today's program reads it.
func oldCell(version int) Cell {
	c := Cell{Key: "flags/h2", Site: "flags", Protocol: "h2", Network: "cable", NetworkJSON: json.RawMessage(`{}`),
		Loader: "chromium", Congestion: "cubic", InitCwnd: 10, Clock: "real", Visit: "cold", Strategy: "browser", Server: "wiretime"}
	if version >= 2 {
		c.Clock = "virtual"
	}
	if version >= 3 {
		c.Visit, c.Strategy = "cached", "parallel-6"
	}
	if version >= 4 {
		c.Server = "nginx"
	}
	return c
}

func version(t *testing.T, s *Store) (v int) {
	t.Helper()
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// holdsTheOldRun checks everything that earlier stored.
func holdsTheOldRun(t *testing.T, s *Store, version int) {
	t.Helper()
	first, second := oldCell(version), oldCell(version)
	second.Key, second.Protocol = "flags/h3", "h3"
	results, err := s.Results(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || !cmp.Equal(results[0].Cell, first) || !cmp.Equal(results[1].Cell, second) || !cmp.Equal(results[0].Values["plt"], []float64{1234.5}) {
		t.Errorf("results are %+v", results)
	}
	if l, err := s.Load("r1-0000-a1"); err != nil || !cmp.Equal(l.Cell, first) || l.Seed != 11 || l.Pages != nil {
		t.Errorf("the load is %+v (%v)", l, err)
	}
	published, err := s.Published(1)
	claims, err2 := s.Claims(1)
	if published != nil || claims != nil || err != nil || err2 != nil {
		t.Errorf("published are %v, claims %v (%v, %v)", published, claims, err, err2)
	}
	if p, err := s.Pending(1); err != nil || len(p) != 1 || !cmp.Equal(p[0].Cell, second) {
		t.Errorf("pending are %+v (%v)", p, err)
	}
}

// eachEarlierVersion runs a test on a store of each earlier version.
func eachEarlierVersion(t *testing.T, test func(t *testing.T, dir string, version int)) {
	for v := 1; v < SchemaVersion; v++ {
		t.Run(fmt.Sprint("version ", v), func(t *testing.T) { test(t, earlier(t, v), v) })
	}
}

func TestAStoreOfAnEarlierVersionIsReadAsItIs(t *testing.T) {
	eachEarlierVersion(t, func(t *testing.T, dir string, was int) {
		s := mustOpen(t, dir, Read)
		defer mustClose(t, s)
		holdsTheOldRun(t, s, was)
		if v := version(t, s); v != was {
			t.Errorf("reading made it version %d", v)
		}
	})
}

func TestAStoreOfAnEarlierVersionIsUpgradedByItsWriter(t *testing.T) {
	eachEarlierVersion(t, func(t *testing.T, dir string, was int) {
		s := mustOpen(t, dir, Write)
		holdsTheOldRun(t, s, was)
		pending, err := s.Pending(1)
		if err != nil {
			t.Fatal(err)
		}
		// The old run continues, and a new one may use all current axes.
		r := measured(pending[0])
		r.Values = map[string]float64{"plt": 2}
		if err := s.Commit(r); err != nil {
			t.Error(err)
		}
		today := withPaper()
		today.Cells[0].Clock, today.Cells[0].Visit, today.Cells[0].Strategy, today.Cells[0].Server = "virtual", "0rtt", "parallel-2", "nginx"
		today.Cells[0].Link = &Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}
		if run, err := s.BeginRun(today); err != nil {
			t.Error(err)
		} else if results, err := s.Results(run); err != nil || !cmp.Equal(results[0].Cell, today.Cells[0]) {
			t.Errorf("results are %+v (%v)", results, err)
		} else {
			holdsThePaper(t, s, run)
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
	})
}

// columns returns all columns of the database: table, name, type, nullability, place in the
// primary key.
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
	eachEarlierVersion(t, func(t *testing.T, dir string, was int) {
		db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
		if err == nil {
			_, err = db.Exec("ALTER TABLE cell ADD COLUMN reconnections INTEGER") // a user's column that conflicts with the last step
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
		holdsTheOldRun(t, s, was)
		if v := version(t, s); v != was {
			t.Errorf("it is version %d, want %d", v, was)
		}
	})
}
