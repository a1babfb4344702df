package store

import (
	"fmt"
	"os"

	"wiretime/atomicfile"
)

// StageDir makes an empty folder inside the store for the artefacts of one load and returns
// its absolute path. Commit moves it into place. A folder that was staged earlier under the
// same ID is discarded.
func (s *Store) StageDir(loadID string) (string, error) {
	if s.lock == nil {
		return "", fmt.Errorf("stage load %s: %w", loadID, ErrReadOnly)
	}
	if !loadFolder.MatchString(loadID + stagedSuffix) {
		return "", fmt.Errorf("stage load %q: invalid load id: want one from LoadRecord.ID", loadID)
	}
	dir := s.path(loadsName, loadID+stagedSuffix)
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("stage load %s: %w", loadID, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("stage load %s: %w", loadID, explain(err))
	}
	return dir, nil
}

// publish makes the staged folder durable, its files compressed if that is wanted, and moves it to its
// real name. It reports false if nothing was staged. After an error no folder is left.
func (s *Store) publish(loadID string, compress bool) (published bool, err error) {
	staged, final := s.path(loadsName, loadID+stagedSuffix), s.path(loadsName, loadID)
	if _, err := os.Lstat(staged); os.IsNotExist(err) {
		return false, nil
	}
	if compress {
		err = s.compressFiles(staged)
	}
	if err == nil {
		err = atomicfile.SyncTree(staged)
	}
	if err == nil {
		err = os.Rename(staged, final)
	}
	if err != nil {
		_ = os.RemoveAll(staged)
		return false, err
	}
	if err := atomicfile.SyncFolder(s.path(loadsName)); err != nil {
		_ = os.RemoveAll(final)
		return false, err
	}
	return true, nil
}
