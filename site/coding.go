package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxDecoded limits the size of a decoded body, in octets.
const maxDecoded = 256 << 20

// coding is a content coding (RFC 9110 section 8.4.1).
type coding struct {
	decode func(io.Reader) (io.ReadCloser, error)
	// encode compresses at a level from least to most.
	encode           func(w io.Writer, level int) (io.WriteCloser, error)
	fastest, hardest int
}

// codings lists the content codings that browsers accept, by name.
var codings = map[string]coding{
	"gzip": {
		decode:  func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		encode:  func(w io.Writer, level int) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, level) },
		fastest: gzip.BestSpeed, hardest: gzip.BestCompression,
	},
	"deflate": {
		decode:  zlib.NewReader,
		encode:  func(w io.Writer, level int) (io.WriteCloser, error) { return zlib.NewWriterLevel(w, level) },
		fastest: zlib.BestSpeed, hardest: zlib.BestCompression,
	},
	"br": {
		decode:  func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(brotli.NewReader(r)), nil },
		encode:  func(w io.Writer, level int) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, level), nil },
		fastest: brotli.BestSpeed, hardest: brotli.BestCompression,
	},
	"zstd": {
		// A browser's window is 8 MiB at most (RFC 9659).
		decode: func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		},
		encode: func(w io.Writer, level int) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20), zstd.WithEncoderLevel(zstd.EncoderLevel(level)))
		},
		fastest: int(zstd.SpeedFastest), hardest: int(zstd.SpeedBestCompression),
	},
}

// codings returns the resource's content codings in the order in which they were applied.
// ok is false if one is unknown.
func (r *Resource) codings() (names []string, ok bool) {
	for _, h := range r.Header {
		if !strings.EqualFold(h.Name, "content-encoding") {
			continue
		}
		for name := range strings.SplitSeq(h.Value, ",") {
			name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-") // x-gzip: RFC 9110 section 8.4.1.3
			if name == "" || name == "identity" {
				continue
			}
			if _, ok := codings[name]; !ok {
				return nil, false
			}
			names = append(names, name)
		}
	}
	return names, true
}

// decode undoes content codings.
func decode(body []byte, names []string) ([]byte, error) {
	for _, name := range slices.Backward(names) {
		r, err := codings[name].decode(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		body, err = io.ReadAll(io.LimitReader(r, maxDecoded+1))
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		if len(body) > maxDecoded {
			return nil, fmt.Errorf("it exceeds %d octets when decoded", maxDecoded)
		}
	}
	return body, nil
}

// encodeLike applies content codings to text. It picks each level so that the size comes
// nearest to that of body, the encoded form of plain: what is served over http should
// compress as well as what is served over https.
func encodeLike(text, plain, body []byte, names []string) ([]byte, error) {
	for i, name := range names {
		size := len(body)
		if inner, err := decode(body, names[i+1:]); err == nil {
			size = len(inner)
		}
		level, err := codings[name].level(plain, size)
		if err != nil {
			return nil, err
		}
		if plain, err = codings[name].compress(plain, level); err != nil {
			return nil, err
		}
		if text, err = codings[name].compress(text, level); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// level returns the level at which plain comes nearest to size octets. It stops at the
// first level that brings plain down to size.
func (c coding) level(plain []byte, size int) (int, error) {
	best, distance := c.fastest, -1
	for level := c.fastest; level <= c.hardest; level++ {
		b, err := c.compress(plain, level)
		if err != nil {
			return 0, err
		}
		if d := max(len(b)-size, size-len(b)); distance < 0 || d < distance {
			best, distance = level, d
		}
		if len(b) <= size {
			break
		}
	}
	return best, nil
}

func (c coding) compress(plain []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	w, err := c.encode(&b, level)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
