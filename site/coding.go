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

// maxDecoded is how long a body may be without its content coding, in octets.
const maxDecoded = 256 << 20

// coding is a content coding (RFC 9110 section 8.4.1).
type coding struct {
	decode func(io.Reader) (io.ReadCloser, error)
	// encode compresses at a level between these two.
	encode           func(w io.Writer, level int) (io.WriteCloser, error)
	fastest, hardest int
}

// codings are those that browsers accept, by their names.
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

// codings are the resource's content codings in the order in which they were applied; not ok
// if one is not known.
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
			return nil, fmt.Errorf("it is longer than %d octets without its content coding", maxDecoded)
		}
	}
	return body, nil
}

// encodeLike applies content codings to text, each at the level that comes nearest to the
// size that body has, of which plain was decoded: what is served in the clear should not
// differ from what is not by how hard it was compressed.
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

// level finds the level at which plain comes nearest to size octets, of those up to the
// first that makes no more of it.
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
