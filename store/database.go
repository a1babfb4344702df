package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func dataSource(path, options string) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options}).String()
}

func (s *Store) openDatabase(mode Mode) error {
	if mode != Read {
		return s.connect("_txlock=immediate&_pragma=synchronous(FULL)", mode)
	}
	if system, err := networkOf(s.dir); err != nil {
		return err
	} else if system != "" {
		if _, err := os.Stat(s.path(databaseName + "-wal")); err == nil {
			return fmt.Errorf("%w: it is on %s and is being written, or its writer was killed; copy the folder to a local disk to read it", ErrNetwork, system)
		}
		return s.connect("mode=ro&immutable=1", mode)
	}
	err := s.connect("mode=ro", mode)
	var refused *sqlite.Error
	if errors.As(err, &refused) && (refused.Code() == sqlite3.SQLITE_READONLY_DIRECTORY || refused.Code()&0xff == sqlite3.SQLITE_CANTOPEN) {
		// SQLite uses a write-ahead log even to read, which needs a writable folder. If there is
		// neither a log nor a writer, SQLite must be told that the file does not change.
		if _, err := os.Stat(s.path(databaseName + "-wal")); errors.Is(err, fs.ErrNotExist) {
			return s.connect("mode=ro&immutable=1", mode)
		}
	}
	return err
}

func (s *Store) connect(options string, mode Mode) error {
	db, err := sql.Open("sqlite", dataSource(s.path(databaseName), "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&"+options))
	if err != nil {
		return err
	}
	// With one connection, writers of one process queue in Go instead of polling SQLite's
	// lock.
	s.db, s.readers = db, 1
	if mode == Read {
		s.readers = min(runtime.GOMAXPROCS(0), mostReaders)
	}
	db.SetMaxOpenConns(s.readers)
	db.SetMaxIdleConns(s.readers)
	if err := limitValues(db, s.readers); err != nil {
		_ = db.Close()
		return err
	}
	if err := s.checkDatabase(mode); err != nil {
		_ = db.Close()
		return err
	}
	return nil
}

// largestValue is how many octets a text, or a whole row, may have: 250 times the longest study.
const largestValue = 16 << 20

// mostReaders is how many connections read a database at once.
const mostReaders = 4

