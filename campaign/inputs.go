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

// putProgram puts a program into the bucket of inputs, compressed, and returns the object's name.
func putProgram(ctx context.Context, inputs jetstream.ObjectStore, file string) (string, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	compressor, err := zstd.NewWriter(nil)
	if err != nil {
		return "", err
	}
	return putInput(ctx, inputs, compressor.EncodeAll(program, nil))
}

// longestProgram is how many octets a program may have.
const longestProgram = 1 << 30

// Inputs are what a worker has of a plan, and can fetch.
type Inputs struct {
	Sites  string // the folder of the plan's sites
	worker *Worker
}

// Program returns the file of the plan's program, which it fetches unless it was fetched before.
func (i Inputs) Program(ctx context.Context, p Program) (string, error) {
	to := filepath.Join(i.worker.Dir, "programs", p.SHA256)
	if file, err := os.ReadFile(to); err == nil && sum(file) == p.SHA256 {
		return to, nil
	}
	program, err := i.worker.program(ctx, p)
	if err != nil {
		return "", fmt.Errorf("fetch the program with SHA-256 %.64q: %w", p.SHA256, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	out, err := atomicfile.Create(to, 0o700)
	if err != nil {
		return "", err
	}
	defer out.Discard()
	if _, err := out.Write(program); err != nil {
		return "", err
	}
	return to, out.Commit()
}

// Kernel returns the folder of the plan's kernel, which it fetches unless it was fetched before.
func (i Inputs) Kernel(ctx context.Context, f Folder) (string, error) {
	kernels := filepath.Join(i.worker.Dir, "kernels", f.Object)
	if err := i.worker.fetchFolder(ctx, f, kernels); err != nil {
		return "", fmt.Errorf("fetch the kernel of the virtual clock: %w", err)
	}
	return filepath.Join(kernels, f.Name), nil
}

func (w *Worker) program(ctx context.Context, p Program) ([]byte, error) {
	object, err := w.inputs.GetBytes(ctx, p.Object)
	if err != nil {
		return nil, err
	}
	decompressor, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(longestProgram), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decompressor.Close()
	program, err := decompressor.DecodeAll(object, nil)
	if err != nil {
		return nil, err
	}
	if got := sum(program); got != p.SHA256 {
		return nil, fmt.Errorf("what came has SHA-256 %s", got)
	}
	return program, nil
}

// packFolder returns a folder as an object. The same folder always makes the same object.
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

// longestFolder is how many octets the files of a folder may have.
const longestFolder = 16 << 30

// fetchFolder puts a folder into another one, unless it is there.
func (w *Worker) fetchFolder(ctx context.Context, f Folder, parent string) error {
	if !plainName(f.Name) {
		return fmt.Errorf("the name is no plain one")
	}
	to := filepath.Join(parent, f.Name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	object, err := w.inputs.GetBytes(ctx, f.Object)
	if err != nil {
		return err
	}
	if got := sum(object); got != f.Object {
		return fmt.Errorf("the object has SHA-256 %s, want %s", got, f.Object)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(parent, ".part-")
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
	archive, left := tar.NewReader(decompressor), int64(longestFolder)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if left -= head.Size; head.Typeflag != tar.TypeReg || !filepath.IsLocal(head.Name) || left < 0 {
			return fmt.Errorf("it holds %.80q of %d octets, want only regular files inside the folder, of at most %d octets in total", head.Name, head.Size, int64(longestFolder))
		}
		if err := unpackTo(root, head.Name, 0o644|fs.FileMode(head.Mode)&0o111, archive); err != nil {
			return err
		}
	}
}

func unpackTo(root *os.Root, name string, mode fs.FileMode, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
