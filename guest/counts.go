package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wiretime/artefact"
	"wiretime/counts"
)

// These are the kernel's counts before and after a load, as a guest leaves them.
const (
	countsBefore = "counts-before"
	countsAfter  = "counts-after"
)

// largestCounts is how many octets a reading of the kernel's counts may have.
const largestCounts = 4 << 20

// leaveCounts leaves the counts of a load to the host as they are.
func leaveCounts(dir string, before, after []byte) error {
	err := os.WriteFile(filepath.Join(dir, countsBefore), before, 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, countsAfter), after, 0o644)
	}
	if err != nil {
		return fmt.Errorf("leave the counts of a load: %w", err)
	}
	return nil
}

// takeCounts makes an artefact (counts.File) of the counts that a guest left, if it counted.
func takeCounts(dir string) error {
	before, err := takeReading(filepath.Join(dir, countsBefore))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	after, err := takeReading(filepath.Join(dir, countsAfter))
	if err != nil {
		return err
	}
	c, err := counts.Between(before, after)
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, counts.File), c)
}

func takeReading(name string) ([]byte, error) {
	text, err := artefact.Read(name, largestCounts)
	if err != nil {
		return nil, err
	}
	return text, os.Remove(name)
}
