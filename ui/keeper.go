package ui

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"wiretime/store"
)

// databaseName is what tells one store from another in the same place.
const databaseName = "wiretime.db"

// keeper keeps the store open for reading: opening one checks the whole database. There may be none at first, and another one may take
// its place.
type keeper struct {
	dir string

	mu       sync.RWMutex // held for reading while the store is in use
	st       *store.Store
	identity os.FileInfo // of the database
	schema   int
}

// with calls f with the store, and a number that is another one whenever the store may have changed.
func (k *keeper) with(f func(st *store.Store, version int64) error) error {
	for {
		k.mu.RLock()
		if version, ok := k.current(); ok {
			defer k.mu.RUnlock()
			return f(k.st, version)
		}
		k.mu.RUnlock()
		if err := k.reopen(); err != nil {
			return err
		}
	}
}

// current reports whether the open store is the one in its place, as its writers have it today.
func (k *keeper) current() (version int64, ok bool) {
	if k.st == nil {
		return 0, false
	}
	now, err := os.Stat(filepath.Join(k.dir, databaseName))
	if err != nil || !os.SameFile(now, k.identity) {
		return 0, false
	}
	version, err = k.st.DataVersion()
	if err != nil {
		return 0, false
	}
	schema, err := k.st.Schema()
	return version, err == nil && schema == k.schema
}

// reopen opens the store that is in the place.
func (k *keeper) reopen() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.current(); ok { // another request has opened it
		return nil
	}
	if k.st != nil {
		err := k.st.Close()
		if k.st = nil; err != nil {
			return err
		}
	}
	identity, statErr := os.Stat(filepath.Join(k.dir, databaseName))
	st, err := store.Open(k.dir, store.Read)
	if err != nil {
		return err
	}
	schema, err := st.Schema()
	if err = errors.Join(statErr, err); err != nil {
		return errors.Join(err, st.Close())
	}
	k.st, k.identity, k.schema = st, identity, schema
	return nil
}

// close closes the store. A reader that outlives the writer leaves SQLite's log behind, which would keep the store from being read on
// a network file system; so the log is put into the database, as the writer would have done.
func (k *keeper) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.st == nil {
		return nil
	}
	err := k.st.Close()
	k.st = nil
	if _, left := os.Stat(filepath.Join(k.dir, databaseName+"-wal")); left == nil && k.schema == store.SchemaVersion && store.Writer(k.dir) == 0 {
		if st, err := store.Open(k.dir, store.Write); err == nil { // without the right to write, or beside a new writer, it stays
			_ = st.Close()
		}
	}
	return err
}
