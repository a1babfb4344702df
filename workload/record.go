package workload

import (
	"errors"
	"io/fs"
	"path/filepath"

	"wiretime/capture"
	"wiretime/lab"
)

// ServerFile is the name of the server's log in a load's folder.
const ServerFile = "server.jsonl"

// Record is what a load of any workload leaves, besides the capture (lab.CaptureFile). As
// JSON it lacks what files in the load's folder hold.
type Record struct {
	lab.Report
	Server     []capture.ServerEntry `json:"-"` // nil if the server keeps no log
	ServerLost int                   // QUIC packets that the server declared lost; -1: not known
}

// UnsupportedError is a Record.LoadError that says why the load cannot be: what was to be loaded does not offer what the
// cell asks for, as only trying could show. The load is unsupported, not failed.
type UnsupportedError struct{ Why string }

func (e *UnsupportedError) Error() string { return e.Why }

// Common returns the record itself. Outcomes embed a record and get the method from it.
func (r *Record) Common() *Record { return r }

// SaveServerLog writes the server's log into the folder dir, if there is one.
func (r *Record) SaveServerLog(dir string) error {
	if r.Server == nil {
		return nil
	}
	return capture.WriteServerLog(filepath.Join(dir, ServerFile), r.Server)
}

// ReadServerLog reads what SaveServerLog has written.
func (r *Record) ReadServerLog(dir string) (err error) {
	r.Server, err = ReadIfThere(dir, ServerFile, capture.ReadServerLog)
	return err
}

// ReadIfThere reads a file of a load's folder. The result is the zero value if the load has
// left no such file.
func ReadIfThere[T any](dir, name string, read func(string) (T, error)) (T, error) {
	content, err := read(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return content, nil
	}
	return content, err
}
