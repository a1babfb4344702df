package site

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"math/rand/v2"
)

// These are the octets of a PNG (ISO/IEC 15948) besides its pixels: the signature, the
// chunks IHDR, tEXt and IEND with 12 octets around each one's data, and the frame of a zlib
// stream in IDAT.
const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngKeyword   = "Comment\x00"
	pngFrame     = len(pngSignature) + (12 + 13) + (12 + len(pngKeyword)) + (12 + 2 + 4) + 12
)

// leastNoise is the size of an image of one pixel.
const leastNoise = int64(pngFrame) + 5 + 4

// storedBlock is the most octets that a stored block of a zlib stream can hold (RFC 1951
// section 3.2.4).
const storedBlock = 65535

// noise makes an image of size octets, at least leastNoise: a PNG with random pixels, four
// wide to three high, stored uncompressed. A comment pads it. The standard library's
// compressor is not used because its output may change with the Go version.
func noise(random *rand.Rand, size int64) []byte {
	n := 0
	for noiseSize(n+1) <= size {
		n++
	}
	width, height := noiseShape(n)
	var b bytes.Buffer
	b.WriteString(pngSignature)
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	chunk(&b, "IHDR", append(header, 8, 2, 0, 0, 0)) // 8 bits each of red, green and blue
	var text bytes.Buffer
	text.WriteString(pngKeyword)
	fill(random, &text, len(pngKeyword)+int(size-noiseSize(n)))
	chunk(&b, "tEXt", text.Bytes())

	pixels := make([]byte, 0, height*(1+3*width))
	for range height {
		pixels = append(pixels, 0) // unfiltered row
		for range 3 * width {
			pixels = append(pixels, byte(random.Uint32()))
		}
	}
	stream := []byte{0x78, 0x01}
	for rest := pixels; len(rest) > 0; {
		block := rest[:min(len(rest), storedBlock)]
		rest = rest[len(block):]
		last := byte(0)
		if len(rest) == 0 {
			last = 1
		}
		stream = append(stream, last)
		stream = binary.LittleEndian.AppendUint16(stream, uint16(len(block)))
		stream = binary.LittleEndian.AppendUint16(stream, ^uint16(len(block)))
		stream = append(stream, block...)
	}
	chunk(&b, "IDAT", binary.BigEndian.AppendUint32(stream, adler32.Checksum(pixels)))
	chunk(&b, "IEND", nil)
	return b.Bytes()
}

// noiseShape returns the width and height in pixels of the n-th image shape.
func noiseShape(n int) (width, height int) {
	if n == 0 {
		return 1, 1
	}
	return 4 * n, 3 * n
}

// noiseSize returns the octets of an image of the n-th shape without a comment.
func noiseSize(n int) int64 {
	width, height := noiseShape(n)
	pixels := height * (1 + 3*width)
	return int64(pngFrame + pixels + 5*((pixels+storedBlock-1)/storedBlock))
}

func chunk(b *bytes.Buffer, name string, data []byte) {
	start := b.Len()
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
	b.WriteString(name)
	b.Write(data)
	b.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(b.Bytes()[start+4:])))
}
