package site

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
	"wiretime/scratch"
)

// The files of an archive. In foldedFormat packFile is a folder.
const (
	manifestFile = "site.json"
	packFile     = "bodies"
	indexFile    = "index"
)

// Open opens the archive in dir. Its bodies are mapped into memory and not read: [Site.Verify]
// does that. Nothing outside dir is read, whatever site.json or a link inside dir says. An
// archive of format 1 is read whole, and checked.
func Open(dir string) (*Site, error) {
	s, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the site in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string) (*Site, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	manifest, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	s, err := openIndexed(root, manifest)
	if err == nil {
		return s, nil
	}
	unindexed := err
	s, format, err := parseManifest(manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if format == foldedFormat {
		return s, s.readFolded(root)
	}
	s.slow = unindexed
	return s, s.openPack(root)
}

// readManifest reads site.json from root.
func readManifest(root *os.Root) ([]byte, error) {
	data, err := readFile(root, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: not a site archive; a plain folder is added with wiretime site add", err)
	}
	return data, err
}

// openIndexed opens an archive by its index, without parsing site.json.
func openIndexed(root *os.Root, manifest []byte) (*Site, error) {
	x, err := describe(root, manifest)
	if err != nil {
		return nil, err
	}
	pack, err := mapPack(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packFile, err)
	}
	if int64(len(pack)) != x.packSize {
		err = fmt.Errorf("%s has %d octets, but the index says %d", packFile, len(pack), x.packSize)
	} else {
		err = x.site.place(pack, x.spans)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(pack))
	}
	x.site.pack = pack
	return x.site, nil
}

// describe reads and checks the index. The site that it returns has no bodies.
func describe(root *os.Root, manifest []byte) (index, error) {
	data, err := readFile(root, indexFile)
	if err != nil {
		return index{}, err
	}
	x, err := decodeIndex(manifest, data)
	if err != nil {
		return index{}, err
	}
	return x, x.site.build()
}

// openPack finds the bodies without an index.
func (s *Site) openPack(root *os.Root) error {
	pack, err := mapPack(root)
	if err != nil {
		return fmt.Errorf("%s: %w: add the site again", packFile, err)
	}
	spans, err := scanPack(pack)
	if err != nil {
		err = fmt.Errorf("%s is damaged: %w: add the site again", packFile, err)
	} else {
		err = s.place(pack, spans)
	}
	if err != nil {
		return errors.Join(err, unix.Munmap(pack))
	}
	s.pack = pack
	return nil
}

// readFolded reads and checks the bodies of an archive of format 1.
func (s *Site) readFolded(root *os.Root) error {
	s.bodies = map[string][]byte{}
	for i := range s.Resources {
		r := &s.Resources[i]
		body, ok := s.bodies[r.Body]
		if !ok {
			var err error
			if body, err = readBody(root, r); err != nil {
				return fmt.Errorf("the body of %s: %w: add the site again", r.URL, err)
			}
			s.bodies[r.Body] = body
		}
		if int64(len(body)) != r.Size {
			return fmt.Errorf("the body of %s: %d octets, but site.json says %d: add the site again", r.URL, len(body), r.Size)
		}
	}
	return nil
}

func readBody(root *os.Root, r *Resource) ([]byte, error) {
	f, size, err := openFile(root, packFile+"/"+r.Body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size != r.Size {
		return nil, fmt.Errorf("the file does not have the %d octets that site.json gives", r.Size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(f, body); err != nil {
		return nil, err
	}
	if Hash(body) != r.Body {
		return nil, errors.New("the file's SHA-256 does not match its name")
	}
	return body, nil
}

// openFile opens a regular file for reading and returns its size in octets. Anything other
// than a regular file is an error.
func openFile(root *os.Root, name string) (*os.File, int64, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // opening a pipe may block forever
		return nil, 0, fmt.Errorf("%s is not a regular file (%s)", name, info.Mode().Type())
	}
	f, err := root.Open(name)
	return f, info.Size(), err
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, size, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// Verify reads all bodies and compares them with their SHA-256. The error names the first
// resource whose body has changed or cannot be read. Afterwards all bodies are in memory,
// so no disk takes part in a measurement.
func (s *Site) Verify(ctx context.Context) error {
	checked := make(map[string]bool, len(s.bodies))
	for i := range s.Resources {
		r := &s.Resources[i]
		if checked[r.Body] {
			continue
		}
		checked[r.Body] = true
		err := context.Cause(ctx)
		if err == nil {
			err = s.verify(r)
		}
		if err != nil {
			return fmt.Errorf("check the site %s: the body of %s: %w", s.Name, r.URL, err)
		}
	}
	return nil
}

func (s *Site) verify(r *Resource) (err error) {
	body, err := s.Body(r)
	if err != nil {
		return err
	}
	// The kernel raises a signal if a mapped page cannot be read.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("cannot be read (%v): add the site again", fault)
		}
	}()
	if Hash(body) != r.Body {
		return errors.New("does not match its SHA-256: add the site again")
	}
	return nil
}

// Close unmaps the site's bodies. After Close neither the site nor any copy made by
// [Site.Over] or [Site.Hint] may be used. Close does nothing if the site was not opened
// from an archive.
func (s *Site) Close() error {
	pack := s.pack
	s.pack, s.bodies = nil, nil
	if pack == nil {
		return nil
	}
	if err := unix.Munmap(pack); err != nil {
		return fmt.Errorf("close the site %s: %w", s.Name, err)
	}
	return nil
}

// Save writes the site as an archive to dir, whole or not at all. dir must not exist yet.
func (s *Site) Save(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the site %s: %w", s.Name, err)
		}
	}()
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s already exists: remove it or choose another name", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp, err := s.saveBeside(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }() // already renamed if Save succeeded
	return atomicfile.MoveFolder(temp.Path, dir)
}

// saveBeside writes the archive to a new folder next to dir.
func (s *Site) saveBeside(dir string) (temp *scratch.Folder, err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	if temp, err = scratch.Make(parent, ".unfinished-"); err != nil {
		return nil, err
	}
	if err = s.write(temp.Path); err == nil {
		err = os.Chmod(temp.Path, 0o755)
	}
	if err != nil {
		return nil, errors.Join(err, temp.Remove())
	}
	return temp, nil
}

func (s *Site) write(dir string) error {
	manifest, err := s.encode()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, manifestFile), manifest); err != nil {
		return err
	}
	var hashes []string
	first := map[string]*Resource{}
	for i := range s.Resources {
		r := &s.Resources[i]
		if first[r.Body] == nil {
			first[r.Body] = r
			hashes = append(hashes, r.Body)
		}
	}
	x := index{site: s}
	err = create(filepath.Join(dir, packFile), func(w io.Writer) (err error) {
		x.spans, x.packSize, err = writePack(w, hashes, func(hash string) ([]byte, error) { return s.Body(first[hash]) })
		return err
	})
	if err != nil {
		return err
	}
	data, err := encodeIndex(manifest, x)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, indexFile), data)
}

func writeFile(name string, data []byte) error {
	return create(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}
