package builtin

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"slices"
)

// inflater decompresses DEFLATE (RFC 1951) and returns everything that the octets so far
// decode to. compress/flate holds back up to 32 KiB until its window is full or the block
// ends, so that a page would be parsed later than in a browser.
type inflater struct {
	source io.Reader
	buffer []byte
	in     []byte // unread part of the buffer
	bits   uint64 // read but not used yet, the next one lowest
	count  uint   // number of bits

	out    []byte // the window, and what has been decoded since
	handed int    // how much of out has been returned

	step      func() error // what comes next in the stream
	last      bool         // this is the last block
	stored    int          // octets left of a stored block
	literals  *huffman
	distances *huffman

	check   hash.Hash32
	checked int // how much of out is part of the checksum
	order   binary.ByteOrder
	sized   bool // the checksum is followed by the length
	err     error
}

var (
	errMore    = errors.New("more octets are needed")
	errCorrupt = errors.New("the compressed data is corrupt")
)

const (
	windowSize = 32 << 10 // the greatest distance of a match
	outLimit   = 4 * windowSize
	symbolBits = 48 // of a match: two codes of 15 bits, with 5 and 13 bits that follow
)

// newGunzip decompresses gzip (RFC 1952): only the first member, like browsers.
func newGunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64)
	var head [10]byte
	if _, err := io.ReadFull(b, head[:]); err != nil {
		return nil, err
	}
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return nil, errors.New("invalid gzip header")
	}
	const (
		hasCheck, hasExtra, hasName, hasComment = 1 << 1, 1 << 2, 1 << 3, 1 << 4
	)
	flags := head[3]
	if flags&hasExtra != 0 {
		var length [2]byte
		if _, err := io.ReadFull(b, length[:]); err != nil {
			return nil, err
		}
		if _, err := b.Discard(int(binary.LittleEndian.Uint16(length[:]))); err != nil {
			return nil, err
		}
	}
	for _, text := range []byte{hasName, hasComment} {
		if flags&text == 0 {
			continue
		}
		for c := byte(1); c != 0; {
			var err error
			if c, err = b.ReadByte(); err != nil {
				return nil, err
			}
		}
	}
	if flags&hasCheck != 0 {
		if _, err := b.Discard(2); err != nil {
			return nil, err
		}
	}
	return newInflater(b, crc32.NewIEEE(), binary.LittleEndian, true), nil
}

// newUnzlib decompresses zlib (RFC 1950), which HTTP calls deflate.
func newUnzlib(r io.Reader) (io.Reader, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	const dictionary = 1 << 5
	if head[0]&0xf != 8 || head[1]&dictionary != 0 || binary.BigEndian.Uint16(head[:])%31 != 0 {
		return nil, errors.New("invalid zlib header")
	}
	return newInflater(r, adler32.New(), binary.BigEndian, false), nil
}

func newInflater(r io.Reader, check hash.Hash32, order binary.ByteOrder, sized bool) *inflater {
	d := &inflater{source: r, check: check, order: order, sized: sized}
	d.step = d.header
	return d
}

// Read returns what has been decoded before it reads more from its source.
func (d *inflater) Read(p []byte) (int, error) {
	for {
		for d.err == nil && len(d.out)-d.handed < len(p) {
			d.err = d.step()
		}
		if n := copy(p, d.out[d.handed:]); n > 0 {
			d.handed += n
			d.slide()
			return n, nil
		}
		if !errors.Is(d.err, errMore) {
			return 0, d.err
		}
		d.err = d.fetch()
	}
}

