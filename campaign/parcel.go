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

// longestAttempt is how many octets the description of an attempt may have.
const longestAttempt = 4 << 20

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

// attempts reads the description of the attempts, which comes first. It refuses more than most, one that is longer than any
// attempt is, and one that lists more than any attempt does: JSON that unfolds in memory.
func (p *parcel) attempts(most int) (all []attempt, err error) {
	wrong := func(format string, args ...any) ([]attempt, error) {
		return nil, fmt.Errorf("%w: the parcel's %s: %w", ErrWrong, attemptsFile, fmt.Errorf(format, args...))
	}
	head, err := p.archive.Next()
	if err != nil {
		return wrong("%w", err)
	}
	if head.Name != attemptsFile || head.Typeflag != tar.TypeReg || head.Size > int64(most+1)*longestAttempt {
		return wrong("the parcel begins with %.40q of %d octets instead", head.Name, head.Size)
	}
	limited := &io.LimitedReader{R: p.archive, N: longestAttempt}
	decoder := json.NewDecoder(limited)
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return wrong("it is no list (%v)", err)
	}
	for decoder.More() {
		if len(all) == most {
			return wrong("there are more than the %d attempts that the batch can need", most)
		}
		var a attempt
		if err := decoder.Decode(&a); err != nil {
			return wrong("%w", err)
		}
		if len(a.Files) > mostFiles || max(len(a.Values), len(a.Violations), len(a.Pages)) > mostEntries {
			return wrong("load %d has %d files, %d values, %d violations and %d pages", a.Index, len(a.Files), len(a.Values), len(a.Violations), len(a.Pages))
		}
		all = append(all, a)
		limited.N = longestAttempt
	}
	if _, err := decoder.Token(); err != nil {
		return wrong("%w", err)
	}
	return all, nil
}

// A parcel may unfold to so many times its octets, and to so many in any case. Captures compress far less.
const (
	mostRatio  = 256
	mostAnyhow = 1 << 30
)

// checkOctets refuses attempts whose artefacts have more octets than a parcel of so many holds.
func checkOctets(attempts []attempt, parcel int64) error {
	left := parcel*mostRatio + mostAnyhow
	for _, a := range attempts {
		for _, f := range a.Files {
			if f.Octets < 0 || f.Octets > min(left, mostOctets) {
				return fmt.Errorf("%w: artefact %.80q of load %d has %d octets, in a parcel of %d", ErrWrong, f.Name, a.Index, f.Octets, parcel)
			}
			left -= f.Octets
		}
	}
	return nil
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
	if !isDigest(f.SHA256) {
		return wrong("%.80q is no SHA-256", f.SHA256)
	}
	if !plainName(f.Name) {
		return wrong("it has no plain name")
	}
	head, err := p.archive.Next()
	if err != nil {
		return wrong("%v", err)
	}
	if head.Name != id+"/"+f.Name || head.Typeflag != tar.TypeReg || head.Size != f.Octets {
		return wrong("the parcel has %.80q of %d octets in its place, want %d", head.Name, head.Size, f.Octets)
	}
	out, err := os.OpenFile(filepath.Join(dir, f.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return wrong("the load names it twice")
	}
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
