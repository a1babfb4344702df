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

// publish makes the staged folder of a load durable and moves it into place, as settle and place do.
func (s *Store) publish(loadID string, compress bool) (published bool, err error) {
	if published, err = s.settle(loadID, compress); err != nil || !published {
		return false, err
	}
	if err := s.place([]string{loadID}); err != nil {
		return false, err
	}
	return true, nil
}

// settle makes the staged folder of a load durable, its files compressed if that is wanted. It reports false if nothing was
// staged. After an error no folder is left.
func (s *Store) settle(loadID string, compress bool) (staged bool, err error) {
	dir := s.path(loadsName, loadID+stagedSuffix)
	if _, err := os.Lstat(dir); os.IsNotExist(err) {
		return false, nil
	}
	if compress {
		err = s.compressFiles(dir)
	}
	if err == nil {
		err = atomicfile.SyncTree(dir)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return false, err
	}
	return true, nil
}

// place moves settled folders to their real names, and makes all the new names durable at once. After an error none of the folders
// is left.
func (s *Store) place(loadIDs []string) (err error) {
	placed := 0
	defer func() {
		if err != nil {
			for _, id := range loadIDs[:placed] {
				_ = os.RemoveAll(s.path(loadsName, id))
			}
			for _, id := range loadIDs[placed:] {
				_ = os.RemoveAll(s.path(loadsName, id+stagedSuffix))
			}
		}
	}()
	for _, id := range loadIDs {
		if err := os.Rename(s.path(loadsName, id+stagedSuffix), s.path(loadsName, id)); err != nil {
			return err
		}
		placed++
	}
	return atomicfile.SyncFolder(s.path(loadsName))
}
