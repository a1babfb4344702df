package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Library is the set of sites a study can refer to: the built-in world-flags
// and those added to a folder.
//
// A reference is the name of a site, or world-flags@K for the built-in page
// with its images spread over K hosts.
type Library struct {
	// Dir holds one archive per added site, named as the site.
	Dir string
	// Cache holds what built-in sites are made from.
	Cache string
}

// DefaultLibrary is the user's own: $XDG_DATA_HOME/wiretime/sites and
// $XDG_CACHE_HOME/wiretime, with the XDG defaults ~/.local/share and ~/.cache.
// It fails if neither variables nor home are set.
func DefaultLibrary() (Library, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Library{}, fmt.Errorf("find the folder for fetched files: %w", err)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the XDG specification has relative ones ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return Library{}, fmt.Errorf("find the folder for sites: %w", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return Library{Dir: filepath.Join(data, "wiretime", "sites"), Cache: filepath.Join(cache, "wiretime")}, nil
}

// Add makes a site from a folder (see [AddFolder]) and keeps it in the
// library. A name that is taken is an error.
func (l Library) Add(src string, opt FolderOptions) (*Site, error) {
	s, err := readFolder(src, opt)
	if err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	if s.Name == worldFlags {
		return nil, fmt.Errorf("add the folder %s: the name %s is built in: choose another", src, worldFlags)
	}
	if err := s.Save(filepath.Join(l.Dir, s.Name)); err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	return s, nil
}

// List returns the names of all sites, the built-in one first, then the added
// ones in alphabetical order.
func (l Library) List() ([]string, error) {
	names := []string{worldFlags}
	entries, err := os.ReadDir(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return names, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sites: %w", err)
	}
	for _, e := range entries {
		if checkName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Open opens or makes the site that ref names, with all its bodies.
func (l Library) Open(ctx context.Context, ref string) (*Site, error) {
	name, shards, err := l.parse(ref)
	if err != nil {
		return nil, err
	}
	if name == worldFlags {
		return WorldFlags(ctx, l.Cache, shards)
	}
	return Open(filepath.Join(l.Dir, name))
}

// KnownRef says whether [Library.Open] would find ref, without fetching or
// reading bodies. The error of an unknown name gives the nearest valid one.
func (l Library) KnownRef(ref string) error {
	name, _, err := l.parse(ref)
	if err != nil || name == worldFlags {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(l.Dir, name))
	if err != nil {
		return fmt.Errorf("open the site %q: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	if _, err := openManifest(root); err != nil {
		return fmt.Errorf("open the site %q: %w", name, err)
	}
	return nil
}

// parse splits a reference and makes sure that a site of that name is there.
func (l Library) parse(ref string) (name string, shards int, err error) {
	names, err := l.List()
	if err != nil {
		return "", 0, err
	}
	name, suffix, sharded := strings.Cut(ref, "@")
	best, distance := "", len(name)+64
	for _, known := range names {
		if d := editDistance(name, known); d < distance {
			best, distance = known, d
		}
	}
	if distance > 0 {
		return "", 0, fmt.Errorf("unknown site %q: the nearest name is %q; wiretime site list shows all", ref, best)
	}
	if !sharded {
		return name, 1, nil
	}
	if name != worldFlags {
		return "", 0, fmt.Errorf("site %q: only %s can be sharded: write %q", ref, worldFlags, name)
	}
	shards, err = strconv.Atoi(suffix)
	if err != nil || shards < 1 || shards > maxShards {
		return "", 0, fmt.Errorf("site %q: the number of shards after @ must be 1 to %d, as in %s@4", ref, maxShards, worldFlags)
	}
	return name, shards, nil
}

// editDistance is Levenshtein's: the least number of letters to insert, remove
// or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
