package kernel

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryFolders returns the folders where a guest's memory may lie as an unnamed file, the
// fastest first.
func memoryFolders() []string { return []string{"/dev/shm", os.TempDir()} }

// memoryFolder chooses a folder for a guest's memory that has room and is not mounted
// noexec.
func memoryFolder(size int64) (string, error) {
	if size < MinMemory {
		return "", fmt.Errorf("%w: %s is too small: give it at least %s", ErrMemory, megabytes(size), megabytes(MinMemory))
	}
	var reasons []string
	for _, dir := range memoryFolders() {
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", dir, err))
			continue
		}
		free := int64(fs.Bavail) * fs.Bsize
		switch {
		case fs.Flags&unix.ST_NOEXEC != 0:
			reasons = append(reasons, dir+" is mounted noexec")
		case free < size:
			reasons = append(reasons, fmt.Sprintf("%s has %s free", dir, megabytes(free)))
		default:
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: no folder for %s: %s; make room, or mount a larger /dev/shm (docker run --shm-size)",
		ErrMemory, megabytes(size), strings.Join(reasons, ", "))
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n/1e6) }
