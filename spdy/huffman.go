package spdy

import (
	"errors"
	"math/bits"
	"slices"
)

// huffman decodes one alphabet (RFC 1951 section 3.2.2). Codes of up to
// quickBits bits use a table; longer ones are decoded bit by bit.
type huffman struct {
	quick   [1 << quickBits]uint16 // symbol<<4 | length of its code, by the bits that come next; 0 for none
	count   [16]uint16             // codes by length
	symbols [288]uint16            // in the order of their codes
}

const quickBits = 9

// fixed are the codes of RFC 1951 section 3.2.6.
var fixed = func() (h [2]huffman) {
	length := func(n uint8, codes int) []uint8 { return slices.Repeat([]uint8{n}, codes) }
	literals := slices.Concat(length(8, 144), length(9, 112), length(7, 24), length(8, 8))
	if h[0].init(literals, false) != nil || h[1].init(length(5, 32), false) != nil {
		panic("spdy: the fixed codes of RFC 1951 are incomplete")
	}
	return h
}()

// init creates the codes from their lengths. Only the distance codes may be
// incomplete, with one code or none.
func (h *huffman) init(lengths []uint8, distances bool) error {
	*h = huffman{}
	for _, n := range lengths {
		h.count[n]++
	}
	h.count[0] = 0
	left, used := 1, 0
	for _, n := range h.count[1:] {
		left = left<<1 - int(n)
		if left < 0 {
			return errors.New("oversubscribed Huffman code")
		}
		used += int(n)
	}
	if left > 0 && (used > 1 || !distances) {
		return errors.New("incomplete Huffman code")
	}
	var next, offset [16]uint16
	for n := 1; n < 15; n++ {
		next[n+1] = (next[n] + h.count[n]) << 1
		offset[n+1] = offset[n] + h.count[n]
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		h.symbols[offset[n]] = uint16(symbol)
		offset[n]++
		if n <= quickBits {
			step := 1 << n
			for i := int(bits.Reverse16(next[n]) >> (16 - n)); i < len(h.quick); i += step {
				h.quick[i] = uint16(symbol)<<4 | uint16(n)
			}
		}
		next[n]++
	}
	return nil
}

// symbol decodes one symbol.
func (z *inflater) symbol(h *huffman) (uint16, error) {
	for z.n < 15 && len(z.in) > 0 {
		z.bits |= uint64(z.in[0]) << z.n
		z.in = z.in[1:]
		z.n += 8
	}
	if q := h.quick[z.bits&(1<<quickBits-1)]; q != 0 {
		n := uint(q & 15)
		if n > z.n {
			return 0, errTruncated
		}
		z.bits >>= n
		z.n -= n
		return q >> 4, nil
	}
	code, first, index := 0, 0, 0
	for n := uint(1); n <= 15; n++ {
		if n > z.n {
			return 0, errTruncated
		}
		code |= int(z.bits >> (n - 1) & 1)
		count := int(h.count[n])
		if code-count < first {
			z.bits >>= n
			z.n -= n
			return h.symbols[index+code-first], nil
		}
		index += count
		first = (first + count) << 1
		code <<= 1
	}
	return 0, errors.New("invalid Huffman code")
}
