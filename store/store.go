// Package store keeps measurements: a folder with an SQLite database of raw values and one
// folder of artefacts (captures, HAR, logs) per load. Nothing measured is ever discarded:
// an invalid load and its repetition are both rows. What a worker made up is not a measurement: it can be retracted, and
// the store keeps what it was.
//
//	wiretime.db   the database; its schema is docs/store.md
//	loads/<id>/   the artefacts of one load
//	scratch/      what loads leave before it is kept; empty when no run is under way
//	nats/         the NATS server of a campaign, which package campaign/broker keeps
//	lock          held by the one process that writes
//
// A load is kept whole or not at all, even if the program is killed at any moment. Its
// artefacts are written to a staged folder, synced and renamed into place, and a single
// transaction then adds the row that names them. A folder without a row is left over from a
// crash, and the next writer removes it. Artefacts are dropped, and loads retracted, the other way round: the
// rows change, and then the folders are removed.
//
// Calls take no context: each is short and local, and a measured load is worth the
// milliseconds that storing it takes, even after Ctrl-C.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"wiretime/artefact"
	"wiretime/atomicfile"
)

const (
	databaseName = "wiretime.db"
	newDatabase  = "wiretime.db.new"
	loadsName    = "loads"
	lockName     = "lock"
	stagedSuffix = ".part"

	authorityName = "ca"
	scratchName   = "scratch"
)

// Mode says what a store is opened for.
type Mode uint8

const (
	// Read opens an existing store for queries. Any number of readers may work next to one
	// writer.
	Read Mode = iota
	// Write opens an existing store for measuring and takes its lock.
	Write
	// Create opens a store like Write, but makes it first if there is none.
	Create
)

// Store is an open store. It may be used by several goroutines at once.
type Store struct {
	dir  string
	db   *sql.DB
	lock *os.File // nil in mode Read

	compressor artefact.Compressor
	readers    int // connections to the database

	// version is the database's schema, which may be older than SchemaVersion in
	// mode Read.
	version int
}

// Open opens the store in dir. The error wraps ErrLocked, ErrNewer, ErrNotStore, ErrDamaged,
// ErrNetwork or ErrDiskFull if that is the cause. With Write and Create, Open removes what a
// killed writer left half done. A store may come from a stranger: Open refuses one with links
// in the places of its files, a damaged database, or one with triggers or views of its own.
func Open(dir string, mode Mode) (*Store, error) {
	s, err := open(dir, mode)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, explain(err))
	}
	return s, nil
}

func open(dir string, mode Mode) (_ *Store, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	found, err := inspect(dir)
	if err != nil {
		return nil, err
	}
	if found != holdsStore && mode != Create {
		return nil, fmt.Errorf("%w: it has no %s; `wiretime run` makes a store", ErrNotStore, databaseName)
	}
	s := &Store{dir: dir}
	if err := checkKinds(dir); err != nil {
		return nil, err
	}
	if mode == Read {
		return s, s.openDatabase(mode)
	}

	if found == isMissing {
		if err := makeFolder(dir, atomicfile.SyncFolder); err != nil {
			return nil, err
		}
	}
	if err := s.refuseNetwork(); err != nil {
		if found == isMissing {
			_ = os.Remove(dir)
		}
		return nil, err
	}
	if s.lock, err = acquireLock(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.lock.Close()
		}
	}()
	if _, err := os.Stat(s.path(databaseName)); errors.Is(err, fs.ErrNotExist) {
		if err := create(dir); err != nil {
			_ = os.Remove(s.path(lockName))
			if found == isMissing {
				_ = os.Remove(dir)
			}
			return nil, err
		}
	}
	if err := s.openDatabase(mode); err != nil {
		return nil, err
	}
	if err := s.recover(); err != nil {
		_ = s.db.Close()
		return nil, err
	}
	return s, nil
}

// refuseNetwork refuses a store on a network file system.
func (s *Store) refuseNetwork() error {
	system, err := networkOf(s.dir)
	if err == nil && system != "" {
		err = fmt.Errorf("%w: it is on %s, where SQLite's write-ahead log is not safe; choose a folder on a local disk with --store, and copy it when the run is done", ErrNetwork, system)
	}
	return err
}

