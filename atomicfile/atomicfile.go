// Package atomicfile puts files and folders into place whole, or not at all: after an error, a
// full disk, a crash or a power cut, a place holds what it held before or all of the new.
//
// What is being written lies beside its place, since only within one file system can a file be
// renamed, and is on the disk before it is renamed. What a killed program has left beside a place
// is removed when the place is written the next time.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"wiretime/scratch"
)

// File is a file that is being written. It is used up by Commit or Discard.
type File struct {
	*os.File
	place string
	mode  fs.FileMode
	lock  *os.File // keeps others from sweeping the file until it has been renamed; nil without a lock
	done  bool
}

// Create begins the file that will be at path, with the given permissions whatever the umask is.
// Until Commit it has a hidden name in the same folder, which ends in .tmp. Leftovers of killed
// programs with such a name are removed.
func Create(path string, mode fs.FileMode) (*File, error) {
	scratch.Sweep(filepath.Dir(path), hidden(path))
	for {
		f, err := begin(path, mode)
		if err != nil {
			return nil, err
		}
		if f.lock, err = os.Open(f.Name()); err == nil && scratch.Lock(f.lock) {
			return f, nil
		}
		f.Discard()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// Another program swept the file before it was locked.
	}
}

// begin begins a file that has no lock.
func begin(path string, mode fs.FileMode) (*File, error) {
	file, err := os.CreateTemp(filepath.Dir(path), hidden(path))
	if err != nil {
		return nil, err
	}
	return &File{File: file, place: path, mode: mode}, nil
}

// hidden is the pattern of the names of unfinished files.
func hidden(path string) string { return "." + filepath.Base(path) + ".*.tmp" }

// Commit puts the file in its place, where it replaces another file. After an error before the
// renaming the place is as it was and nothing else is left.
func (f *File) Commit() error {
	defer f.Discard()
	if err := f.Chmod(f.mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.place); err != nil {
		return err
	}
	f.done = true
	return SyncFolder(filepath.Dir(f.place))
}

// Discard leaves the place as it was. After Commit it does nothing.
func (f *File) Discard() {
	if !f.done {
		f.done = true
		_ = f.Close() // it may be closed already
		_ = os.Remove(f.Name())
	}
	_ = f.lock.Close() // it may be closed already, or none
}

// Write replaces the content of path with what write writes, or leaves the file unchanged. Everyone
// may read the file. Write leaves leftovers of killed programs alone: it is for folders that are
// removed as a whole.
func Write(path string, write func(io.Writer) error) error {
	file, err := begin(path, 0o644)
	if err != nil {
		return err
	}
	return file.fill(write)
}

// fill writes the file and puts it in its place.
func (f *File) fill(write func(io.Writer) error) error {
	defer f.Discard()
	buffer := bufio.NewWriter(f)
	if err := write(buffer); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// WriteBytes replaces the content of path. Everyone may read the file.
func WriteBytes(path string, content []byte) error {
	file, err := Create(path, 0o644)
	if err != nil {
		return err
	}
	return file.fill(func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// MoveFolder puts the folder from, which is finished, at to on the same file system. An empty
// folder at to is replaced; one that holds something is an error. After an error before the
// renaming, from is still there and is the caller's to remove.
func MoveFolder(from, to string) error {
	if err := SyncTree(from); err != nil {
		return err
	}
	if err := syscall.Rename(from, to); err != nil { // os.Rename refuses an empty folder, too
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncTree syncs a folder and everything in it, so that it survives a power cut.
func SyncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return syncPath(path)
	})
}

// SyncFolder syncs a folder, so that the names in it survive a power cut, also after a rename.
func SyncFolder(dir string) error { return syncPath(dir) }

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
