package kernel

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryFolder chooses a folder for a guest's memory, as an unnamed file, that has room and is not mounted noexec: the
// guest's own one if that is in memory, else the first shared one.
func memoryFolder(own string, size int64) (string, error) {
	if size < MinMemory {
		return "", fmt.Errorf("%w: %s is too small: give it at least %s", ErrMemory, megabytes(size), megabytes(MinMemory))
	}
	folders := []string{"/dev/shm", os.TempDir()}
	var fs unix.Statfs_t
	if err := unix.Statfs(own, &fs); err == nil && fs.Type == unix.TMPFS_MAGIC {
		folders = append([]string{own}, folders...)
	}
	var reasons []string
	for _, dir := range folders {
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