type contents uint8

const (
	isMissing contents = iota
	isEmpty            // empty, apart from leftovers of a killed Create
	holdsStore
)

func inspect(dir string) (contents, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return isMissing, nil
	}
	if err != nil {
		return 0, err
	}
	foreign := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == databaseName:
			return holdsStore, nil
		case name == lockName, strings.HasPrefix(name, newDatabase):
		default:
			foreign = name
		}
	}
	if foreign != "" {
		return 0, fmt.Errorf("%w: it holds other files (%s) and no %s; name a store or a new folder", ErrNotStore, foreign, databaseName)
	}
	return isEmpty, nil
}

// create makes the database under a temporary name and renames it, so that a database with
// a partial schema never has the real name.
func create(dir string) error {
	path := filepath.Join(dir, newDatabase)
	removeDatabase := func() {
		for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
			_ = os.Remove(path + suffix)
		}
	}
	removeDatabase()
	err := writeSchema(path)
	if err == nil {
		err = os.Rename(path, filepath.Join(dir, databaseName))
	}
	if err != nil {
		removeDatabase()
		return fmt.Errorf("create %s: %w", databaseName, err)
	}
	return atomicfile.SyncFolder(dir)
}

func writeSchema(path string) error {
	db, err := sql.Open("sqlite", dataSource(path, "_pragma=synchronous(FULL)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(fmt.Sprintf("BEGIN; %s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT; PRAGMA journal_mode=WAL;",
		schema+makeViews(), applicationID, SchemaVersion))
	return errors.Join(err, db.Close())
}

// loadFolder matches the names that this package gives to folders in loads/. Other names
// are the user's and left alone.
var loadFolder = regexp.MustCompile(`^r\d+-\d{4,}-a\d+(\.part)?$`)

// recover removes what a killed writer left: staged folders, load folders whose transaction was
// never committed, and those of loads whose artefacts were dropped.
func (s *Store) recover() error {
	if err := os.RemoveAll(s.path(scratchName)); err != nil {
		return fmt.Errorf("remove the leftovers of an interrupted run: %w", err)
	}
	if err := os.MkdirAll(s.path(loadsName), 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.path(loadsName))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !loadFolder.MatchString(e.Name()) {
			continue
		}
		var named bool
		if err := s.db.QueryRow("SELECT EXISTS (SELECT 1 FROM load WHERE id = ? AND artefacts IS NOT NULL)", e.Name()).Scan(&named); err != nil {
			return err
		}
		if named {
			continue
		}
		if err := os.RemoveAll(s.path(loadsName, e.Name())); err != nil {
			return fmt.Errorf("remove the leftovers of an interrupted load: %w", err)
		}
	}
	return nil
}

// Close closes the store. A writer removes its staged folders that were not committed and
// releases its lock.
func (s *Store) Close() error {
	if s.lock == nil {
		return s.db.Close()
	}
	err := errors.Join(s.recover(), s.db.Close(), s.lock.Close())
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, explain(err))
	}
	return nil
}

// Dir returns the store's folder as an absolute path.
func (s *Store) Dir() string { return s.dir }

// AuthorityKey returns the file in which older versions kept the key of a certificate
// authority, or "" without one. It can issue certificates for any name, and nothing
// needs it any more.
func (s *Store) AuthorityKey() string {
	key := s.path(authorityName, "intermediate.key")
	if _, err := os.Lstat(key); err != nil {
		return ""
	}
	return key
}

// ScratchDir makes and returns a folder on the store's disk for what loads leave before it is
// kept. Close removes it and, after a crash, the next writer does.
func (s *Store) ScratchDir() (string, error) {
	if s.lock == nil {
		return "", fmt.Errorf("make a folder in store %s: %w", s.dir, ErrReadOnly)
	}
	if err := os.MkdirAll(s.path(scratchName), 0o700); err != nil {
		return "", fmt.Errorf("make a folder in store %s: %w", s.dir, explain(err))
	}
	return s.path(scratchName), nil
}

func (s *Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}
