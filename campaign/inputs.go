package campaign

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/atomicfile"
)

// putInput puts an object into the bucket of inputs under its SHA-256, unless it is there.
func putInput(ctx context.Context, inputs jetstream.ObjectStore, object []byte) (name string, err error) {
	name = sum(object)
	if _, err := inputs.GetInfo(ctx, name); !errors.Is(err, jetstream.ErrObjectNotFound) {
		return name, err
	}
	_, err = inputs.PutBytes(ctx, name, object)
	return name, err
}

// packFolder returns a folder of the site library as an object. The same folder always makes the same object.
func packFolder(dir string) ([]byte, error) {
	var object writer
	compressed, err := zstd.NewWriter(&object, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return packFile(archive, filepath.ToSlash(name), file)
	})
	if err = errors.Join(err, archive.Close(), compressed.Close()); err != nil {
		return nil, fmt.Errorf("pack folder %s: %w", dir, err)
	}
	return object, nil
}

// writer collects what is written.
type writer []byte

func (w *writer) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

// longestSite is how many octets a site may have.
const longestSite = 16 << 30

// fetchSite puts a site into the library, unless it is there.
func (w *Worker) fetchSite(ctx context.Context, s Site, library string) error {
	if !plainName(s.Name) {
		return fmt.Errorf("the name is no plain one")
	}
	to := filepath.Join(library, s.Name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	object, err := w.inputs.GetBytes(ctx, s.SHA256)
	if err != nil {
		return err
	}
	if got := sum(object); got != s.SHA256 {
		return fmt.Errorf("the object has SHA-256 %s, want %s", got, s.SHA256)
	}
	if err := os.MkdirAll(library, 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(library, ".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := unpackFolder(object, part); err != nil {
		return err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	return atomicfile.MoveFolder(part, to)
}

// unpackFolder unpacks what packFolder has packed into a folder, and writes nothing outside it.
func unpackFolder(object []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	decompressor, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer decompressor.Close()
	if err := decompressor.Reset(bytes.NewReader(object)); err != nil {
		return err
	}
	archive, left := tar.NewReader(decompressor), int64(longestSite)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if left -= head.Size; head.Typeflag != tar.TypeReg || !filepath.IsLocal(head.Name) || left < 0 {
			return fmt.Errorf("it holds %.80q of %d octets, which is no file of a site", head.Name, head.Size)
		}
		if err := unpackTo(root, head.Name, archive); err != nil {
			return err
		}
	}
}

func unpackTo(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
