package spdy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
)

// The base values of lengths and distances, and their numbers of extra bits
// (RFC 1951 section 3.2.5).
var (
	lengthBase = [...]uint16{
		3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
	}
	lengthExtra  = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	distanceBase = [...]uint16{
		1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
		8193, 12289, 16385, 24577,
	}
	distanceExtra = [...]uint8{
		0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
	}
	codeLengthOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
)

// errInflated is the error of a header block that exceeds the limit.
var errInflated = errors.New("it inflates to more than the limit")

// inflater reads header blocks from one zlib stream (RFC 1950, RFC 1951).
//
// The standard library's reader cannot be told where a block's input ends
// without breaking, and needs 45 kB. This one takes a whole block, stops at a
// limit, and keeps no more history than the stream's header asks for: 256 octets
// to 32 kB.
type inflater struct {
	begun      bool
	dictionary string
	size       int    // how far back the stream may refer
	window     []byte // the history, followed by the present block
	in         []byte
	bits       uint64
	n          uint
	dynamic    *[2]huffman
}

// A block larger than freeOutput octets must not inflate to more than maxRatio
// times its compressed size. Deflate can reach 1032; a header that repeats the
// previous one reaches about 80 with the fixed codes.
const (
	freeOutput = 1 << 14
	maxRatio   = 500
)

func newInflater(v Version) *inflater {
	if v == V2 {
		return &inflater{dictionary: dictionary2}
	}
	return &inflater{dictionary: dictionary3}
}

// block inflates one header block to at most limit octets. The result is valid
// until the next call. After an error the stream is unusable.
func (z *inflater) block(in []byte, limit int) ([]byte, error) {
	// Moving the history for each block would cost more than the rest.
	if room := z.size / 8; len(z.window) > z.size+room {
		kept := z.window[len(z.window)-z.size:]
		if cap(z.window) > 3*(z.size+room) {
			z.window = append(make([]byte, 0, z.size+room), kept...)
		} else {
			z.window = append(z.window[:0], kept...)
		}
	}
	z.in = in
	if !z.begun && len(in) > 0 {
		if err := z.begin(); err != nil {
			return nil, err
		}
	}
	start := len(z.window)
	limit = min(limit, max(freeOutput, maxRatio*len(in)))
	for len(z.in) > 0 || z.n >= 3 {
		if err := z.deflateBlock(start + limit); err != nil {
			return nil, err
		}
	}
	z.in = nil
	return z.window[start:], nil
}

// begin parses the stream's header.
func (z *inflater) begin() error {
	if len(z.in) < 2 {
		return errTruncated
	}
	cmf, flg := z.in[0], z.in[1]
	if cmf&15 != 8 || cmf>>4 > 7 || (uint(cmf)<<8|uint(flg))%31 != 0 {
		return fmt.Errorf("invalid zlib header %#02x %#02x (RFC 1950 section 2.2)", cmf, flg)
	}
	z.in = z.in[2:]
	z.size = 1 << (8 + cmf>>4)
	if flg&0x20 != 0 {
		if len(z.in) < 4 {
			return errTruncated
		}
		if id := binary.BigEndian.Uint32(z.in); id != adler32.Checksum([]byte(z.dictionary)) {
			return fmt.Errorf("the zlib stream uses the dictionary %#08x instead of the protocol's", id)
		}
		z.in = z.in[4:]
		z.window = append(z.window, z.dictionary...)
	}
	z.begun = true
	return nil
}

var errTruncated = errors.New("the zlib stream stops in the middle of a block (it must be flushed)")

// need ensures that n bits are available, at most 32.
func (z *inflater) need(n uint) error {
	for z.n < n {
		if len(z.in) == 0 {
			return errTruncated
		}
		z.bits |= uint64(z.in[0]) << z.n
		z.in = z.in[1:]
		z.n += 8
	}
	return nil
}

func (z *inflater) take(n uint) (uint, error) {
	if err := z.need(n); err != nil {
		return 0, err
	}
	v := uint(z.bits & (1<<n - 1))
	z.bits >>= n
	z.n -= n
	return v, nil
}

