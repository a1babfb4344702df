package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	manifestFile = "site.json"
	bodiesFolder = "bodies"
)

// Open reads the archive in dir with all its bodies, and checks each body's
// size and SHA-256. Nothing outside dir is read, whatever site.json or a link
// inside dir says.
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
	s, err := openManifest(root)
	if err != nil {
		return nil, err
	}
	s.bodies = map[string][]byte{}
	for i := range s.Resources {
		r := &s.Resources[i]
		body, ok := s.bodies[r.Body]
		if !ok {
			if body, err = readBody(root, r); err != nil {
				return nil, fmt.Errorf("the body of %s: %w: add the site again", r.URL, err)
			}
			s.bodies[r.Body] = body
		}
		if int64(len(body)) != r.Size {
			return nil, fmt.Errorf("the body of %s: %d octets, site.json says %d: add the site again", r.URL, len(body), r.Size)
		}
	}
	return s, nil
}

// openManifest reads site.json alone; the site it returns has no bodies.
func openManifest(root *os.Root) (*Site, error) {
	data, err := root.ReadFile(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: not a site archive; a plain folder is added with wiretime site add", err)
	}
	if err != nil {
		return nil, err
	}
	s, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return s, nil
}

func readBody(root *os.Root, r *Resource) ([]byte, error) {
	f, err := root.Open(bodiesFolder + "/" + r.Body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// One octet more than expected is enough to tell that there are too many.
	body, err := io.ReadAll(io.LimitReader(f, r.Size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != r.Size {
		return nil, fmt.Errorf("the file has not the %d octets that site.json says", r.Size)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != r.Body {
		return nil, errors.New("the file is not what it was: its SHA-256 differs from its name")
	}
	return body, nil
}

// Save writes the site as an archive to dir, which must not exist yet: whole,
// or not at all.
func (s *Site) Save(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the site %s: %w", s.Name, err)
		}
	}()
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s is already there: remove it or choose another name", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, ".unfinished-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // renamed away if all went well
	if err := s.write(temp); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(parent)
}

func (s *Site) write(dir string) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, manifestFile), data); err != nil {
		return err
	}
	bodies := filepath.Join(dir, bodiesFolder)
	if err := os.Mkdir(bodies, 0o755); err != nil {
		return err
	}
	written := map[string]bool{}
	for i := range s.Resources {
		r := &s.Resources[i]
		if written[r.Body] {
			continue
		}
		written[r.Body] = true
		body, err := s.Body(r)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(bodies, r.Body), body); err != nil {
			return err
		}
	}
	if err := syncDir(bodies); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
