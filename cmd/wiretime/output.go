package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"wiretime/atomicfile"
	"wiretime/scratch"
	"wiretime/terminal"
)

// stdout and stderr take all text for people. Names, URLs and errors in it may be foreign, so
// these writers keep it from controlling the terminal. What programs read (bodies, CSV,
// JSON) goes to forPrograms.
var stdout, stderr = terminal.NewWriters(os.Stdout, os.Stderr)

// forPrograms is standard output for what programs read, as it is. A terminal is none.
var forPrograms = unlessTerminal(os.Stdout)

// unlessTerminal returns a writer to a file that escapes text if the file is a terminal. A character
// of which two writes have a part is then shown as its octets.
func unlessTerminal(file *os.File) io.Writer {
	if terminal.Is(file) {
		return terminal.NewWriter(file)
	}
	return file
}

// output is a file that is written beside its final place and moved there once it is
// complete.
type output struct {
	io.Writer
	name string
	open *os.File         // what is written is there at once; nil for files and standard output
	file *atomicfile.File // nil for all else
}

// newOutput begins a file. If the name exists and is not a regular file, such as
// /dev/null or a pipe, the output goes there directly.
func newOutput(name string) (*output, error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("write %s: is a folder", name)
	}
	if err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &output{Writer: unlessTerminal(file), name: name, open: file}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := atomicfile.Create(name, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &output{Writer: file, name: name, file: file}, nil
}

// keep puts the file in its place.
func (o *output) keep() error {
	if o.open != nil {
		return o.open.Close()
	}
	if o.file == nil {
		return nil
	}
	if err := o.file.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", o.name, err)
	}
	return nil
}

// discard leaves the place as it was. After keep it does nothing.
func (o *output) discard() {
	if o.file != nil {
		o.file.Discard()
	}
}

// writeFolder makes a folder with what fill puts into it, whole or not at all. There must be none of that name,
// or an empty one; the folders above it are made.
func writeFolder(dir string, fill func(string) error) (err error) {
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	unfinished, err := scratch.Make(parent, ".wiretime-unfinished")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unfinished.Remove()) }()
	made := filepath.Join(unfinished.Path, name)
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	if err := fill(made); err != nil {
		return err
	}
	err = atomicfile.MoveFolder(made, dir)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EEXIST) {
		return input(fmt.Errorf("%s is there already: name another folder with --out", dir))
	}
	return err
}
