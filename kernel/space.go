package kernel

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// buildSpace is an upper bound of a build's disk usage in bytes, with some margin: the
// unpacked source, the precompiled headers and the objects.
const buildSpace = 700_000_000

// checkSpace checks before a long build that a folder's file system has room for it.
func checkSpace(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("read the free space in %s: %w", dir, err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < buildSpace {
		return fmt.Errorf("%w: %s has %s free and a build takes up to %s; %s",
			ErrSpace, dir, megabytes(free), megabytes(buildSpace), moreSpace)
	}
	return nil
}

const moreSpace = "free some, or set XDG_CACHE_HOME to a folder on another disk"

// outOfSpace adds the folder and the remedy if a build failed because its disk was full.
// Programs that a build runs report this only in English text (see newCommand).
func outOfSpace(failed error, dir string) error {
	full := failed != nil && !errors.Is(failed, ErrSpace) &&
		(errors.Is(failed, unix.ENOSPC) || errors.Is(failed, unix.EDQUOT) ||
			strings.Contains(failed.Error(), "No space left on device") || strings.Contains(failed.Error(), "Disk quota exceeded"))
	if !full {
		return failed
	}
	return fmt.Errorf("%w: %s is full, and a build takes up to %s; %s: %w", ErrSpace, dir, megabytes(buildSpace), moreSpace, failed)
}
