package store

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"wiretime/costtest"
)

// foreign makes a store with one load whose database and folder another program has then changed.
func foreign(t testing.TB, change string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s")
	s, err := Open(dir, Create)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.BeginRun(spec(1))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	record := measured(plan[0])
	staged, err := s.StageDir(record.ID())
	if err == nil {
		err = os.WriteFile(filepath.Join(staged, "load.har"), []byte("{}"), 0o644)
	}
	if err = errors.Join(err, s.Commit(record), s.Close()); err != nil {
		t.Fatal(err)
	}
	if change != "" {
		db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(change)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAForeignDatabaseIsRefused opens databases that a stranger has made to lead out of the store, or to run SQL.
func TestAForeignDatabaseIsRefused(t *testing.T) {
	view := func(table string) string {
		return fmt.Sprintf("PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON; ALTER TABLE %[1]s RENAME TO stolen; CREATE VIEW %[1]s AS SELECT * FROM stolen;", table)
	}
	for _, c := range []struct {
		name, change string
		want         error // by opening, or by reading the loads; nil: it is a good store
	}{
		{"as it was", "", nil},
		{"a table and a view of the user's own", "CREATE TABLE mine (x); CREATE VIEW seen AS SELECT * FROM load", nil},
		{"artefacts above the store", "UPDATE load SET artefacts = '../../x'", ErrDamaged},
		{"artefacts elsewhere", "UPDATE load SET artefacts = '/etc'", ErrDamaged},
		{"artefacts of a folder in the store", "UPDATE load SET artefacts = 'ca'", ErrDamaged},
		{"a load named like a path", "PRAGMA foreign_keys=OFF; UPDATE load SET id = '../../../etc', artefacts = 'loads/../../../etc'", ErrDamaged},
		{"a trigger", "CREATE TRIGGER t AFTER UPDATE ON planned BEGIN UPDATE run SET study_text = 'x'; END", ErrNotStore},
		{"a view for a table", view("run"), ErrNotStore},
		{"a virtual table", "DROP TABLE claim_pair; CREATE VIRTUAL TABLE claim_pair USING fts5(run, claim, number)", ErrNotStore},
		{"a computed column", "ALTER TABLE run ADD COLUMN more TEXT AS (hex(study_text)) VIRTUAL", ErrNotStore},
		{"a computed column of the user's own", "CREATE TABLE mine (x, y AS (length(printf('%900000000d', x))) NOT NULL)", ErrNotStore},
		{"a virtual table of the user's own", "CREATE VIRTUAL TABLE mine USING fts5(x)", ErrNotStore},
		{"a costly check", "CREATE TABLE mine (x /* */ Check/**/(length(randomblob(1000000000)) > 0))", ErrNotStore},
		{"a costly check of a store's table", "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'detail TEXT NOT NULL', 'detail TEXT NOT NULL CHECK (length(randomblob(1000000000)) > 0)') WHERE name = 'violation'", ErrNotStore},
		{"a costly default", "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'detail TEXT NOT NULL', 'detail TEXT NOT NULL, more BLOB DEFAULT (randomblob(1000000000))') WHERE name = 'violation'", ErrNotStore},
		{"a huge value", "UPDATE run SET study_text = CAST(zeroblob((16 << 20) + 1) AS TEXT)", ErrDamaged},
		{"a costly index", "CREATE INDEX mine ON violation(length(printf('%900000000d', rule)))", ErrNotStore},
		{"a costly partial index", "CREATE INDEX mine ON violation(detail) WHERE length(printf('%900000000d', rule)) > 0", ErrNotStore},
		{"an index and statistics of the user's own", "CREATE INDEX mine ON load(wall_ms); ANALYZE", nil},
		{"a table that is missing", "DROP TABLE claim_pair", ErrDamaged},
		{"no version", "PRAGMA user_version=0", ErrDamaged},
		{"a version below all", "PRAGMA user_version=-1", ErrDamaged},
		{"a cell of another run", "PRAGMA foreign_keys=OFF; UPDATE cell SET run = 9", ErrDamaged},
		{"a cell without axes", "PRAGMA foreign_keys=OFF; DELETE FROM cell_value", ErrDamaged},
		{"a run that keeps what no run does", "PRAGMA ignore_check_constraints=ON; UPDATE run SET keep = 'x'", ErrDamaged},
		{"programs without names", "INSERT INTO programs VALUES (9, '[1]'); UPDATE load SET programs = 9, boot = 0, boot_attempt = 1", ErrDamaged},
		{"programs that are not there", "PRAGMA foreign_keys=OFF; UPDATE load SET programs = 9, boot = 0, boot_attempt = 1", nil},
		{"an unknown statistic", "INSERT INTO claim VALUES (1, 1, 'it is faster', 'below 1', NULL, 1, 1, 'avg', '', '')", ErrDamaged},
		{"something unknown that grows", "INSERT INTO claim VALUES (1, 1, 'it grows', '', NULL, NULL, 0, 'median', 'sum', 'loss')", ErrDamaged},
		{"a pool of no loads", "INSERT INTO claim VALUES (1, 1, 'it is faster', 'below 1', NULL, 1, 1, 'max', '', ''); INSERT INTO claim_pair VALUES (1, 1, 1, 'plt', 1, 'plt', 1, '9-2', '')", ErrDamaged},
		{"a pair of a missing claim", "PRAGMA foreign_keys=OFF; INSERT INTO claim_pair VALUES (1, 7, 1, 'plt', 1, 'plt', 1, '', '')", ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := foreign(t, c.change)
			if err := readAll(dir); !errors.Is(err, c.want) {
				t.Errorf("reading: %v, want %v", err, c.want)
			}
			s, err := Open(dir, Write)
			if err == nil {
				err = errors.Join(exportAll(s), s.Close())
			}
			if !errors.Is(err, c.want) {
				t.Errorf("writing: %v, want %v", err, c.want)
			}
		})
	}
}

// readAll opens a store for reading, and reads and exports all of it.
func readAll(dir string) error {
	s, err := Open(dir, Read)
	if err != nil {
		return err
	}
	return errors.Join(exportAll(s), s.Close())
}

func exportAll(s *Store) error {
	runs, err := s.Runs()
	for _, r := range runs {
		_, planned := s.Plan(r.ID)
		_, _, loads := s.ResultsAndLoads(r.ID)
		_, results := s.Results(r.ID, "plt")
		_, faults := s.Faults(r.ID)
		kept, made := s.Loads(r.ID)
		for _, l := range kept {
			_, how := s.Making(l.ID)
			made = errors.Join(made, how)
		}
		err = errors.Join(err, planned, loads, results, faults, made, s.ExportCSV(io.Discard, r.ID), s.ExportJSON(io.Discard, r.ID))
	}
	return err
}

// TestLongTextsCostInProportion reads stores in which one long text would be repeated for very many rows.
func TestLongTextsCostInProportion(t *testing.T) {
	const size = 1 << 20
	long := fmt.Sprintf("printf('%%.*c', %d, 'x')", size)
	many := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	limit := costtest.Limit{Fixed: 64 << 20, PerOctet: 256, Time: 10 * time.Microsecond}
	for _, c := range []struct{ name, change, want string }{
		{"the name of the study", "UPDATE run SET study_name = " + long, "the name of the study"},
		{"the name of a metric", "INSERT INTO metric SELECT id, 99, " + long + ", '', '', '' FROM run LIMIT 1", "the name of a metric"},
		{"a value on an axis", "UPDATE cell_value SET value = " + long + " WHERE axis = 'site'", "the value on an axis"},
		{"the name of a network", "UPDATE cell SET network = " + long, "the name of a network"},
		{"very many metrics", many + "INSERT INTO metric SELECT r.id, 99 + i, 'm' || i, '', '', '' FROM run r, n", "want at most 1000"},
		{"a network of very many axes", "UPDATE cell SET network_json = json_object('Note', " + long + "); " +
			many + "INSERT INTO cell_value SELECT c.id, 99 + i, 'a' || i, '' FROM cell c, n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := foreign(t, c.change)
			info, err := os.Stat(filepath.Join(dir, databaseName))
			if err != nil {
				t.Fatal(err)
			}
			costtest.Check(t, int(info.Size()), limit, func() { err = readAll(dir) })
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %.300v, want %q", err, c.want)
			}
		})
	}
}

