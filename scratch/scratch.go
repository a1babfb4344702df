// Package scratch makes temporary folders and files that do not outlive their owner for long: what
// a killed program has left is removed by the next one that makes its like.
//
// The owner holds a lock (flock) on the folder or file itself, which the kernel drops when the
// owner ends, however it ends. [Sweep] removes only what it can lock: nothing that a running
// program still uses. It follows no symbolic link, and removes only what belongs to the same user.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is a temporary folder of this program.
type Folder struct {
	// Path is where the folder was made. Once it is finished it may be renamed.
	Path string
	lock *os.File
}

// Make makes a folder whose name begins with prefix in the folder parent, open to its owner only.
// An empty parent means that of os.TempDir. Before that, it sweeps parent of such folders. The caller
// must call Remove.
//
// On a file system without locks the folder is made all the same, and is never swept.
func Make(parent, prefix string) (*Folder, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	Sweep(parent, prefix+"*")
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		lock, err := os.Open(path)
		if err == nil {
			if Lock(lock) {
				return &Folder{Path: path, lock: lock}, nil
			}
			_ = lock.Close()
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, os.Remove(path))
		}
		// Another program swept the folder before it was locked.
	}
}

// Held returns the folder's lock, for a child program to inherit: the folder is then not swept
// before that program has ended as well.
func (f *Folder) Held() *os.File { return f.lock }

// Remove removes the folder with all that it holds. If the folder has been renamed, Remove leaves
// it alone and gives up the lock.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	return errors.Join(err, f.lock.Close())
}

// Lock locks a new temporary file or folder until it is closed. It returns false if the file has
// been swept before it was locked; the caller must then make another one.
func Lock(file *os.File) bool {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		var now unix.Stat_t
		return err != nil || unix.Fstat(int(file.Fd()), &now) != nil || now.Nlink > 0
	}
}

// Sweep removes the files and folders in parent that match a pattern of [filepath.Match], belong to
// this user, and are locked by no running program. Every one of them must have been made by Make, or
// locked with Lock. It returns how many it removed. What it cannot remove stays for the next Sweep.
func Sweep(parent, pattern string) (removed int) {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return 0
	}
	defer root.Close()
	list, err := root.Open(".")
	if err != nil {
		return 0
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1)
	for _, name := range names {
		if match, err := filepath.Match(pattern, name); err == nil && match && sweep(root, name) == nil {
			removed++
		}
	}
	return removed
}

// errInUse says that a file is not a leftover.
var errInUse = errors.New("not a leftover of this user")

// sweep removes one leftover.
func sweep(root *os.Root, name string) error {
	// O_NONBLOCK: somebody may have put a FIFO there.
	file, err := root.OpenFile(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	var its unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &its); err != nil {
		return err
	}
	kind := its.Mode & unix.S_IFMT
	if int(its.Uid) != os.Geteuid() || kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return fmt.Errorf("%s: %w", name, errInUse)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	return root.RemoveAll(name)
}
