package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
)

// Library is the set of sites a study can refer to: the built-in world-flags,
// world-flags-sprite, objects, magazine, journey, gallery and search, the pages of papers, pages
// made to a specification, and archives added to a folder.
//
// A reference is the name of a site, world-flags@K for that page with its images spread
// over K hosts, or objects@NxSIZE for N objects of a size in B, kB or MB; objects alone
// means objects@40x20kB. mobile-2012@N is the N-th of 77 pages, the middle one without a number, and
// mobile-2012@NxHOSTS that page on another number of hosts. page@NxHxSIZE is a page of N objects on H hosts with SIZE octets
// in total, as in page@52x17x1592.43kB, and otherwise like [DefaultSpec]. search@N and
// search-full@N are N pages in as many tabs. k is 1000. Each of them may be followed by [Changes],
// as in shop+one-host+gzip.
type Library struct {
	// Dir holds one archive per added site, named after the site.
	Dir string
	// Cache holds the files that built-in sites are made from.
	Cache string
}

// DefaultLibrary returns the user's own library: $XDG_DATA_HOME/wiretime/sites and
// $XDG_CACHE_HOME/wiretime, with the XDG defaults ~/.local/share and ~/.cache. It fails if
// neither these variables nor HOME is set.
func DefaultLibrary() (Library, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Library{}, fmt.Errorf("find the folder for fetched files: %w", err)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the XDG specification says to ignore relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return Library{}, fmt.Errorf("find the folder for sites: %w", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return Library{Dir: filepath.Join(data, "wiretime", "sites"), Cache: filepath.Join(cache, "wiretime")}, nil
}

// Add makes a site from a folder (see [AddFolder]) and keeps it in the library. It is an
// error if the name is taken.
func (l Library) Add(src string, opt FolderOptions) (*Site, error) {
	s, err := readFolder(src, opt)
	if err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	if slices.Contains(builtIn(), s.Name) {
		return nil, fmt.Errorf("add the folder %s: the name %s is reserved for a built-in site: choose another", src, s.Name)
	}
	if err := s.Save(filepath.Join(l.Dir, s.Name)); err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	return s, nil
}

// Keep saves a site in the library under its name. It is an error if the name is taken.
func (l Library) Keep(s *Site) error {
	if slices.Contains(builtIn(), s.Name) {
		return fmt.Errorf("keep the site %s: the name is reserved for a built-in site: choose another", s.Name)
	}
	return s.Save(filepath.Join(l.Dir, s.Name))
}

// Replace saves a site in the library in place of the one with the same name. The old
// archive stays until the new one is complete, and a site that was opened from it remains
// usable.
func (l Library) Replace(s *Site) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("replace the site %s: %w", s.Name, err)
		}
	}()
	if slices.Contains(builtIn(), s.Name) {
		return errors.New("the name is reserved for a built-in site: choose another")
	}
	dir := filepath.Join(l.Dir, s.Name)
	temp, err := s.saveBeside(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }() // holds the old archive after a successful exchange
	if err := atomicfile.SyncTree(temp.Path); err != nil {
		return err
	}
	err = unix.Renameat2(unix.AT_FDCWD, temp.Path, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.ENOENT): // no site has this name yet
		err = os.Rename(temp.Path, dir)
	case errors.Is(err, unix.EINVAL): // the file system cannot exchange names
		err = exchange(temp.Path, dir)
	}
	if err != nil {
		return fmt.Errorf("exchange it with %s: %w", dir, err)
	}
	return atomicfile.SyncFolder(l.Dir)
}

