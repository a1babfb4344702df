package site

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The file bodies holds each distinct body once. It begins with packHead octets: packMagic,
// padded with zeros. For each body follow its SHA-256, its length as 8 octets in little
// endian, its content, and zeros up to the next multiple of packAlign octets. The file can
// be read without any other.
const (
	packMagic = "wiretime bodies 2\n"
	packHead  = 24
	packEntry = 32 + 8
	packAlign = 8
)

// span is where a body lies in the file bodies.
type span struct {
	hash         string // as in [Resource.Body]
	offset, size int64  // octets
}

// writePack writes the bodies of these hashes in order and returns their positions and the
// file's size.
func writePack(w io.Writer, hashes []string, body func(hash string) ([]byte, error)) (spans []span, size int64, err error) {
	head := make([]byte, packHead)
	copy(head, packMagic)
	if _, err := w.Write(head); err != nil {
		return nil, 0, err
	}
	size = packHead
	for _, hash := range hashes {
		content, err := body(hash)
		if err != nil {
			return nil, 0, err
		}
		entry, err := hex.DecodeString(hash)
		if err != nil || len(entry) != 32 || Hash(content) != hash {
			return nil, 0, fmt.Errorf("the body %s does not match its SHA-256", hash)
		}
		entry = binary.LittleEndian.AppendUint64(entry, uint64(len(content)))
		padding := make([]byte, -len(content)&(packAlign-1))
		for _, part := range [][]byte{entry, content, padding} {
			if _, err := w.Write(part); err != nil {
				return nil, 0, err
			}
		}
		spans = append(spans, span{hash, size + packEntry, int64(len(content))})
		size += packEntry + int64(len(content)+len(padding))
	}
	return spans, size, nil
}

// scanPack finds the bodies in the file bodies by the entry in front of each.
func scanPack(data []byte) ([]span, error) {
	if !bytes.HasPrefix(data, []byte(packMagic)) || len(data) < packHead {
		return nil, errors.New("not a file of bodies")
	}
	var spans []span
	for at := packHead; at < len(data); {
		rest := data[at:]
		if len(rest) < packEntry {
			return nil, fmt.Errorf("it ends within the entry of a body, at octet %d", at)
		}
		hash, size := hex.EncodeToString(rest[:32]), binary.LittleEndian.Uint64(rest[32:])
		if size > uint64(len(rest)-packEntry) {
			return nil, fmt.Errorf("it ends within the body %s, which has %d octets from octet %d on", hash, size, at+packEntry)
		}
		spans = append(spans, span{hash, int64(at + packEntry), int64(size)})
		// The padding after the last body may be missing.
		at += packEntry + (int(size)+packAlign-1)/packAlign*packAlign
	}
	return spans, nil
}

// mapPack maps the file bodies into memory, read-only.
func mapPack(root *os.Root) ([]byte, error) {
	f, size, err := openFile(root, packFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size == 0 { // an empty file cannot be mapped
		return nil, errors.New("it is empty")
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map it into memory: %w", err)
	}
	return data, nil
}

// place assigns the site its bodies in the mapped file by their spans, which must all lie
// within it.
func (s *Site) place(pack []byte, spans []span) error {
	s.bodies = make(map[string][]byte, len(spans))
	for _, b := range spans {
		if b.offset < packHead || b.size < 0 || b.offset > int64(len(pack)) || b.size > int64(len(pack))-b.offset {
			return fmt.Errorf("the span of the body %s is outside the file", b.hash)
		}
		end := b.offset + b.size
		s.bodies[b.hash] = pack[b.offset:end:end]
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		body, err := s.Body(r)
		if err != nil {
			return fmt.Errorf("%w: add the site again", err)
		}
		if int64(len(body)) != r.Size {
			return fmt.Errorf("the body of %s: %d octets, but site.json says %d: add the site again", r.URL, len(body), r.Size)
		}
	}
	return nil
}
