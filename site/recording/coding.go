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

// errTooLong is why a body that is short on the wire is not decoded.
var errTooLong = errors.New("decoded it has more octets than a site's bodies may have")

// decode undoes the content codings of a body (RFC 9110 section 8.4), the last first. The
// content must not have more octets than limit.
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
			// A zlib stream, but many servers send what is in one (RFC 9110 section 8.4.1.2).
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
			err = errors.New("this coding is not known")
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

// recode is the coding in which a site keeps what was recorded with some codings; empty:
// none. deflate is ambiguous, and others than these are not for everyone.
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

// encode codes content. The same content gives the same octets.
func encode(content []byte, coding string) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "":
		return content, nil
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, brotliLevel)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	default:
		err = errors.New("this coding is not known")
	}
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("code a body as %q: %w", coding, err)
	}
	return b.Bytes(), nil
}

// brotliLevel is what servers use that compress as they answer.
const brotliLevel = 5