// exchange swaps the names of two folders by renaming one after the other.
func exchange(a, b string) error {
	aside := filepath.Join(filepath.Dir(b), ".replaced-"+filepath.Base(b)) // not swept as unfinished
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

// builtIn returns the names of the sites that every library has.
func builtIn() []string {
	names := []string{worldFlags, worldFlagsSprite, objectsName, magazineName, journeyName, galleryName, mobileName, searchName, searchFullName}
	for i := range paperPages {
		names = append(names, paperPages[i].Name)
	}
	for i := range weekPages {
		names = append(names, weekPages[i].Name)
	}
	return names
}

// List returns the names of all sites, the built-in ones first, then the added
// ones in alphabetical order.
func (l Library) List() ([]string, error) {
	names := builtIn()
	entries, err := os.ReadDir(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return names, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sites: %w", err)
	}
	for _, e := range entries {
		if checkName(e.Name()) == nil && !slices.Contains(builtIn(), e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Open opens or makes the site that ref names, with all its bodies.
func (l Library) Open(ctx context.Context, ref string) (*Site, error) {
	of, changes, err := cutChanges(ref)
	if err != nil {
		return nil, err
	}
	s, err := l.open(ctx, of)
	if err != nil {
		return nil, err
	}
	changed, err := s.withChanges(changes)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return changed, nil
}

func (l Library) open(ctx context.Context, ref string) (*Site, error) {
	r, err := l.parse(ref)
	if err != nil {
		return nil, err
	}
	switch r.name {
	case worldFlags:
		return WorldFlags(ctx, l.Cache, r.shards)
	case worldFlagsSprite:
		return WorldFlagsSprite(ctx, l.Cache)
	case objectsName:
		return Objects(r.count, r.size)
	case magazineName:
		return Magazine()
	case journeyName:
		return Journey()
	case galleryName:
		return Gallery()
	case searchName, searchFullName:
		return Search(r.count, r.name == searchFullName)
	}
	if r.spec.Name != "" {
		return Make(r.spec)
	}
	return Open(filepath.Join(l.Dir, r.name))
}

// KnownRef reports whether [Library.Open] would find ref, without fetching or reading
// bodies. The error for an unknown name gives the nearest valid one.
func (l Library) KnownRef(ref string) error {
	ref, _, err := cutChanges(ref)
	if err != nil {
		return err
	}
	r, err := l.parse(ref)
	if err != nil || r.spec.Name != "" || slices.Contains(builtIn(), r.name) {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(l.Dir, r.name))
	if err != nil {
		return fmt.Errorf("open the site %q: %w", r.name, err)
	}
	defer func() { _ = root.Close() }()
	manifest, err := readManifest(root)
	if err != nil {
		return fmt.Errorf("open the site %q: %w", r.name, err)
	}
	if _, err := describe(root, manifest); err == nil {
		return nil
	}
	if _, _, err := parseManifest(manifest); err != nil {
		return fmt.Errorf("open the site %q: %s: %w", r.name, manifestFile, err)
	}
	return nil
}

// Added returns the name of the added site that ref refers to, and its folder; both are empty if ref refers to a built-in
// site, which every machine has.
func (l Library) Added(ref string) (name, folder string, err error) {
	ref, _, err = cutChanges(ref)
	if err != nil {
		return "", "", err
	}
	r, err := l.parse(ref)
	if err != nil || r.spec.Name != "" || slices.Contains(builtIn(), r.name) {
		return "", "", err
	}
	return r.name, filepath.Join(l.Dir, r.name), nil
}

// reference is a site's name and the parameters of a built-in site.
type reference struct {
	name   string
	shards int   // of world-flags
	count  int   // number of objects or pages
	size   int64 // of each object, in octets
	spec   Spec  // of a page made to a specification; otherwise zero
}

// parse splits a reference and makes sure that the site exists.
func (l Library) parse(ref string) (reference, error) {
	names, err := l.List()
	if err != nil {
		return reference{}, err
	}
	name, suffix, more := strings.Cut(ref, "@")
	if name == pageName && more { // without numbers it is an ordinary name
		spec, err := parsePage(ref)
		return reference{name: name, spec: spec}, err
	}
	best, distance := "", len(name)+64
	for _, known := range names {
		if d := editDistance(name, known); d < distance {
			best, distance = known, d
		}
	}
	if distance > 0 {
		return reference{}, fmt.Errorf("unknown site %q: the nearest name is %q; run wiretime site list to see all", ref, best)
	}
	r := reference{name: name, shards: 1, count: 1}
	r.spec, _ = paperPage(name)
	switch name {
	case objectsName:
		r.count, r.size = defaultObjects, defaultObjectSize
	case mobileName:
		r.spec = mobilePage((mobilePages + 1) / 2)
	}
	switch {
	case !more:
		return r, nil
	case name == searchName || name == searchFullName:
		r.count, err = strconv.Atoi(suffix)
		if err != nil || r.count < 1 || r.count > maxSearches {
			return reference{}, fmt.Errorf("site %q: the number of pages after @ must be 1 to %d, as in %s@10", ref, maxSearches, name)
		}
		return r, nil
	case name == mobileName:
		r.spec, err = parseMobile(ref, suffix)
		return r, err
	case name == worldFlags:
		r.shards, err = strconv.Atoi(suffix)
		if err != nil || r.shards < 1 || r.shards > maxShards {
			return reference{}, fmt.Errorf("site %q: the number of shards after @ must be 1 to %d, as in %s@4", ref, maxShards, worldFlags)
		}
		return r, nil
	case name == objectsName:
		r.count, r.size, err = parseObjects(ref)
		return r, err
	}
	return reference{}, fmt.Errorf("site %q: %s takes no numbers: write %q", ref, name, name)
}

// editDistance returns the Levenshtein distance: the least number of letters to insert,
// remove or replace.
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
