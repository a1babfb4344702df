package spdy

import (
	"encoding/binary"
	"hash/adler32"
	"math/bits"
)

// Compression says how header blocks are compressed.
//
// A compressor that shares its state between a secret and text chosen by an
// attacker reveals the secret through the length of its output (CRIME, Rizzo
// and Duong, 2012). A page can make a browser send requests with paths of its
// choosing next to the cookie it wants to learn.
type Compression uint8

const (
	// CompressSafe compresses everything except the values of fields that hold
	// secrets: authorization, cookie, proxy-authorization and set-cookie. Those
	// are written octet by octet, and no reference ever points to them. An
	// attacker learns their length, and nothing else.
	CompressSafe Compression = iota
	// CompressAll compresses everything, as the browsers of 2011 did.
	CompressAll
	// CompressNone compresses nothing, as Chromium did from 2012 on: it
	// protects paths and referrers from CRIME, too.
	CompressNone
)

func secret(name string) bool {
	switch name {
	case "authorization", "cookie", "proxy-authorization", "set-cookie":
		return true
	}
	return false
}

// deflater writes header blocks as one zlib stream (RFC 1950, RFC 1951) that
// starts with the version's dictionary, with a sync flush at the end of each
// block.
//
// The standard library's writer needs 0.6 MB, this one 18 kB: a header block is
// short, so a window of 4 kB finds most repetitions (draft 3 section 2.6.10.1
// recommends 2 kB), and fixed Huffman codes cost less than described ones. The
// output depends only on the input, not on the release of Go.
type deflater struct {
	compression Compression
	begun       bool
	dictionary  string

	window  []byte // what was written, starting at octet base of the stream
	base    int
	head    []int32 // where four octets of this hash were last seen, plus 1
	prev    []int32 // where they were seen before that, plus 1, by position in the window size
	secrets []span  // octets that no reference may point to, in order

	out  []byte
	bits uint64
	n    uint
}

type span struct{ from, to int }

const (
	deflateWindow = 4096
	hashBits      = 10
	minMatch      = 4
	maxMatch      = 258
	maxChain      = 16 // how many earlier positions are tried for a match
)

func newDeflater(v Version, c Compression) *deflater {
	z := &deflater{compression: c, dictionary: dictionary3}
	if v == V2 {
		z.dictionary = dictionary2
	}
	return z
}

// begin writes the stream's header to out.
func (z *deflater) begin() {
	z.begun = true
	z.window = make([]byte, 0, 2*deflateWindow)
	z.head = make([]int32, 1<<hashBits)
	z.prev = make([]int32, deflateWindow)
	// Deflate with a window of 32 kB, the fastest level, a dictionary: RFC 1950
	// section 2.2. A smaller window would be correct, but some readers would
	// reallocate theirs for the dictionary.
	z.out = append(z.out, 0x78, 0x20)
	if rest := (0x78<<8 | 0x20) % 31; rest != 0 {
		z.out[len(z.out)-1] += byte(31 - rest)
	}
	z.out = binary.BigEndian.AppendUint32(z.out, adler32.Checksum([]byte(z.dictionary)))
	z.window = append(z.window, z.dictionary...)
	for i := 0; i+minMatch <= len(z.window); i++ {
		z.remember(i)
	}
}

// piece is a part of a header block.
type piece struct {
	text   string
	secret bool
}

// block appends a compressed header block to out.
func (z *deflater) block(out []byte, pieces []piece) []byte {
	z.out = out
	if !z.begun {
		z.begin()
	}
	if z.compression == CompressNone {
		z.store(pieces)
	} else {
		z.put(0b010, 3) // not the last block; fixed codes
		for _, p := range pieces {
			if p.secret && z.compression == CompressSafe {
				z.literals(p.text)
			} else {
				z.match(p.text)
			}
		}
		z.put(0, 7) // end of block
	}
	z.put(0, 3) // a stored block,
	z.align()
	z.out = append(z.out, 0, 0, 0xff, 0xff) // which is empty
	z.slide()
	out, z.out = z.out, nil
	return out
}

// store writes the pieces uncompressed.
func (z *deflater) store(pieces []piece) {
	const most = 1<<16 - 1
	var text []byte
	for _, p := range pieces {
		text = append(text, p.text...)
	}
	for len(text) > 0 {
		n := min(len(text), most)
		z.put(0, 3)
		z.align()
		z.out = binary.LittleEndian.AppendUint16(z.out, uint16(n))
		z.out = binary.LittleEndian.AppendUint16(z.out, ^uint16(n))
		z.out = append(z.out, text[:n]...)
		text = text[n:]
	}
}

