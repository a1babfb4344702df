package store

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/artefact"
	"wiretime/study"
)

// keepSince is the first schema version of stores whose artefacts may have been dropped.
const keepSince = 7

// ErrNotSame is wrapped by the error for artefacts that are not those that a load had.
var ErrNotSame = errors.New("the artefacts are not the same")

// File describes an artefact of a load.
type File struct {
	Name   string `json:"name"` // relative to the load's folder, with slashes
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"` // hexadecimal, in lower case
}

// Making says how a load on the virtual clock was made. A load that is made in the same way again
// comes out the same, byte for byte.
type Making struct {
	// Programs maps the programs that the load follows from to their versions or checksums. It is
	// nil for a load that was stored before schema version 7.
	Programs map[string]string `json:"programs"`
	Boot     int               `json:"boot"`         // place in the plan of the first load that its guest was booted for, from 0
	Attempt  int               `json:"boot_attempt"` // the attempt that the guest was booted for, from 1
}

// Making returns how a load was made, nil if the store does not say.
func (s *Store) Making(load string) (*Making, error) {
	if s.version < keepSince {
		return nil, nil
	}
	found, err := query(s, func(rows *sql.Rows) (*Making, error) {
		var m Making
		var described string
		if err := rows.Scan(&described, &m.Boot, &m.Attempt); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(described), &m.Programs); err != nil {
			return nil, fmt.Errorf("%w: its programs are not described as names with texts: %w", ErrDamaged, err)
		}
		return &m, nil
	}, "SELECT p.described, l.boot, l.boot_attempt FROM load l JOIN programs p ON p.id = l.programs WHERE l.id = ?", load)
	if err != nil {
		return nil, fmt.Errorf("how load %s was made: %w", load, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0], nil
}

// dropped is an expression that is true for a load whose artefacts were dropped.
func (s *Store) dropped() string {
	if s.version < keepSince {
		return "false"
	}
	return "l.artefacts IS NULL AND EXISTS (SELECT 1 FROM artefact a WHERE a.load = l.id)"
}

// Drops counts the loads of a run whose artefacts were dropped.
type Drops struct {
	Loads   int // of the run, whatever became of them; 0 if nothing in the store was dropped
	Dropped int
	Real    int // of the dropped, those on the real clock
}

// Drops returns how many loads of a run lost their artefacts to its choice of what to keep.
func (s *Store) Drops(run int64) (d Drops, err error) {
	if s.version < keepSince {
		return d, nil
	}
	cells, err := s.cells(run)
	if err != nil {
		return d, err
	}
	type count struct {
		cell           int64
		loads, dropped int
	}
	counts, err := query(s, func(rows *sql.Rows) (c count, err error) { return c, rows.Scan(&c.cell, &c.loads, &c.dropped) },
		`SELECT p.cell, count(*), sum(`+s.dropped()+`)`+fromLoad+`WHERE p.run = ? AND EXISTS (SELECT 1 FROM artefact) GROUP BY p.cell`, run)
	if err != nil {
		return d, fmt.Errorf("count the dropped artefacts of run %d: %w", run, explain(err))
	}
	for _, c := range counts {
		d.Loads += c.loads
		d.Dropped += c.dropped
		if cells[c.cell].Clock() != study.ClockVirtual {
			d.Real += c.dropped
		}
	}
	return d, nil
}

// Files returns the artefacts of a load by name: those in its folder or, if they were dropped,
// what the store has kept of them. A load that left none has none.
func (s *Store) Files(l Load) ([]File, error) {
	var files []File
	var err error
	switch {
	case l.Artefacts != "":
		files, err = Checksums(l.Artefacts)
	case l.Dropped:
		files, err = s.recorded(l.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("artefacts of load %s: %w", l.ID, err)
	}
	return files, nil
}

func (s *Store) recorded(load string) ([]File, error) {
	return query(s, func(rows *sql.Rows) (f File, err error) {
		return f, rows.Scan(&f.Name, &f.Octets, &f.SHA256)
	}, "SELECT name, octets, sha256 FROM artefact WHERE load = ? ORDER BY name", load)
}

// Checksums describes the files in a load's folder, by name: compressed ones as they are without that. It
// follows no links.
func Checksums(dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := checksum(path)
		f.Name = strings.TrimSuffix(filepath.ToSlash(name), artefact.Suffix)
		files = append(files, f)
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files, err
}

func checksum(path string) (f File, err error) {
	in, err := artefact.Contents(strings.TrimSuffix(path, artefact.Suffix))
	if err != nil {
		return f, err
	}
	defer in.Close()
	sum := sha256.New()
	f.Octets, err = io.Copy(sum, in)
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, err
}

// Unpack copies the files in a load's folder to another folder, which exists: compressed ones as they are without
// that. It follows no links.
func Unpack(from, to string) error {
	files, err := Checksums(from)
	for _, f := range files {
		if err == nil {
			err = unpack(filepath.Join(from, f.Name), filepath.Join(to, f.Name))
		}
	}
	return err
}

func unpack(from, to string) error {
	in, err := artefact.Contents(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// compressFiles compresses the files in a folder.
func (s *Store) compressFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, artefact.Suffix) {
			return err
		}
		return s.compressor.Compress(path)
	})
}

