package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/study"
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
		INSERT INTO run (id, study_name, study_text, seed, wiretime_version, environment, started, finished) VALUES (1, 'old', 'name: old', '7', 'v0.1', '{}', 1, NULL);
		INSERT INTO metric VALUES (1, 0, 'plt', 'ms', 'PLT', 'until the last byte');
		` + oldCells(version) + `
		INSERT INTO planned VALUES (1, 1, 0, 1, 0, '11', 'done');
		INSERT INTO planned VALUES (2, 1, 1, 2, 0, '12', 'planned');
		INSERT INTO load (id, planned, attempt, started, wall_ms, validity, reason, artefacts) VALUES ('r1-0000-a1', 1, 1, 2, 3.5, 'valid', '', NULL);
		INSERT INTO value VALUES ('r1-0000-a1', 'plt', 1234.5);`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// oldCells inserts the two cells.
func oldCells(version int) (statements string) {
	for i, over := range []string{"h2", "h3"} {
		id := i + 1
		if version < axesSince {
			statements += fmt.Sprintf("INSERT INTO cell VALUES (%d, 1, 'flags/%s', %s);", id, over, oldColumns(version, over))
			continue
		}
		statements += fmt.Sprintf("INSERT INTO cell VALUES (%d, 1, 'flags/%s', 'cable', '{}');", id, over)
		for position, v := range oldCell(version).With(study.AxisProtocol, over).Values {
			statements += fmt.Sprintf("INSERT INTO cell_value VALUES (%d, %d, '%s', '%s');", id, position, v.Axis, v.Word)
		}
	}
	return statements
}

// oldColumns are the values of a cell's columns in a version, which the last of them has of a
// stream.
func oldColumns(version int, over string) string {
	if version == 5 {
		return "'file@1MB', '" + over + "', '12.5ms-1.5%-2x', '{}', 'download', 'cubic', 10, 'virtual', 'cold', 'reconnect', 'wiretime', 12.5, 0.015, 2"
	}
	return "'flags', '" + over + "', 'cable', '{}', 'chromium', 'cubic', 10" +
		map[int]string{2: ", 'virtual'", 3: ", 'virtual', 'cached', 'parallel-6'", 4: ", 'virtual', 'cached', 'parallel-6', 'nginx'"}[version]
}

// oldCell returns the first cell of earlier's run as today's program reads it.
func oldCell(version int) study.Cell {
	if version == 5 {
		return streamCell("h2", study.Link{Delay: 12500 * time.Microsecond, Loss: 0.015, Reconnections: 2}).With(study.AxisClock, "virtual")
	}
	c := pageCell("h2")
	if version >= 2 {
		c = c.With(study.AxisClock, "virtual")
	}
	if version >= 3 {
		c = c.With(study.AxisVisit, "cached").With(study.AxisStrategy, "parallel-6")
	}
	if version >= 4 {
		c = c.With(study.AxisServer, "nginx")
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
	second = second.With(second.Workload.Over, "h3")
	results, err := s.Results(1, "plt")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || !cmp.Equal(results[0].Cell, first) || !cmp.Equal(results[1].Cell, second) || !cmp.Equal(results[0].Values["plt"], []float64{1234.5}) {
		t.Errorf("results are %+v", results)
	}
	if l, err := s.Load("r1-0000-a1"); err != nil || !cmp.Equal(l.Cell, first) || l.Seed != 11 || l.Pages != nil || l.Worker != "" {
		t.Errorf("the load is %+v (%v)", l, err)
	}
	published, err := s.Published(1)
	claims, err2 := s.Claims(1)
	if published != nil || claims != nil || err != nil || err2 != nil {
		t.Errorf("published are %v, claims %v (%v, %v)", published, claims, err, err2)
	}
	workers, err := s.Workers(1)
	loads, err2 := s.LoadsBy(1, "seoul")
	retracted, err3 := s.Retracted(1)
	if workers != nil || loads != nil || retracted != nil || errors.Join(err, err2, err3) != nil {
		t.Errorf("workers are %v, their loads %v, retracted %v (%v, %v, %v)", workers, loads, retracted, err, err2, err3)
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
		today.Cells = append(today.Cells, today.Cells[0].With(study.AxisVisit, "0rtt").With(study.AxisStrategy, "parallel-2"),
			streamCell("quic", study.Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}))
		if run, err := s.BeginRun(today); err != nil {
			t.Error(err)
		} else if results, err := s.Results(run); err != nil || !cmp.Equal([]study.Cell{results[3].Cell, results[4].Cell}, today.Cells[3:]) {
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

// columns returns all columns of the database's tables and views: table, name, type, nullability, place in the
// primary key.
func columns(t *testing.T, s *Store) []string {
	t.Helper()
	all, err := query(s, func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(&text)
	}, `SELECT concat_ws(' ', t.name, c.cid, c.name, c.type, c."notnull", c.pk)
		FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type IN ('table', 'view') ORDER BY t.name, c.cid`)
	if err != nil || len(all) < 40 {
		t.Fatal(len(all), err)
	}
	return all
}

func TestAnUpgradeThatFailsLeavesTheStoreAsItWas(t *testing.T) {
	eachEarlierVersion(t, func(t *testing.T, dir string, was int) {
		db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
		if err == nil {
			conflicts := "CREATE TABLE artefact (note TEXT)" // a user's table
			switch {
			case was >= viewsSince:
				conflicts = "CREATE TABLE retracted (note TEXT)"
			case was == viewsSince-1:
				conflicts = "CREATE VIEW medians AS SELECT 1" // a user's view
			case was >= statisticSince:
				conflicts = "ALTER TABLE claim ADD COLUMN along TEXT"
			case was >= keepSince:
				conflicts = "ALTER TABLE claim_pair ADD COLUMN to_loads TEXT"
			}
			_, err = db.Exec(conflicts)
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

// TestAWriterRenewsTheViews has a program write to a store whose views another revision has made, and one of which is gone.
func TestAWriterRenewsTheViews(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	mustClose(t, mustOpen(t, dir, Create))
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
	if err == nil {
		_, err = db.Exec("DROP VIEW medians; CREATE VIEW medians AS SELECT 1 AS other; DROP VIEW loads; CREATE VIEW mine AS SELECT 1 AS other")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, dir, Write))
	s := mustOpen(t, dir, Read)
	defer mustClose(t, s)
	fresh := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, fresh)
	got := slices.DeleteFunc(columns(t, s), func(c string) bool { return c == "mine 0 other  0 0" })
	if d := cmp.Diff(columns(t, fresh), got); d != "" || len(got) == len(columns(t, s)) {
		t.Error("the views differ from those of a new store, or the user's own is gone:", d)
	}
}
