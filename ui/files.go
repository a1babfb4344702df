package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/store"
)

// keysName is the file of a capture's TLS keys, in the format of NSS's key log, which Wireshark reads beside another capture.
const keysName = "tls.keys"

// file is a file that a load left.
type file struct {
	Name   string `json:"name"`
	Octets int64  `json:"octets"` // as it is kept, perhaps compressed
	URL    string `json:"url"`
}

// listFiles lists the files of a load whose artefacts are there, and the keys in its capture.
func listFiles(l store.Load, packets *capture.Packets) ([]file, error) {
	files := []file{}
	entries, err := os.ReadDir(l.Artefacts)
	if err != nil {
		return nil, fmt.Errorf("list the files of load %s: %w", l.ID, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := strings.TrimSuffix(e.Name(), artefact.Suffix)
		files = append(files, file{name, info.Size(), "/files/" + l.ID + "/" + name})
	}
	if packets != nil && len(packets.Secrets) > 0 {
		files = append(files, file{keysName, int64(len(packets.Secrets)), "/files/" + l.ID + "/" + keysName})
	}
	return files, nil
}

// file sends a file that a load left, uncompressed and as an attachment: a browser must not show what a stranger's page may have written.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	id, name := r.PathValue("load"), r.PathValue("name")
	var l store.Load
	err := s.stores.with(func(st *store.Store, _ int64) (err error) {
		l, err = s.withFiles(st, id)
		return err
	})
	var content io.ReadCloser
	if err == nil {
		content, err = s.openFile(l, name)
	}
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	defer content.Close()
	attach(w, "application/octet-stream", id+"-"+name)
	_, _ = io.Copy(w, content) // whoever asked may have gone; a file that is cut off shows by its length
}

func (s *Server) openFile(l store.Load, name string) (io.ReadCloser, error) {
	if name == keysName {
		packets, err := s.Packets(l)
		if err == nil && (packets == nil || len(packets.Secrets) == 0) {
			err = fmt.Errorf("read the keys of load %s: its capture has none: %w", l.ID, errNotFound)
		}
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(packets.Secrets)), nil
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("open file %.80q of load %s: %w", name, l.ID, errNotFound)
	}
	content, err := artefact.Contents(filepath.Join(l.Artefacts, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open file %.80q of load %s: %w", name, l.ID, errNotFound)
	}
	return content, err
}

// exportLoads sends all raw values of a run, as `wiretime export csv` does. It reads for seconds, so it opens the store for itself.
func (s *Server) exportLoads(w http.ResponseWriter, r *http.Request) {
	run, err := number(r, "run")
	var st *store.Store
	if err == nil {
		st, err = store.Open(s.Store, store.Read)
	}
	if err == nil {
		defer st.Close()
		_, err = st.Run(run)
	}
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	attach(w, "text/csv; charset=utf-8", fmt.Sprintf("run-%d-loads.csv", run))
	if err := st.ExportCSV(w, run); err != nil {
		panic(http.ErrAbortHandler) // so that the browser sees that the file is not whole
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