// checksumStaged describes what StageDir's folder holds; nothing if nothing was staged.
func (s *Store) checksumStaged(load string) ([]File, error) {
	staged := s.path(loadsName, load+stagedSuffix)
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return Checksums(staged)
}

// Drop removes the artefacts of a load and keeps their names, sizes and checksums. Dropping those
// of a load that has none does nothing. If the program is killed in between, the artefacts are
// either all there, or the next writer removes the rest of them.
func (s *Store) Drop(load string) error {
	if s.lock == nil {
		return fmt.Errorf("drop the artefacts of load %s: %w", load, ErrReadOnly)
	}
	l, err := s.Load(load)
	if err != nil || l.Artefacts == "" {
		return err
	}
	files, err := Checksums(l.Artefacts)
	if err == nil {
		err = s.transact(func(tx *sql.Tx) error {
			if err := newInserter(tx).files(load, files); err != nil {
				return err
			}
			_, err := tx.Exec("UPDATE load SET artefacts = NULL WHERE id = ?", load)
			return err
		})
	}
	if err == nil {
		err = os.RemoveAll(l.Artefacts)
	}
	if err != nil {
		return fmt.Errorf("drop the artefacts of load %s: %w", load, err)
	}
	return nil
}

// Restore puts the files that were staged for a load (StageDir) back in the place of its dropped
// artefacts. They must be the same, byte for byte: otherwise the error wraps ErrNotSame, and
// the staged files are removed.
func (s *Store) Restore(load string) error {
	if err := s.restore(load); err != nil {
		return fmt.Errorf("put the artefacts of load %s back: %w", load, explain(err))
	}
	return nil
}

func (s *Store) restore(load string) error {
	if s.lock == nil {
		return ErrReadOnly
	}
	l, err := s.Load(load)
	if err != nil {
		return err
	}
	staged, err := s.checksumStaged(load)
	if err != nil {
		return err
	}
	had, err := s.Files(l)
	if err != nil {
		return err
	}
	if !l.Dropped || !slices.Equal(staged, had) {
		return errors.Join(fmt.Errorf("%w as those that were dropped", ErrNotSame), os.RemoveAll(s.path(loadsName, load+stagedSuffix)))
	}
	if _, err := s.publish(load, false); err != nil {
		return err
	}
	if err := s.update("UPDATE load SET artefacts = ? WHERE id = ?", filepath.ToSlash(filepath.Join(loadsName, load)), load); err != nil {
		return errors.Join(err, os.RemoveAll(s.path(loadsName, load)))
	}
	return nil
}

// SetKeep changes which valid loads of a run keep their artefacts. Artefacts that were dropped do
// not come back by it.
func (s *Store) SetKeep(run int64, keep string) error {
	if s.lock == nil {
		return fmt.Errorf("change what run %d keeps: %w", run, ErrReadOnly)
	}
	if err := s.update("UPDATE run SET keep = ? WHERE id = ?", keep, run); err != nil {
		return fmt.Errorf("change what run %d keeps: %w", run, err)
	}
	return nil
}

// CellLoad is a valid load of a cell.
type CellLoad struct {
	ID     string
	Kept   bool // its artefacts are there
	Values map[string]float64
}

const sameCell = "p.cell = (SELECT cell FROM planned WHERE id = ?)"

// CellComplete reports whether no planned load of the cell of a planned load is pending.
func (s *Store) CellComplete(planned int64) (complete bool, err error) {
	// A plan has the repeats in their order, so the last ones tell most quickly.
	err = s.db.QueryRow("SELECT (SELECT 1 FROM planned p WHERE p.state = 'planned' AND "+sameCell+" ORDER BY p.repeat DESC LIMIT 1) IS NULL", planned).Scan(&complete)
	if err != nil {
		return false, fmt.Errorf("state of a cell: %w", explain(err))
	}
	return complete, nil
}

// CellLoads returns the valid loads of the cell of a planned load, in the order of the plan.
func (s *Store) CellLoads(planned int64) ([]CellLoad, error) {
	var loads []CellLoad
	_, err := query(s, func(rows *sql.Rows) (_ struct{}, err error) {
		l := CellLoad{Values: map[string]float64{}}
		var metric sql.NullString
		var value sql.NullFloat64
		if err := rows.Scan(&l.ID, &l.Kept, &metric, &value); err != nil {
			return struct{}{}, err
		}
		if n := len(loads); n == 0 || loads[n-1].ID != l.ID {
			loads = append(loads, l)
		}
		if metric.Valid {
			loads[len(loads)-1].Values[metric.String] = value.Float64
		}
		return struct{}{}, nil
	}, `SELECT l.id, l.artefacts IS NOT NULL, v.metric, v.value FROM planned p JOIN load l ON l.planned = p.id
		LEFT JOIN value v ON v.load = l.id WHERE l.validity = 'valid' AND `+sameCell+` ORDER BY p.idx, l.id`, planned)
	if err != nil {
		return nil, fmt.Errorf("loads of a cell: %w", err)
	}
	return loads, nil
}
