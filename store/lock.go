package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/artefact"
)

// acquireLock takes the store's writer lock: an advisory flock(2) on a file that holds the
// owner's PID. The kernel releases it however the process ends.
func acquireLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		text, _ := io.ReadAll(io.LimitReader(f, 32))
		holder := strings.TrimSpace(string(text))
		if awaitEnd(holder) {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%w by process %s: wait until it ends, or choose another store", ErrLocked, holder)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The PID is only for another process's error message: the lock also works without it.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return f, nil
}

// announce tells those who watch the store's folder that what was committed can be read, by the lock file's time of access. (Its time of
// modification says when the writer began.) SQLite's own files change earlier: it writes its log, waits for the disk, and only then shows the
// commit, in shared memory, where no watcher sees it. If announce fails, watchers learn of the commit with the next one.
func (s *Store) announce() {
	times := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_OMIT}}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, s.path(lockName), times, unix.AT_SYMLINK_NOFOLLOW)
}

// Writer returns the PID of the process that has the store in dir open for writing. It returns 0 if no process has, or if this user may
// not see which one. Writer takes no lock, so it never stands in the way of a writer.
func Writer(dir string) int {
	path := filepath.Join(dir, lockName)
	text, err := artefact.Read(path, 32)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	lock, err := os.Stat(path)
	if err != nil {
		return 0
	}
	// The file keeps the number of its last writer, which may be another program's by now. The writer has the file open.
	open := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(open)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(open, f.Name())); err == nil && os.SameFile(info, lock) {
			return pid
		}
	}
	return 0
}

// endLimit is how long a killed process may take to end.
const endLimit = 10 * time.Second

// awaitEnd waits for the holder of the lock if it is already ending. A killed process keeps
// its lock until the kernel has removed its network namespaces, which takes longer than
// typing --resume. A process without open files has begun to end.
func awaitEnd(holder string) bool {
	pid, err := strconv.Atoi(holder)
	if err != nil {
		return false
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH) // the process has just ended
	}
	defer unix.Close(process)
	files, err := os.ReadDir(filepath.Join("/proc", holder, "fd"))
	if err != nil || len(files) > 0 {
		return errors.Is(err, fs.ErrNotExist)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, int(endLimit.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}
