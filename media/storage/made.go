package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// The sizes of a video's segments in octets.
//
// The paper gives 4 to 5 MB for a piece of about a second (Nam et al., 2021, section 4.2)
// and does not say how it differs between resolutions. We chose sizes with a mean of 4.5 MB
// in the proportion of the bitrates that YouTube recommends for uploads (5, 8 and 16
// Mbit/s).
const (
	HDSize  = 2_300_000
	FHDSize = 3_700_000
	QHDSize = 7_500_000
)

// FileSize is the size in octets of the file whose transmission the paper measures.
const FileSize = 1_000_000_000

// Item describes an item of a generated storage.
type Item struct {
	Name     string
	Segments uint32
	// Sizes gives the size of every segment in each resolution there is, in octets.
	Sizes map[Resolution]int64
}

// Video returns an item with the given number of segments in the paper's three resolutions.
func Video(name string, segments uint32) Item {
	return Item{Name: name, Segments: segments, Sizes: map[Resolution]int64{HD: HDSize, FHD: FHDSize, QHD: QHDSize}}
}

// File returns an item of one piece, a file of the given size in octets.
func File(name string, size int64) Item {
	return Item{Name: name, Segments: 1, Sizes: map[Resolution]int64{Plain: size}}
}

// Made is a storage whose content is generated from a seed: equal seeds, names and sizes
// give equal octets.
//
// Content is a sequence of blocks. Each block is the same random block, rotated by a number
// of octets that depends on the piece and the block's position, so generating content costs
// one copy, and checking it one comparison. Two blocks are equal only by chance, one time
// in 65,536.
type Made struct {
	items  map[string]Item
	named  bool // it also has what ParseMedia makes of an item's name
	seed   uint64
	random []byte // the block, twice, so that no turn of it has a seam
}

const blockSize = 1 << 16

// Make makes a storage of the given items.
func Make(seed uint64, items ...Item) (*Made, error) {
	m := &Made{items: map[string]Item{}, seed: seed, random: make([]byte, 2*blockSize)}
	for _, item := range items {
		if err := m.add(item); err != nil {
			return nil, fmt.Errorf("make a storage: %w", err)
		}
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(m.random[:blockSize]) // never fails
	copy(m.random[blockSize:], m.random)
	return m, nil
}

// MakeAll makes a storage of everything that ParseMedia accepts, by those names.
func MakeAll(seed uint64) *Made {
	m, _ := Make(seed) // which fails because of items only
	m.named = true
	return m
}

func (m *Made) add(item Item) error {
	if item.Name == "" {
		return errors.New("an item has no name")
	}
	if _, twice := m.items[item.Name]; twice {
		return fmt.Errorf("there are two items called %q", item.Name)
	}
	for r, size := range item.Sizes {
		if size < 0 {
			return fmt.Errorf("item %q: a size of %d octets in %v", item.Name, size, r)
		}
	}
	m.items[item.Name] = item
	return nil
}

// find returns the item with a name, or an item without segments.
func (m *Made) find(name string) Item {
	item, has := m.items[name]
	if !has && m.named {
		item, _ = ParseMedia(name)
	}
	return item
}

// Items returns the items that the storage was made of, by name.
func (m *Made) Items() []Item {
	var all []Item
	for _, item := range m.items {
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Open opens a piece: see Storage.
func (m *Made) Open(id ID) (Piece, error) {
	item := m.find(id.Item)
	size, has := item.Sizes[id.Resolution]
	if !has {
		return Piece{}, notFound(id)
	}
	if id.Segment >= item.Segments {
		return Piece{Segments: item.Segments}, pastEnd(id, item.Segments)
	}
	return Piece{ReaderAt: content{m.random, m.key(id), size}, Size: size, Segments: item.Segments}, nil
}

// Check compares received octets with piece id from an offset on. The error names the first
// octet that differs.
func (m *Made) Check(id ID, offset int64, octets []byte) error {
	p, err := m.Open(id)
	if err != nil {
		return fmt.Errorf("check what was received: %w", err)
	}
	if end := offset + int64(len(octets)); offset < 0 || end > p.Size {
		return fmt.Errorf("check %v: received octets %d to %d of %d", id, offset, end, p.Size)
	}
	c := content{m.random, m.key(id), p.Size}
	for len(octets) > 0 {
		want := c.run(offset)
		want = want[:min(len(want), len(octets))]
		if got := octets[:len(want)]; !bytes.Equal(got, want) {
			at := 0
			for got[at] == want[at] {
				at++
			}
			return fmt.Errorf("check %v: octet %d is %#02x, not %#02x", id, offset+int64(at), got[at], want[at])
		}
		octets, offset = octets[len(want):], offset+int64(len(want))
	}
	return nil
}

// key returns a number that distinguishes pieces.
func (m *Made) key(id ID) uint64 {
	key := m.seed
	for _, b := range []byte(id.Item) {
		key = mix(key + uint64(b))
	}
	return mix(key + uint64(id.Resolution)<<32 + uint64(id.Segment))
}

// content is that of one piece.
type content struct {
	random []byte
	key    uint64
	size   int64
}

// run returns the content from an offset before the end on, up to the end of the block in
// memory.
func (c content) run(offset int64) []byte {
	block, in := offset/blockSize, offset%blockSize
	turn := int64(mix(c.key+uint64(block)) % blockSize)
	return c.random[turn:][in:min(blockSize, in+c.size-offset)]
}

func (c content) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, fmt.Errorf("read at offset %d", offset)
	}
	n := 0
	for n < len(p) && offset < c.size {
		copied := copy(p[n:], c.run(offset))
		n, offset = n+copied, offset+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// mix spreads a number's bits over all 64 (SplitMix64: Steele, Lea and Flood,
// 2014, "Fast Splittable Pseudorandom Number Generators").
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
