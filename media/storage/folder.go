package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is a storage of real files. A file in it is an item in resolution Plain. A folder
// in it is a video, with subfolders hd, fhd and qhd, or some of them, whose files are the
// segments. Segments are ordered by name, shorter names first, so that "10.ts" comes after
// "9.ts". Hidden files are ignored.
type Folder struct {
	root   *os.Root
	pieces map[ID][]string // with Segment 0: the files of an item in a resolution
}

// OpenFolder opens the storage in dir. It lists the files at once and opens each on
// request. Links that lead out of dir cannot be opened.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open a storage: %w", err)
	}
	f := &Folder{root: root, pieces: map[ID][]string{}}
	if err := f.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the storage in %s: %w", dir, err), root.Close())
	}
	if len(f.pieces) == 0 {
		return nil, errors.Join(fmt.Errorf("open the storage in %s: neither files nor folders with segments in hd, fhd or qhd", dir), root.Close())
	}
	return f, nil
}

func (f *Folder) scan() error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // hidden, or still being written
			continue
		}
		if e.Type().IsRegular() {
			f.pieces[ID{Item: e.Name()}] = []string{e.Name()}
		}
		if !e.IsDir() {
			continue
		}
		for _, r := range Resolutions() {
			if err := f.scanSegments(ID{Item: e.Name(), Resolution: r}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Folder) scanSegments(id ID) error {
	dir := id.Item + "/" + id.Resolution.String()
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, dir+"/"+e.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	f.pieces[id] = names
	return nil
}

// Items returns the items in each of their resolutions, as segments 0, by name.
func (f *Folder) Items() []ID {
	return slices.SortedFunc(maps.Keys(f.pieces), func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Resolution, b.Resolution))
	})
}

// Open opens a piece: see Storage.
func (f *Folder) Open(id ID) (Piece, error) {
	names, ok := f.pieces[ID{Item: id.Item, Resolution: id.Resolution}]
	if !ok {
		return Piece{}, notFound(id)
	}
	segments := uint32(len(names))
	if id.Segment >= segments {
		return Piece{Segments: segments}, pastEnd(id, segments)
	}
	// A file may have become a pipe since it was listed, and opening one would wait for ever.
	file, err := f.root.OpenFile(names[id.Segment], os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return Piece{Segments: segments}, fmt.Errorf("open %v: %w", id, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return Piece{Segments: segments}, errors.Join(fmt.Errorf("open %v: %w", id, err), file.Close())
	}
	return Piece{ReaderAt: file, Size: info.Size(), Segments: segments, close: file.Close}, nil
}

// Close closes the folder. Pieces that are open stay so.
func (f *Folder) Close() error { return f.root.Close() }
