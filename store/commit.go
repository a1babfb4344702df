package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Commit stores attempts, all or none. It makes the staged folder of each durable, moves all into place, and
// writes the rows of all in one transaction. After an error neither folders nor rows of theirs remain, and
// the planned loads are still pending. A planned load is done if its attempt was valid,
// unsupported or final. An attempt with Drop leaves only the names, sizes and checksums of its artefacts.
//
// Many attempts at once cost less than one after the other: the disk is waited for once, and statements are prepared once.
func (s *Store) Commit(records ...LoadRecord) error {
	if s.lock == nil {
		return fmt.Errorf("keep loads: %w", ErrReadOnly)
	}
	kept, err := s.keepFiles(records)
	if err == nil {
		err = s.transact(func(tx *sql.Tx) error { return insertLoads(tx, kept) })
	}
	for _, k := range kept {
		if k.published && err != nil {
			err = errors.Join(err, os.RemoveAll(s.path(loadsName, k.record.ID())))
		}
	}
	for _, r := range records {
		if r.Drop || err != nil {
			err = errors.Join(err, os.RemoveAll(s.path(loadsName, r.ID()+stagedSuffix)))
		}
	}
	return err
}

// keeping holds an attempt whose files are dealt with and whose rows are still to be written.
type keeping struct {
	record    LoadRecord
	published bool   // its folder is in place
	dropped   []File // its artefacts, if they are to be dropped
}

// mostSettling is how many folders are made durable at once. A file system's journal takes what several wait for in one turn.
const mostSettling = 8

// keepFiles publishes the staged folders of attempts and describes those that are to be dropped. After an error none is published.
func (s *Store) keepFiles(records []LoadRecord) ([]keeping, error) {
	kept := make([]keeping, len(records))
	var group errgroup.Group
	group.SetLimit(mostSettling)
	for i, r := range records {
		group.Go(func() (err error) {
			if kept[i], err = s.keepStaged(r); err != nil {
				return fmt.Errorf("keep load %s: files: %w", r.ID(), explain(err))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var settled []string
	for _, k := range kept {
		if k.published {
			settled = append(settled, k.record.ID())
		}
	}
	if len(settled) > 0 {
		if err := s.place(settled); err != nil {
			return nil, fmt.Errorf("keep loads: files: %w", explain(err))
		}
	}
	return kept, nil
}

// keepStaged settles the staged folder of an attempt or, if it is to be dropped, describes it.
func (s *Store) keepStaged(r LoadRecord) (k keeping, err error) {
	k.record = r
	switch {
	case r.Drop && r.Files != nil:
		k.dropped, err = r.Files, checkFiles(r.Files)
	case r.Files != nil:
		err = errors.New("it describes files that were dropped, but is not to be dropped")
	case r.Drop:
		k.dropped, err = s.checksumStaged(r.ID())
	default:
		k.published, err = s.settle(r.ID(), r.Compress)
	}
	return k, err
}

var checksumText = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkFiles makes sure that files can be those of a load. Another machine may have described them.
func checkFiles(files []File) error {
	var names []string
	for _, f := range files {
		switch {
		case !filepath.IsLocal(f.Name) || filepath.ToSlash(filepath.Clean(f.Name)) != f.Name || f.Name == ".":
			return fmt.Errorf("%.80q is not the name of a file below the load's folder", f.Name)
		case len(f.Name) > longestName:
			return fmt.Errorf("the name %.40q... has %d octets, want at most %d", f.Name, len(f.Name), longestName)
		case slices.Contains(names, f.Name):
			return fmt.Errorf("%q is described twice", f.Name)
		case f.Octets < 0:
			return fmt.Errorf("%q has %d octets", f.Name, f.Octets)
		case !checksumText.MatchString(f.SHA256):
			return fmt.Errorf("%q has the SHA-256 %.80q, want 64 hexadecimal digits in lower case", f.Name, f.SHA256)
		}
		names = append(names, f.Name)
	}
	return nil
}