// deflateBlock reads one block of RFC 1951 section 3.2.3. The window grows to
// end at most.
func (z *inflater) deflateBlock(end int) error {
	header, err := z.take(3)
	if err != nil {
		return err
	}
	if header&1 != 0 {
		return errors.New("the zlib stream ends before the session")
	}
	switch header >> 1 {
	case 0:
		return z.stored(end)
	case 1:
		return z.coded(&fixed[0], &fixed[1], end)
	case 2:
		if z.dynamic == nil {
			z.dynamic = new([2]huffman)
		}
		if err := z.codes(z.dynamic); err != nil {
			return err
		}
		return z.coded(&z.dynamic[0], &z.dynamic[1], end)
	}
	return errors.New("invalid block type in the zlib stream (RFC 1951 section 3.2.3)")
}

func (z *inflater) stored(end int) error {
	// Whole octets may have been read ahead into bits.
	z.bits >>= z.n % 8
	z.n -= z.n % 8
	n, err := z.take(16)
	if err != nil {
		return err
	}
	check, err := z.take(16)
	if err != nil {
		return err
	}
	if n != ^check&0xffff {
		return errors.New("the length of a stored block does not match its complement (RFC 1951 section 3.2.4)")
	}
	if len(z.window)+int(n) > end {
		return errInflated
	}
	for ; n > 0 && z.n > 0; n-- {
		b, _ := z.take(8)
		z.window = append(z.window, byte(b))
	}
	if int(n) > len(z.in) {
		return errTruncated
	}
	z.window = append(z.window, z.in[:n]...)
	z.in = z.in[n:]
	return nil
}

// coded reads a Huffman-coded block.
func (z *inflater) coded(literals, distances *huffman, end int) error {
	for {
		symbol, err := z.symbol(literals)
		if err != nil {
			return err
		}
		switch {
		case symbol < 256:
			if len(z.window) == end {
				return errInflated
			}
			z.window = append(z.window, byte(symbol))
			continue
		case symbol == 256:
			return nil
		case symbol > 285:
			return fmt.Errorf("invalid length symbol %d (RFC 1951 section 3.2.6)", symbol)
		}
		extra, err := z.take(uint(lengthExtra[symbol-257]))
		if err != nil {
			return err
		}
		length := int(lengthBase[symbol-257]) + int(extra)
		symbol, err = z.symbol(distances)
		if err != nil {
			return err
		}
		if int(symbol) >= len(distanceBase) {
			return fmt.Errorf("invalid distance symbol %d (RFC 1951 section 3.2.6)", symbol)
		}
		extra, err = z.take(uint(distanceExtra[symbol]))
		if err != nil {
			return err
		}
		distance := int(distanceBase[symbol]) + int(extra)
		if distance > min(len(z.window), z.size) {
			return fmt.Errorf("invalid distance of %d octets after %d in a window of %d", distance, len(z.window), z.size)
		}
		if len(z.window)+length > end {
			return errInflated
		}
		for from := len(z.window) - distance; length > 0; {
			n := min(length, len(z.window)-from)
			z.window = append(z.window, z.window[from:from+n]...)
			length -= n
		}
	}
}

// codes reads the description of a block's own codes (RFC 1951 section 3.2.7).
func (z *inflater) codes(h *[2]huffman) error {
	counts, err := z.take(14)
	if err != nil {
		return err
	}
	literals, distances, lengths := 257+counts&31, 1+counts>>5&31, 4+counts>>10
	if literals > 286 || distances > 30 {
		return fmt.Errorf("too many Huffman codes: %d literals and %d distances", literals, distances)
	}
	var code [19]uint8
	for _, i := range codeLengthOrder[:lengths] {
		v, err := z.take(3)
		if err != nil {
			return err
		}
		code[i] = uint8(v)
	}
	if err := h[0].init(code[:], false); err != nil {
		return err
	}
	var all [286 + 30]uint8
	for i := uint(0); i < literals+distances; {
		symbol, err := z.symbol(&h[0])
		if err != nil {
			return err
		}
		if symbol < 16 {
			all[i] = uint8(symbol)
			i++
			continue
		}
		repeat, base, width := uint8(0), uint(3), uint(3)
		switch symbol {
		case 16:
			if i == 0 {
				return errors.New("the code lengths begin with a repetition")
			}
			repeat, width = all[i-1], 2
		case 18:
			base, width = 11, 7
		}
		extra, err := z.take(width)
		if err != nil {
			return err
		}
		if i+base+extra > literals+distances {
			return errors.New("more code lengths than announced")
		}
		for range base + extra {
			all[i] = repeat
			i++
		}
	}
	if all[256] == 0 {
		return errors.New("no code for the end of the block")
	}
	if err := h[0].init(all[:literals], false); err != nil {
		return err
	}
	return h[1].init(all[literals:literals+distances], true)
}
