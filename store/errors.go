package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that a caller may want to tell apart with errors.Is. The error that
// wraps one of them names the store and says what to do.
var (
	// ErrLocked: another process has the store open for writing.
	ErrLocked = errors.New("the store is in use")
	// ErrNewer: the store has a newer schema than this program knows.
	ErrNewer = errors.New("the store was made by a newer wiretime")
	// ErrNotStore: the folder does not hold a store.
	ErrNotStore = errors.New("not a wiretime store")
	// ErrDamaged: the database of the store cannot be read as one.
	ErrDamaged = errors.New("the store's database is damaged")
	// ErrNotFound: the store holds no such run or load.
	ErrNotFound = errors.New("not in the store")
	// ErrReadOnly: the store was opened with Read and asked to change.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrDiskFull: there was no room; nothing of the attempt was kept. It
	// wraps syscall.ENOSPC.
	ErrDiskFull = fmt.Errorf("the disk is full (make room, then go on with --resume): %w", syscall.ENOSPC)
)

// explain turns SQLite's and the system's codes for a full disk or a damaged
// file into the errors above; any other error passes unchanged.
func explain(err error) error {
	if err == nil || errors.Is(err, ErrDiskFull) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	}
	var s *sqlite.Error
	if !errors.As(err, &s) {
		return err
	}
	switch code := s.Code(); {
	// The shared-memory file of the write-ahead log is grown with its own code.
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	case code&0xff == sqlite3.SQLITE_NOTADB, code&0xff == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w (%w): restore it from a copy, or start a new store; the folders in loads/ are whole", ErrDamaged, err)
	}
	return err
}
