package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// These errors can be distinguished with errors.Is. The error that wraps one of them names
// the store and says what to do.
var (
	// ErrLocked says that another process has the store open for writing.
	ErrLocked = errors.New("the store is in use")
	// ErrNewer says that the store has a newer schema than this program supports.
	ErrNewer = errors.New("the store was made by a newer wiretime")
	// ErrNotStore says that the folder does not hold a store.
	ErrNotStore = errors.New("not a wiretime store")
	// ErrDamaged says that the store's database cannot be read.
	ErrDamaged = errors.New("the store's database is damaged")
	// ErrNetwork says that the store is on a network file system.
	ErrNetwork = errors.New("a store must be on a local disk")
	// ErrNotFound says that the store has no such run or load.
	ErrNotFound = errors.New("not in the store")
	// ErrReadOnly says that a store opened with Read was asked to change.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrDiskFull says that there was no room; nothing of the attempt was kept. It wraps
	// syscall.ENOSPC.
	ErrDiskFull = fmt.Errorf("the disk is full (make room, then continue with --resume): %w", syscall.ENOSPC)
)

// explain turns the codes of SQLite and the system for a full disk or a damaged file into
// the errors above. It returns other errors unchanged.
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
	// Growing the shared-memory file of the write-ahead log has its own error code.
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	case code&0xff == sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w (%w): it has a value of more than %d octets", ErrDamaged, err, largestValue)
	case code&0xff == sqlite3.SQLITE_NOTADB, code&0xff == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w (%w): restore it from a copy, or start a new store; the folders in loads/ are intact", ErrDamaged, err)
	}
	return err
}
