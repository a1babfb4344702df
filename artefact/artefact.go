// Package artefact opens the files that a load left behind. A guest, a browser or another machine may have written them,
// so a name may be a symbolic link to a file elsewhere, or a FIFO at which a reader waits for ever, and a file may be of
// any size.
package artefact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Largest is the size in octets of the largest artefact that a load may leave, apart from captures.
const Largest = 1 << 30

// ErrUnfit is wrapped by the errors for what is no proper artefact: a symbolic link, a FIFO, a device, a folder, or a
// file that is too large.
var ErrUnfit = errors.New("refused")

// Open opens a regular file for reading. It neither follows a symbolic link in the last part of the path nor waits for a
// FIFO or a device; the error then wraps ErrUnfit.
func Open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a device may have effects
		err = fmt.Errorf("open %s: %w: it is %s, want a regular file", path, ErrUnfit, kind(info.Mode()))
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil { // also if it has become a link meanwhile
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return regular(os.NewFile(uintptr(fd), path))
}

// OpenIn opens a regular file of the folder root as Open does. The name may not lead out of the folder, by no link. A
// file with another name elsewhere (a hard link) is refused, too: root is for what a running guest has left, which has
// no reason to make one.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s in %s: %w: it is %s, want a regular file", name, root.Name(), ErrUnfit, kind(info.Mode()))
	}
	// It may have become something else meanwhile, so the file is checked again once it is open.
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if file, err = regular(file); err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && info.Sys().(*syscall.Stat_t).Nlink != 1 {
		err = fmt.Errorf("open %s in %s: %w: it has more than one name (hard links)", name, root.Name(), ErrUnfit)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// regular returns the file if it is a regular one. Otherwise it closes the file.
func regular(file *os.File) (*os.File, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w: it is %s, want a regular file", file.Name(), ErrUnfit, kind(info.Mode()))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func kind(m os.FileMode) string {
	switch {
	case m&os.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a folder"
	case m&os.ModeNamedPipe != 0:
		return "a FIFO"
	case m&os.ModeDevice != 0:
		return "a device"
	}
	return "not a file"
}

// Read reads the regular file at path, of at most most octets, or decompresses what Compressor has made of
// it.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return decompressAll(path, most, err)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file, most)
}

// ReadAll reads a file of at most most octets. The error for a larger one wraps ErrUnfit.
func ReadAll(file *os.File, most int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, tooLarge(file, most)
	}
	content := make([]byte, info.Size(), info.Size()+1) // the spare octet shows whether the file has grown
	n, err := io.ReadFull(file, content[:cap(content)])
	if err == nil && int64(n) > most {
		return nil, tooLarge(file, most)
	}
	if err == nil {
		return nil, fmt.Errorf("read %s: %w: it grows while it is read", file.Name(), ErrUnfit)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return content[:n], nil
	}
	return nil, err
}

// ReadIn reads what a regular file of a folder, opened as OpenIn does, holds from an offset on. The file may still grow. The
// error for more than most octets wraps ErrUnfit.
func ReadIn(folder, name string, from, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, from, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, tooLarge(file, most)
	}
	return content, nil
}

func tooLarge(file *os.File, most int64) error {
	return fmt.Errorf("read %s: %w: larger than %d octets", file.Name(), ErrUnfit, most)
}
