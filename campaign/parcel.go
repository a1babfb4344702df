package campaign

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"wiretime/artefact"
	"wiretime/store"
)

// A parcel holds what the loads of a batch left: a tar file, compressed with Zstandard. Its first entry describes the
// attempts; the others are their artefacts, each in a folder that has the load's ID.
const attemptsFile = "attempts.json"

// mostOctets is how many octets an artefact may have. Captures of large downloads are the largest.
const mostOctets = 16 << 30

// mostParcel is how many octets a parcel may have.
const mostParcel = 64 << 30

// longestAttempts is how many octets the description of a batch's attempts may have.
const longestAttempts = 256 << 20

// pack writes a parcel with attempts and, unless it is bare, the artefacts in dir.
func pack(to io.Writer, attempts []attempt, ids []string, dir string, bare bool) error {
	compressed, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	text, err := json.Marshal(attempts)
	if err == nil {
		err = packEntry(archive, attemptsFile, 0o644, int64(len(text)), bytes.NewReader(text))
	}
	for i, a := range attempts {
		for _, f := range a.Files {
			if err == nil && !bare {
				err = packFile(archive, ids[i]+"/"+f.Name, filepath.Join(dir, ids[i], filepath.FromSlash(f.Name)))
			}
		}
	}
	if err = errors.Join(err, archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("pack what a batch has left: %w", err)
	}
	return nil
}

func packFile(archive *tar.Writer, name, file string) error {
	in, err := artefact.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return packEntry(archive, name, info.Mode().Perm(), info.Size(), in)
}

func packEntry(archive *tar.Writer, name string, mode fs.FileMode, octets int64, from io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: octets, Mode: int64(mode), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.Copy(archive, from)
	return err
}

// parcel reads a parcel, which is foreign: a worker may send anything.
type parcel struct {
	decompressor *zstd.Decoder
	archive      *tar.Reader
}

func openParcel(from io.Reader) (*parcel, error) {
	decompressor, err := zstd.NewReader(from, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &parcel{decompressor, tar.NewReader(decompressor)}, nil
}

func (p *parcel) close() { p.decompressor.Close() }

// attempts reads the description of the attempts, which comes first.
func (p *parcel) attempts() ([]attempt, error) {
	head, err := p.archive.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: the parcel: %w", ErrWrong, err)
	}
	if head.Name != attemptsFile || head.Typeflag != tar.TypeReg || head.Size > longestAttempts {
		return nil, fmt.Errorf("%w: the parcel begins with %.40q of %d octets, not with %s", ErrWrong, head.Name, head.Size, attemptsFile)
	}
	var all []attempt
	if err := json.NewDecoder(p.archive).Decode(&all); err != nil {
		return nil, fmt.Errorf("%w: the parcel's %s: %w", ErrWrong, attemptsFile, err)
	}
	return all, nil
}

// unpack puts the artefacts into the folders that stage makes for each load. They must be exactly the files that the attempts
// name, in their order.
func (p *parcel) unpack(attempts []attempt, ids []string, stage func(load string) (string, error)) error {
	for i, a := range attempts {
		if len(a.Files) == 0 {
			continue
		}
		dir, err := stage(ids[i])
		if err != nil {
			return err
		}
		for _, f := range a.Files {
			if err := p.unpackFile(dir, ids[i], f); err != nil {
				return err
			}
		}
	}
	if head, err := p.archive.Next(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("there is a file %.80q that no load names", head.Name)
		}
		return fmt.Errorf("%w: the parcel: %w", ErrWrong, err)
	}
	return nil
}

func (p *parcel) unpackFile(dir, id string, f store.File) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: artefact %.80q of load %s: %s", ErrWrong, f.Name, id, fmt.Sprintf(format, args...))
	}
	if !plainName(f.Name) || f.Octets < 0 || f.Octets > mostOctets {
		return wrong("it has no plain name, or %d octets, of which at most %d are taken", f.Octets, int64(mostOctets))
	}
	head, err := p.archive.Next()
	if err != nil {
		return wrong("%v", err)
	}
	if head.Name != id+"/"+f.Name || head.Typeflag != tar.TypeReg || head.Size != f.Octets {
		return wrong("the parcel has %.80q of %d octets in its place, want %d", head.Name, head.Size, f.Octets)
	}
	out, err := os.OpenFile(filepath.Join(dir, f.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("unpack load %s: %w", id, err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), p.archive)
	if closed := out.Close(); closed != nil {
		return fmt.Errorf("unpack load %s: %w", id, closed)
	}
	if _, is := errors.AsType[*fs.PathError](err); is {
		return fmt.Errorf("unpack load %s: %w", id, err)
	}
	if err != nil {
		return wrong("%v", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return wrong("it has SHA-256 %s, want %.64q", got, f.SHA256)
	}
	return nil
}

// plainName reports whether an artefact's name names a file of the load's own folder, as loads on the virtual clock leave them.
func plainName(name string) bool {
	return name != "" && path.Base(name) == name && name != "." && name != ".." && len(name) < 200 &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) && !strings.HasSuffix(name, artefact.Suffix)
}
