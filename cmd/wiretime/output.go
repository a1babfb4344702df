package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file that is written beside its final place and moved there once it is
// complete.
type output struct {
	io.Writer
	file  *os.File // nil for standard output
	place string   // empty: what is written is there at once
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
		return &output{Writer: file, file: file}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &output{Writer: file, file: file, place: name}, nil
}

// keep puts the file in its place.
func (o *output) keep() (err error) {
	if o.file == nil {
		return nil
	}
	if o.place == "" {
		return o.file.Close()
	}
	defer func() {
		if err != nil {
			o.discard()
			err = fmt.Errorf("write %s: %w", o.place, err)
		}
	}()
	if err := o.file.Chmod(0o644); err != nil {
		return err
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(o.file.Name(), o.place); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(o.place))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// discard leaves the place as it was. After keep it does nothing.
func (o *output) discard() {
	if o.file != nil && o.place != "" {
		_ = o.file.Close()
		_ = os.Remove(o.file.Name())
	}
}
