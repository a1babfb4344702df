package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// watched are the changes of a folder that a follower wants to know of. A commit to the store comes as a new time of access of its lock file, the
// end of a writer as the closing of that file.
const watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM

// watch calls changed whenever something changes directly in one of the folders, until ctx ends. Of a folder that is not there, it watches
// the nearest one above it that is, until it appears. Between changes it does nothing.
func watch(ctx context.Context, folders []string, changed func()) error {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	stop := context.AfterFunc(ctx, func() { _ = events.Close() })
	defer stop()
	defer events.Close()
	buffer := make([]byte, 16<<10)
	for {
		for _, folder := range folders {
			switch err := add(events, folder); {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			}
		}
		changed() // also at first, and after a folder has appeared: it may have changed before it was watched
		if _, err := events.Read(buffer); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the store: %w", err)
		}
	}
}

// add watches a folder, or the nearest one above it. A folder that is watched already stays so.
func add(events *os.File, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	control, err := events.SyscallConn()
	if err != nil {
		return err
	}
	for at, missing := folder, ""; ; {
		var failed error
		if err := control.Control(func(fd uintptr) { _, failed = unix.InotifyAddWatch(int(fd), at, watched|unix.IN_ONLYDIR) }); err != nil {
			return err
		}
		switch above := filepath.Dir(at); {
		case failed == nil && isFolder(missing): // it appeared before the one above it was watched
			at, missing = folder, ""
		case failed == nil:
			return nil
		case !errors.Is(failed, fs.ErrNotExist) && !errors.Is(failed, unix.ENOTDIR) || above == at:
			return fmt.Errorf("watch folder %s: %w", strings.ToValidUTF8(at, "?"), failed)
		default:
			at, missing = above, at
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
