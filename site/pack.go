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

// The file bodies holds each distinct body once: a head of packHead octets, packMagic filled
// up with zeros, and then for each body its SHA-256, its length as 8 octets in little
// endian, its content, and zeros up to the next multiple of packAlign octets. So what is in
// it can be told without anything beside it.
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

// writePack writes the bodies of these hashes, in their order, and says where they are and
// how long the whole is.
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
			return nil, 0, fmt.Errorf("the body %s is not what its name says", hash)
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

// scanPack finds the bodies in the file bodies by what is said before each.
func scanPack(data []byte) ([]span, error) {
	if !bytes.HasPrefix(data, []byte(packMagic)) || len(data) < packHead {
		return nil, errors.New("it does not begin as such a file does")
	}
	var spans []span
	for at := packHead; at < len(data); {
		rest := data[at:]
		if len(rest) < packEntry {
			return nil, fmt.Errorf("it ends within what is said of a body, at octet %d", at)
		}
		hash, size := hex.EncodeToString(rest[:32]), binary.LittleEndian.Uint64(rest[32:])
		if size > uint64(len(rest)-packEntry) {
			return nil, fmt.Errorf("it ends within the body %s, which has %d octets from octet %d on", hash, size, at+packEntry)
		}
		spans = append(spans, span{hash, int64(at + packEntry), int64(size)})
		// What fills up the last body may be missing.
		at += packEntry + (int(size)+packAlign-1)/packAlign*packAlign
	}
	return spans, nil
}

// mapPack maps the file bodies into memory, to be read only.
func mapPack(root *os.Root) ([]byte, error) {
	f, size, err := openFile(root, packFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size == 0 { // nothing can be mapped
		return nil, errors.New("it is empty")
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map it into memory: %w", err)
	}
	return data, nil
}

// place gives the site the bodies that are in the mapped file at these spans. They must all
// lie in it.
func (s *Site) place(pack []byte, spans []span) error {
	s.bodies = make(map[string][]byte, len(spans))
	for _, b := range spans {
		if b.offset < packHead || b.size < 0 || b.offset > int64(len(pack)) || b.size > int64(len(pack))-b.offset {
			return fmt.Errorf("the body %s is said to be outside the file", b.hash)
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
			return fmt.Errorf("the body of %s: %d octets, site.json says %d: add the site again", r.URL, len(body), r.Size)
		}
	}
	return nil
}
