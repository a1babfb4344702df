package spdy

import (
	"encoding/binary"
	"hash/adler32"
	"math/bits"
	"weak"
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
// The standard library's writer needs 0.6 MB, this one 17 kB, of which 5 kB while
// its session is idle: a header block is short, so a window of 4 kB finds most
// repetitions (draft 3 section 2.6.10.1 recommends 2 kB), and fixed Huffman codes
// cost less than described ones. The output depends only on the input, not on the
// release of Go.
type deflater struct {
	compression Compression
	begun       bool
	dictionary  string

	window  []byte // what was written, starting at octet base of the stream
	base    int
	secrets []span // octets that no reference may point to, in order
	holes   []span // octets where no reference begins, in order

	index *matchIndex              // nil while the session is idle
	spare weak.Pointer[matchIndex] // the index of an idle session

	out  []byte
	bits uint64
	n    uint
}

type span struct{ from, to int }

// matchIndex finds earlier text. Its positions in the stream have 16 bits, of
// which deflater.rebase takes care.
type matchIndex struct {
	head [1 << hashBits]uint16 // where four octets of this hash were last seen, plus 1
	prev [deflateWindow]uint16 // where they were seen before that, plus 1, by position in the window size
}

const (
	deflateWindow = 4096
	windowRoom    = 512 // how much longer the kept text may be: it is moved when that is used up
	rebaseAt      = 12 * deflateWindow
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
	// Deflate with a window of 4 kB, which is all that the peer has to keep, the
	// fastest level, a dictionary: RFC 1950 section 2.2.
	const cmf, flags = 0x48, 0x20
	z.out = append(z.out, cmf, flags+31-(cmf<<8|flags)%31)
	z.out = binary.BigEndian.AppendUint32(z.out, adler32.Checksum([]byte(z.dictionary)))
	z.window = append(z.window, z.dictionary...)
	z.hole(len(z.window)-minMatch+1, len(z.window))
}

// rest lets the garbage collector take the index until the next block.
func (z *deflater) rest() {
	if z.index != nil {
		z.spare, z.index = weak.Make(z.index), nil
	}
}

// wake gets the index back, or builds it again.
func (z *deflater) wake() {
	if z.index != nil {
		return
	}
	if z.index = z.spare.Value(); z.index != nil {
		return
	}
	z.index = new(matchIndex)
	at := max(0, len(z.window)-deflateWindow)
	for _, hole := range z.holes {
		for ; at < hole.from-z.base; at++ {
			z.remember(at)
		}
		at = max(at, hole.to-z.base)
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
		z.wake()
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
	for i := range len(text) {
		z.literal(text[i])
	}
	for len(text) > 0 {
		at, n := z.extend(len(z.window), text)
		z.secrets = append(z.secrets, span{z.base + at, z.base + at + n})
		z.hole(at, at+n)
		text = text[n:]
	}
}

// match writes text, with references to earlier text where they are shorter.
func (z *deflater) match(text string) {
	at, n := z.extend(len(z.window), text)
	text = text[n:]
	for at < len(z.window) {
		if len(text) > 0 && len(z.window)-at < maxMatch+minMatch {
			at, n = z.extend(at, text)
			text = text[n:]
		}
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
	z.hole(max(0, at-minMatch+1), at)
}

// extend adds as much of a text to the window as it has room for, and returns how
// much that was. What lies further than deflateWindow before position at is
// dropped if needed; extend returns the position's new place.
func (z *deflater) extend(at int, text string) (moved, n int) {
	const most = deflateWindow + windowRoom
	if cut := at - deflateWindow; cut > 0 && len(z.window)+len(text) > most {
		z.window = z.window[:copy(z.window, z.window[cut:])]
		z.base += cut
		at -= cut
		z.secrets = after(z.secrets, z.base)
		z.holes = after(z.holes, z.base)
		if z.base >= rebaseAt {
			z.rebase()
		}
	}
	n = min(len(text), most-len(z.window))
	z.window = append(z.window, text[:n]...)
	return at, n
}

// after drops the spans before a position.
func after(spans []span, position int) []span {
	gone := 0
	for gone < len(spans) && spans[gone].to <= position {
		gone++
	}
	return append(spans[:0], spans[gone:]...)
}

// hole notes places of the window where no reference begins.
func (z *deflater) hole(from, to int) {
	from, to = z.base+from, z.base+to
	if last := len(z.holes) - 1; last >= 0 && z.holes[last].to >= from {
		z.holes[last].to = to
		return
	}
	z.holes = append(z.holes, span{from, to})
}

// rebase counts positions from a later octet, so that they fit the index.
func (z *deflater) rebase() {
	less := z.base / deflateWindow * deflateWindow
	z.base -= less
	for _, spans := range [][]span{z.secrets, z.holes} {
		for i := range spans {
			spans[i].from -= less
			spans[i].to -= less
		}
	}
	for _, positions := range [][]uint16{z.index.head[:], z.index.prev[:]} {
		for i, p := range positions {
			positions[i] = uint16(max(0, int(p)-less))
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
	z.index.prev[absolute%deflateWindow] = z.index.head[h]
	z.index.head[h] = uint16(absolute + 1)
}

// longest finds the longest earlier match of the text at at.
func (z *deflater) longest(at int) (length, distance int) {
	if at+minMatch > len(z.window) {
		return 0, 0
	}
	absolute, text := z.base+at, z.window[at:min(at+maxMatch, len(z.window))]
	candidate := int(z.index.head[z.hash(at)]) - 1
	for range maxChain {
		// The oldest position of the window is left out: the next indexed position
		// reuses its entry in prev.
		if candidate < z.base || absolute-candidate >= deflateWindow {
			break
		}
		if n := shared(z.window[candidate-z.base:], text); n > length {
			if n = min(n, z.open(candidate)); n > length {
				length, distance = n, absolute-candidate
			}
			if length == len(text) {
				break
			}
		}
		next := int(z.index.prev[candidate%deflateWindow]) - 1
		if next >= candidate {
			break
		}
		candidate = next
	}
	return length, distance
}

// shared returns how many octets at the start of b, which is shorter, are those of a.
func shared(a, b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if differ := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
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