// literals writes text that no reference points to and that refers to nothing.
func (z *deflater) literals(text string) {
	from := z.base + len(z.window)
	z.secrets = append(z.secrets, span{from, from + len(text)})
	for i := range len(text) {
		z.literal(text[i])
	}
	z.window = append(z.window, text...)
}

// match writes text, with references to earlier text where they are shorter.
func (z *deflater) match(text string) {
	at := len(z.window)
	z.window = append(z.window, text...)
	for at < len(z.window) {
		length, distance := z.longest(at)
		if length < minMatch {
			z.literal(z.window[at])
			z.remember(at)
			at++
			continue
		}
		z.reference(length, distance)
		for range length {
			z.remember(at)
			at++
		}
	}
}

func (z *deflater) hash(at int) uint32 {
	return binary.LittleEndian.Uint32(z.window[at:]) * 2654435761 >> (32 - hashBits)
}

// remember indexes the four octets at a position of the window.
func (z *deflater) remember(at int) {
	if at+minMatch > len(z.window) {
		return
	}
	h, absolute := z.hash(at), z.base+at
	z.prev[absolute%deflateWindow] = z.head[h]
	z.head[h] = int32(absolute + 1)
}

// longest finds the longest earlier match of the text at at.
func (z *deflater) longest(at int) (length, distance int) {
	if at+minMatch > len(z.window) {
		return 0, 0
	}
	absolute := z.base + at
	candidate := int(z.head[z.hash(at)]) - 1
	for range maxChain {
		// The oldest position of the window is left out: the next indexed position
		// reuses its entry in prev.
		if candidate < z.base || absolute-candidate >= deflateWindow {
			break
		}
		most := min(maxMatch, len(z.window)-at, z.open(candidate))
		n := 0
		for n < most && z.window[candidate-z.base+n] == z.window[at+n] {
			n++
		}
		if n > length {
			length, distance = n, absolute-candidate
		}
		next := int(z.prev[candidate%deflateWindow]) - 1
		if next >= candidate {
			break
		}
		candidate = next
	}
	return length, distance
}

// open returns how many octets from a position on are not secret.
func (z *deflater) open(from int) int {
	for _, s := range z.secrets {
		if s.to > from {
			return s.from - from
		}
	}
	return maxMatch
}

// slide drops what is too far back for references.
func (z *deflater) slide() {
	if cut := len(z.window) - deflateWindow; cut > 0 {
		z.base += cut
		kept := copy(z.window, z.window[cut:])
		z.window = z.window[:kept]
		if cap(z.window) > 4*deflateWindow {
			z.window = append(make([]byte, 0, 2*deflateWindow), z.window...)
		}
	}
	gone := 0
	for gone < len(z.secrets) && z.secrets[gone].to <= z.base {
		gone++
	}
	z.secrets = append(z.secrets[:0], z.secrets[gone:]...)
	if z.base > 1<<30 {
		// Positions are about to overflow 32 bits: restart the count.
		for i := range z.secrets {
			z.secrets[i].from -= z.base
			z.secrets[i].to -= z.base
		}
		z.base = 0
		clear(z.head)
		clear(z.prev)
	}
}

func (z *deflater) put(v uint64, n uint) {
	z.bits |= v << z.n
	z.n += n
	for z.n >= 8 {
		z.out = append(z.out, byte(z.bits))
		z.bits >>= 8
		z.n -= 8
	}
}

func (z *deflater) align() {
	if z.n > 0 {
		z.put(0, 8-z.n)
	}
}

// reversed returns a code in the order in which Huffman codes are packed: its
// first bit first.
func reversed(code, n uint) uint64 { return uint64(bits.Reverse16(uint16(code)) >> (16 - n)) }

// literal writes one octet with its fixed code (RFC 1951 section 3.2.6).
func (z *deflater) literal(b byte) {
	if b < 144 {
		z.put(reversed(0x30+uint(b), 8), 8)
	} else {
		z.put(reversed(0x190+uint(b)-144, 9), 9)
	}
}

// reference writes a length and a distance with their fixed codes.
func (z *deflater) reference(length, distance int) {
	i := len(lengthBase) - 1
	for int(lengthBase[i]) > length {
		i--
	}
	if symbol := uint(257 + i); symbol < 280 {
		z.put(reversed(symbol-256, 7), 7)
	} else {
		z.put(reversed(0xc0+symbol-280, 8), 8)
	}
	z.put(uint64(length-int(lengthBase[i])), uint(lengthExtra[i]))
	d := len(distanceBase) - 1
	for int(distanceBase[d]) > distance {
		d--
	}
	z.put(reversed(uint(d), 5), 5)
	z.put(uint64(distance-int(distanceBase[d])), uint(distanceExtra[d]))
}