// TestLinksInAStoreAreNotFollowed replaces each file and folder of a store by a link to one elsewhere, which stays as it
// was, and by a FIFO.
func TestLinksInAStoreAreNotFollowed(t *testing.T) {
	for name, mode := range kinds {
		for _, with := range []string{"a link", "a FIFO"} {
			dir, elsewhere := foreign(t, ""), t.TempDir()
			path, target := filepath.Join(dir, name), filepath.Join(elsewhere, "target")
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			var err error
			switch {
			case with == "a FIFO":
				err = unix.Mkfifo(path, 0o644)
			case mode.IsDir():
				err = errors.Join(os.MkdirAll(filepath.Join(target, "r9-0000-a1"), 0o755), os.Symlink(target, path))
			default:
				err = errors.Join(os.WriteFile(target, []byte("precious"), 0o644), os.Symlink(target, path))
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, open := range []Mode{Read, Write, Create} {
				s, err := Open(dir, open)
				if err == nil {
					_ = s.Close()
				}
				if !errors.Is(err, ErrNotStore) {
					t.Errorf("%s is %s: Open(%d): %v, want ErrNotStore", name, with, open, err)
				}
			}
			if text, err := os.ReadFile(target); with == "a link" && !mode.IsDir() && (err != nil || string(text) != "precious") {
				t.Errorf("%s: the file behind the link holds %q (%v)", name, text, err)
			}
			if _, err := os.Stat(filepath.Join(target, "r9-0000-a1")); with == "a link" && mode.IsDir() && err != nil {
				t.Errorf("%s: a folder behind the link is gone: %v", name, err)
			}
		}
	}
	dir := foreign(t, "")
	load := filepath.Join(dir, "loads", "r1-0000-a1")
	if err := errors.Join(os.RemoveAll(load), os.Symlink(t.TempDir(), load)); err != nil {
		t.Fatal(err)
	}
	if err := readAll(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("a load's folder is a link: %v, want ErrDamaged", err)
	}
}

// TestExportedTextIsNoFormula exports texts that spreadsheets would run.
func TestExportedTextIsNoFormula(t *testing.T) {
	for text, want := range map[string]string{
		`=HYPERLINK("http://evil.test","x")`: `'=HYPERLINK("http://evil.test","x")`,
		"+cmd|' /C calc'!A0":                 "'+cmd|' /C calc'!A0",
		"-1+2":                               "'-1+2",
		"@SUM(1)":                            "'@SUM(1)",
		"\t=1":                               "'\t'=1",
		"a;=1;  @b;c=d":                      "a;'=1;  '@b;c=d",
		"＝1+1":                               "'＝1+1",
		"\r=1":                               "'\r=1",
		"\n=1":                               "'\n=1",
		"-5":                                 "-5",
		"+1.5e3":                             "+1.5e3",
		"a=b":                                "a=b",
		"":                                   "",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	dir := foreign(t, "UPDATE run SET study_name = '=1+1'; UPDATE load SET validity = 'failed', reason = '@x'; UPDATE value SET value = -3")
	s := mustOpen(t, dir, Read)
	defer mustClose(t, s)
	var out bytes.Buffer
	if err := s.ExportCSV(&out, 1); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatal(rows, err)
	}
	cell := map[string]string{}
	for i, name := range rows[0] {
		cell[name] = rows[1][i]
	}
	got := []string{cell["study"], cell["reason"], cell["value"]}
	if d := cmp.Diff([]string{"'=1+1", "'@x", "-3"}, got); d != "" {
		t.Error(d)
	}
}

// TestANewStoreIsDurable makes a store's folder, and syncs each folder that got a new name.
func TestANewStoreIsDurable(t *testing.T) {
	top := t.TempDir()
	var synced []string
	if err := makeFolder(filepath.Join(top, "a", "b", "c"), func(dir string) error { synced = append(synced, dir); return nil }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")}, synced); d != "" {
		t.Error(d)
	}
	refused := errors.New("no")
	if err := makeFolder(filepath.Join(top, "d"), func(string) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestNetworkFileSystems tells file systems of other machines from local ones.
func TestNetworkFileSystems(t *testing.T) {
	if system, err := networkOf(t.TempDir()); system != "" || err != nil {
		t.Errorf("the folder for tests is on %q, error %v", system, err)
	}
	const mounts = `22 1 0:21 / / rw - ext4 /dev/vda rw
41 22 0:50 / /mnt/far rw,nosuid shared:1 - fuse.sshfs me@far:/home rw
42 22 0:51 / /mnt/usb rw - fuseblk /dev/sdb1 rw
43 22 0:52 / /mnt/bucket rw - fuse s3fs rw
44 22 0:53 / /mnt/host rw - virtiofs home rw
`
	for device, want := range map[string]string{"0:21": "", "0:50": "sshfs", "0:51": "", "0:52": "s3fs", "0:53": "", "0:99": ""} {
		if got := fuseNetwork(strings.NewReader(mounts), device); got != want {
			t.Errorf("device %s: %q, want %q", device, got, want)
		}
	}
	for _, magic := range []int64{unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.V9FS_MAGIC} {
		if networkMagics[magic] == "" {
			t.Errorf("the file system %#x counts as local", magic)
		}
	}
}

// FuzzForeignDatabase opens, reads and exports a store whose database has octets replaced in two places. Whatever is done
// to a database, it is read or refused within bounds.
func FuzzForeignDatabase(f *testing.F) {
	dir := foreign(f, "")
	path := filepath.Join(dir, databaseName)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte("SQLite format 4"), uint32(0), []byte(nil))
	f.Add(uint32(60), []byte{0, 0, 0, 9}, uint32(0), []byte(nil))
	f.Add(uint32(28), []byte{0, 0, 0, 1}, uint32(100), []byte{13, 0, 0})
	f.Add(uint32(4096), []byte{13, 0, 0, 0, 200}, uint32(8192), []byte{5, 255, 255})
	limit := costtest.Limit{Fixed: 16 << 20, PerOctet: 256, Time: 10 * time.Microsecond}
	f.Fuzz(func(t *testing.T, at uint32, with []byte, also uint32, second []byte) {
		changed := bytes.Clone(whole)
		copy(changed[int(at)%len(changed):], with)
		copy(changed[int(also)%len(changed):], second)
		for _, suffix := range []string{"-wal", "-shm", "-journal"} {
			_ = os.Remove(path + suffix)
		}
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		costtest.Check(t, len(changed), limit, func() { _ = readAll(dir) })
		s, err := Open(dir, Write)
		if err != nil {
			return
		}
		_ = exportAll(s)
		_ = s.Close()
	})
}
