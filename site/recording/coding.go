package recording

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// errTooLong says that a short body is not decoded because of its decoded size.
var errTooLong = errors.New("the decoded body exceeds the limit of a site")

// decode undoes the content codings of a body (RFC 9110 section 8.4), the last first. It
// fails if the content exceeds limit octets.
func decode(body []byte, codings string, limit int64) ([]byte, error) {
	names := strings.Split(codings, ",")
	for _, name := range slices.Backward(names) {
		name = strings.ToLower(strings.TrimSpace(name))
		var r io.Reader
		var err error
		switch name {
		case "", "identity", "none":
			continue
		case "gzip", "x-gzip":
			r, err = gzip.NewReader(bytes.NewReader(body))
		case "deflate":
			// deflate means a zlib stream, but many servers send raw deflate (RFC 9110 section
			// 8.4.1.2).
			if r, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
				r, err = flate.NewReader(bytes.NewReader(body)), nil
			}
		case "br":
			r = brotli.NewReader(bytes.NewReader(body))
		case "zstd":
			var z *zstd.Decoder
			if z, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20)); err == nil {
				defer z.Close()
				r = z
			}
		default:
			err = errors.New("unknown coding")
		}
		if err == nil {
			body, err = io.ReadAll(io.LimitReader(r, limit+1))
		}
		if err == nil && int64(len(body)) > limit {
			err = errTooLong
		}
		if err != nil {
			return nil, fmt.Errorf("undo the content coding %q: %w", name, err)
		}
	}
	return body, nil
}

// recode returns the coding in which a site stores a body that was recorded with some
// codings; empty means none. It replaces deflate, which is ambiguous, and codings that some
// browsers lack.
func recode(codings string) string {
	names := strings.Split(strings.ToLower(codings), ",")
	switch last := strings.TrimSpace(names[len(names)-1]); last {
	case "", "identity", "none":
		return ""
	case "br", "zstd":
		return last
	}
	return "gzip"
}

// coder encodes content. It reuses its writers, which are large. The zero value is ready to
// use.
type coder struct {
	gzip   *gzip.Writer
	brotli *brotli.Writer
	zstd   *zstd.Encoder
}

// encode applies a coding. The same content always gives the same octets.
func (c *coder) encode(content []byte, coding string) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "":
		return content, nil
	case "gzip":
		if c.gzip == nil {
			c.gzip = gzip.NewWriter(nil)
		}
		c.gzip.Reset(&b)
		w = c.gzip
	case "br":
		if c.brotli == nil {
			c.brotli = brotli.NewWriterLevel(nil, brotliLevel)
		}
		c.brotli.Reset(&b)
		w = c.brotli
	case "zstd":
		if c.zstd == nil {
			if c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
				return nil, fmt.Errorf("encode a body: %w", err)
			}
		}
		c.zstd.Reset(&b)
		w = c.zstd
	default:
		return nil, fmt.Errorf("encode a body: unknown coding %q", coding)
	}
	if _, err = w.Write(content); err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encode a body as %q: %w", coding, err)
	}
	return b.Bytes(), nil
}

// brotliLevel is the level of servers that compress on the fly.
const brotliLevel = 5