// limitValues keeps the database's connections from reading, or computing, larger values.
func limitValues(db *sql.DB, connections int) (err error) {
	var all []*sql.Conn
	for range connections {
		c, failed := db.Conn(context.Background())
		if failed != nil {
			err = errors.Join(err, failed)
			break
		}
		all = append(all, c)
		_, failed = sqlite.Limit(c, sqlite3.SQLITE_LIMIT_LENGTH, largestValue)
		err = errors.Join(err, failed)
	}
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (s *Store) checkDatabase(mode Mode) error {
	var application int
	if err := s.db.QueryRow("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &s.version); err != nil {
		return fmt.Errorf("read %s: %w", databaseName, err)
	}
	if application != applicationID {
		return fmt.Errorf("%w: its %s is another program's database", ErrNotStore, databaseName)
	}
	if s.version > SchemaVersion {
		return fmt.Errorf("%w: its schema has version %d, but this program supports only up to %d; upgrade wiretime", ErrNewer, s.version, SchemaVersion)
	}
	if s.version < 1 {
		return fmt.Errorf("%w: its schema has version %d; there is no such version", ErrDamaged, s.version)
	}
	if err := s.checkSchema(); err != nil {
		return err
	}
	// A writer removes folders without a row, so the rows must be intact. And a database that was
	// made to harm may name a page in many places, so that reading it never ends.
	var verdict string
	if err := s.db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("check %s: %w", databaseName, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w (%s): restore it from a copy, or start a new store; the folders in loads/ are intact", ErrDamaged, verdict)
	}
	if mode == Read {
		return nil
	}
	if err := s.upgrade(); err != nil {
		return err
	}
	return s.renewViews()
}

// tables are this package's, with the first schema version that has each.
var tables = map[string]int{
	"run": 1, "metric": 1, "cell": 1, "planned": 1, "load": 1, "value": 1, "violation": 1,
	"page": 3, "published": paperSince, "claim": paperSince, "claim_pair": paperSince, "cell_value": axesSince,
	"programs": keepSince, "artefact": keepSince, "worker": workersSince, "retracted": workersSince,
}

// expression finds what makes SQLite compute something for each row of a table that it checks or changes. These words are
// reserved, so that a name must be quoted to be one of them.
var expression = regexp.MustCompile(`(?i)\b(check|default|generated)\b`)

// cheap finds those of the schemas of all versions: constants, and comparisons with constants.
var cheap = regexp.MustCompile(`DEFAULT '\w*'|CHECK \((json_valid\(\w+\)|\w+ (>= \d+|BETWEEN \d+ AND \d+|IN \('?\w+'?(, '?\w+'?)*\)))\)`)

// checkSchema makes sure that this package's tables are there, and that SQLite computes nothing of a stranger's when rows are
// checked, read or written, which could run SQL, or take any time and memory. Other plain tables and views do no harm,
// since nothing reads them.
func (s *Store) checkSchema() error {
	type object struct{ kind, name, table, text string }
	objects, err := query(s, func(rows *sql.Rows) (o object, err error) {
		var text sql.NullString
		err = rows.Scan(&o.kind, &o.name, &o.table, &text)
		o.text = text.String
		return o, err
	}, "SELECT type, name, tbl_name, sql FROM sqlite_schema")
	if err != nil {
		return fmt.Errorf("read the schema of %s: %w", databaseName, err)
	}
	found := map[string]bool{}
	for _, o := range objects {
		name := strings.ToLower(o.name)
		switch {
		case o.kind == "trigger":
			return fmt.Errorf("%w: its %s has a trigger, %.40q, which no wiretime makes; remove it", ErrNotStore, databaseName, o.name)
		case o.kind == "index" && o.text != "":
			if err := s.checkIndex(o.name); err != nil {
				return err
			}
		case o.kind == "table" && (!strings.HasPrefix(o.text, "CREATE TABLE ") || expression.MatchString(cheap.ReplaceAllString(o.text, ""))):
			return fmt.Errorf("%w: in its %s, %.40q is not a plain table: it is virtual, or has constraints, computed columns or defaults that no wiretime makes",
				ErrNotStore, databaseName, o.name)
		case o.kind == "view" && tables[name] > 0:
			return fmt.Errorf("%w: in its %s, %s is not a plain table", ErrNotStore, databaseName, name)
		}
		if o.kind != "table" {
			continue
		}
		var computed int
		if err := s.db.QueryRow("SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0", o.name).Scan(&computed); err != nil {
			return fmt.Errorf("read the schema of %s: %w", databaseName, err)
		}
		if computed > 0 {
			return fmt.Errorf("%w: in its %s, %.40q has computed columns", ErrNotStore, databaseName, o.name)
		}
		found[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if tables[name] <= s.version && !found[name] {
			return fmt.Errorf("%w: it has no table %s", ErrDamaged, name)
		}
	}
	return nil
}

// checkIndex makes sure that an index is one of columns.
func (s *Store) checkIndex(name string) error {
	var computed bool
	if err := s.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM pragma_index_xinfo(?1) WHERE cid = -2)
		OR (SELECT sql LIKE '%where%' FROM sqlite_schema WHERE type = 'index' AND name = ?1)`, name).Scan(&computed); err != nil {
		return fmt.Errorf("read the schema of %s: %w", databaseName, err)
	}
	if computed {
		return fmt.Errorf("%w: in its %s, the index %.40q is not of columns only; remove it", ErrNotStore, databaseName, name)
	}
	return nil
}

// upgrade upgrades the schema to SchemaVersion, whole or not at all.
func (s *Store) upgrade() error {
	if s.version == SchemaVersion {
		return nil
	}
	was := s.version
	err := s.transact(func(tx *sql.Tx) error {
		for v := was; v < SchemaVersion; v++ {
			if v == axesSince-1 {
				if err := s.upgradeCells(tx); err != nil {
					return err
				}
				continue
			}
			statements := upgrades[v]
			if v == viewsSince-1 {
				statements = makeViews()
			}
			if _, err := tx.Exec(statements); err != nil {
				return err
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version=%d", SchemaVersion))
		return err
	})
	if err != nil {
		s.version = was
		return fmt.Errorf("upgrade its schema from version %d to %d: %w", was, SchemaVersion, err)
	}
	s.version = SchemaVersion
	return nil
}
