// Package coding undoes and applies HTTP's content codings (RFC 9110 section 8.4.1): those that
// browsers accept, which are gzip, deflate, br and zstd.
//
// The limits are the same everywhere: at most [MaxCodings] nested codings, and
// windows of zstd of at most 8 MiB, as in browsers (RFC 9659). How long a decoded body may be is
// for the caller to say.
package coding

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// MaxCodings limits the number of nested codings of a body.
const MaxCodings = 3

// window is the largest window of zstd, in octets (RFC 9659).
const window = 8 << 20

// ErrTooLong means that a body has more octets without a coding than the caller allows.
var ErrTooLong = errors.New("the decoded body is too long")

// Names lists the codings in the value of a Content-Encoding field in the order in which they were
// applied. They are in lower case; those that change nothing are left out, and x-gzip is gzip.
func Names(field string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(field), ",") {
		switch name = strings.TrimPrefix(strings.TrimSpace(name), "x-"); name {
		case "", "identity", "none": // none is what some servers send for identity
		default:
			names = append(names, name)
		}
	}
	return names
}

// Known reports whether there is a coding of that name.
func Known(name string) bool { return slices.Contains([]string{"gzip", "deflate", "br", "zstd"}, name) }

// NewReader undoes one coding. It may read from r at once.
func NewReader(name string, r io.Reader) (io.Reader, error) {
	switch name {
	case "gzip":
		return gzip.NewReader(r)
	case "deflate":
		return newInflater(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd": // with a concurrency of 1 there is nothing to close
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	}
	return nil, fmt.Errorf("unsupported content coding %.20q", name)
}

// newInflater accepts the zlib format, which deflate means (RFC 9110 section 8.4.1.2), and
// raw deflate, which some servers send under that name.
func newInflater(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}

// Limit returns a reader of r that fails once r has more than so many octets: the error wraps
// [ErrTooLong].
func Limit(r io.Reader, octets int64) io.Reader { return &limited{r, octets, octets} }

// limited is a reader that fails when its limit is exceeded.
type limited struct {
	io.Reader
	limit, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		p = p[:l.left+1] // one octet more tells a body that ends at the limit from a longer one
	}
	n, err := l.Reader.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), fmt.Errorf("%w: more than %d octets", ErrTooLong, l.limit)
	}
	l.left -= int64(n)
	return n, err
}

// Open undoes codings, the last one first. Reading fails with an error that wraps [ErrTooLong] if
// the data between two codings has more than limit octets. The content itself has no limit: see
// [Limit].
func Open(body []byte, names []string, limit int64) (io.Reader, error) {
	if len(names) > MaxCodings {
		return nil, fmt.Errorf("%d nested content codings: want at most %d", len(names), MaxCodings)
	}
	var r io.Reader = bytes.NewReader(body)
	for _, name := range slices.Backward(names) {
		var err error
		if r, err = NewReader(name, Limit(r, limit)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Decode undoes codings. The error wraps [ErrTooLong] if a body has more than limit octets without
// one of them.
func Decode(body []byte, names []string, limit int64) ([]byte, error) {
	if len(names) > MaxCodings {
		return nil, fmt.Errorf("%d nested content codings: want at most %d", len(names), MaxCodings)
	}
	for _, name := range slices.Backward(names) {
		r, err := NewReader(name, bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(Limit(r, limit))
		}
		if err != nil {
			return nil, fmt.Errorf("undo the content coding %q: %w", name, err)
		}
	}
	return body, nil
}

// Writer applies a coding to what is written until Close. Reset begins another body.
type Writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// NewWriter applies a coding at a level of the coding's own, within its [Levels]. The same content
// gives the same octets.
func NewWriter(name string, w io.Writer, level int) (Writer, error) {
	switch name {
	case "gzip":
		return gzip.NewWriterLevel(w, level)
	case "deflate":
		return zlib.NewWriterLevel(w, level)
	case "br":
		return brotli.NewWriterLevel(w, level), nil
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithEncoderLevel(zstd.EncoderLevel(level)))
	}
	return nil, fmt.Errorf("unsupported content coding %.20q", name)
}

// Levels are the levels of a known coding: the one that is fastest, and the one that compresses
// hardest.
func Levels(name string) (fastest, hardest int) {
	switch name {
	case "br":
		return brotli.BestSpeed, brotli.BestCompression
	case "zstd":
		return int(zstd.SpeedFastest), int(zstd.SpeedBestCompression)
	}
	return gzip.BestSpeed, gzip.BestCompression
}

// Encode applies one coding at a level.
func Encode(content []byte, name string, level int) ([]byte, error) {
	var b bytes.Buffer
	w, err := NewWriter(name, &b, level)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(content)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