// fetch reads from the source.
func (d *inflater) fetch() error {
	if len(d.buffer) < len(d.in)+4096 {
		d.buffer = append(d.buffer, make([]byte, len(d.in)+4096)...)
	}
	kept := copy(d.buffer, d.in)
	n, err := d.source.Read(d.buffer[kept:])
	d.in = d.buffer[:kept+n]
	if n > 0 {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// fill reads octets until there are n bits, if there are that many.
func (d *inflater) fill(n uint) bool {
	for d.count < n && len(d.in) > 0 {
		d.bits |= uint64(d.in[0]) << d.count
		d.in = d.in[1:]
		d.count += 8
	}
	return d.count >= n
}

// take uses n bits, which must be available.
func (d *inflater) take(n uint) int {
	v := d.bits & (1<<n - 1)
	d.bits >>= n
	d.count -= n
	return int(v)
}

// slide drops what has been returned and is out of reach.
func (d *inflater) slide() {
	if len(d.out) > outLimit && d.handed > windowSize {
		d.sum()
		gone := d.handed - windowSize
		d.out = d.out[:copy(d.out, d.out[gone:])]
		d.handed, d.checked = windowSize, len(d.out)
	}
}

// sum updates the checksum with everything decoded.
func (d *inflater) sum() {
	_, _ = d.check.Write(d.out[d.checked:])
	d.checked = len(d.out)
}

// header decodes a block's header (section 3.2.3).
func (d *inflater) header() error {
	if d.last {
		d.step = d.trailer
		return nil
	}
	in, bits, count := d.in, d.bits, d.count
	err := d.readHeader()
	if errors.Is(err, errMore) {
		d.in, d.bits, d.count = in, bits, count // to be read again from its start
		d.last = false
	}
	return err
}

func (d *inflater) readHeader() error {
	if !d.fill(3) {
		return errMore
	}
	d.last = d.take(1) == 1
	switch d.take(2) {
	case 0:
		d.take(d.count % 8)
		if !d.fill(32) {
			return errMore
		}
		length := d.take(16)
		if d.take(16) != length^0xffff {
			return errCorrupt
		}
		d.stored, d.step = length, d.copyStored
		return nil
	case 1:
		d.literals, d.distances, d.step = newHuffman(fixedLiterals()), newHuffman(fixedDistances()), d.symbols
		return nil
	case 2:
		return d.readCodes()
	}
	return errCorrupt
}

// copyStored copies a stored block (section 3.2.4).
func (d *inflater) copyStored() error {
	for d.stored > 0 && d.count > 0 {
		d.out = append(d.out, byte(d.take(8)))
		d.stored--
	}
	n := min(d.stored, len(d.in))
	d.out = append(d.out, d.in[:n]...)
	d.in, d.stored = d.in[n:], d.stored-n
	if d.stored > 0 {
		return errMore
	}
	d.step = d.header
	return nil
}

// codeOrder is the order of the code length codes (section 3.2.7).
var codeOrder = [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes decodes the codes of a block (section 3.2.7).
func (d *inflater) readCodes() error {
	if !d.fill(14) {
		return errMore
	}
	literals, distances, codes := d.take(5)+257, d.take(5)+1, d.take(4)+4
	var lengths [19]byte
	for i := range codes {
		if !d.fill(3) {
			return errMore
		}
		lengths[codeOrder[i]] = byte(d.take(3))
	}
	code := newHuffman(lengths[:])
	if code == nil {
		return errCorrupt
	}
	all := make([]byte, 0, literals+distances)
	for len(all) < literals+distances {
		d.fill(symbolBits)
		symbol, width, err := code.find(d.bits, d.count)
		if err != nil {
			return err
		}
		var value byte
		repeat, extra := 1, uint(0)
		switch symbol {
		case 16:
			if len(all) == 0 {
				return errCorrupt
			}
			value, repeat, extra = all[len(all)-1], 3, 2
		case 17:
			repeat, extra = 3, 3
		case 18:
			repeat, extra = 11, 7
		default:
			value = byte(symbol)
		}
		if d.count < width+extra {
			return errMore
		}
		d.take(width)
		repeat += d.take(extra)
		if len(all)+repeat > literals+distances {
			return errCorrupt
		}
		for range repeat {
			all = append(all, value)
		}
	}
	d.literals, d.distances = newHuffman(all[:literals]), newHuffman(all[literals:])
	if d.literals == nil || d.distances == nil {
		return errCorrupt
	}
	d.step = d.symbols
	return nil
}

// The base values of lengths and distances, and their numbers of extra bits
// (section 3.2.5).
var (
	lengthBase    = [29]int{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthExtra   = [29]uint{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	distanceBase  = [30]int{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distanceExtra = [30]uint{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// symbols decodes one literal or match.
func (d *inflater) symbols() error {
	const endOfBlock = 256
	d.fill(symbolBits)
	bits, count := d.bits, d.count
	use := func(n uint) int {
		v := bits & (1<<n - 1)
		bits >>= n
		count -= n
		return int(v)
	}
	symbol, width, err := d.literals.find(bits, count)
	if err != nil {
		return err
	}
	use(width)
	if symbol <= endOfBlock {
		d.bits, d.count = bits, count
		if symbol == endOfBlock {
			d.step = d.header
		} else {
			d.out = append(d.out, byte(symbol))
		}
		return nil
	}
	if symbol -= endOfBlock + 1; symbol >= len(lengthBase) {
		return errCorrupt
	}
	if count < lengthExtra[symbol] {
		return errMore
	}
	length := lengthBase[symbol] + use(lengthExtra[symbol])
	if symbol, width, err = d.distances.find(bits, count); err != nil {
		return err
	}
	use(width)
	if symbol >= len(distanceBase) {
		return errCorrupt
	}
	if count < distanceExtra[symbol] {
		return errMore
	}
	back := distanceBase[symbol] + use(distanceExtra[symbol])
	if back > len(d.out) {
		return errCorrupt
	}
	d.bits, d.count = bits, count
	for length > 0 { // a match may overlap its own output
		from := len(d.out) - back
		n := min(length, back)
		d.out = append(d.out, d.out[from:from+n]...)
		length -= n
	}
	return nil
}

// trailer compares the checksum, and the length if there is one, with what was
// decoded.
func (d *inflater) trailer() error {
	d.take(d.count % 8)
	d.sum()
	octets := 4
	if d.sized {
		octets = 8
	}
	var b []byte
	for d.count >= 8 {
		b = append(b, byte(d.take(8)))
	}
	d.in = append(b, d.in...)
	if len(d.in) < octets {
		return errMore
	}
	if d.order.Uint32(d.in) != d.check.Sum32() {
		return errCorrupt
	}
	return io.EOF
}

// huffman is a decoding table: the next 15 bits give the symbol and the length
// of its code.
type huffman [1 << 15]uint16

// newHuffman builds a code from its lengths (section 3.2.2), or returns nil if they are
// invalid. A code may be incomplete, for example with a single distance.
func newHuffman(lengths []byte) *huffman {
	var counts, next [16]int
	for _, n := range lengths {
		counts[n]++
	}
	code, left := 0, 1
	counts[0] = 0
	for n := 1; n <= 15; n++ {
		code = (code + counts[n-1]) << 1
		next[n] = code
		if left = left<<1 - counts[n]; left < 0 {
			return nil
		}
	}
	h := new(huffman)
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		reversed := 0
		for i, c := 0, next[n]; i < int(n); i++ {
			reversed = reversed<<1 | c>>i&1
		}
		next[n]++
		for i := reversed; i < len(h); i += 1 << n {
			h[i] = uint16(symbol)<<4 | uint16(n)
		}
	}
	return h
}

// find returns the symbol at the start of the bits, and the length of its code.
func (h *huffman) find(bits uint64, count uint) (symbol int, width uint, err error) {
	entry := h[bits&(1<<15-1)]
	width = uint(entry & 15)
	switch {
	case width > 0 && width <= count:
		return int(entry >> 4), width, nil
	case count >= 15:
		return 0, 0, errCorrupt
	}
	return 0, 0, errMore
}

// fixedLiterals and fixedDistances return the lengths of the fixed codes (section
// 3.2.6).
func fixedLiterals() []byte {
	return slices.Concat(bytes.Repeat([]byte{8}, 144), bytes.Repeat([]byte{9}, 112), bytes.Repeat([]byte{7}, 24), bytes.Repeat([]byte{8}, 8))
}

func fixedDistances() []byte { return bytes.Repeat([]byte{5}, 32) }
