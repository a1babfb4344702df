package message

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Budget is how much an importer takes in. It is used up as responses are read.
type Budget struct {
	Body  int64 // octets of one body, with its content coding and without
	Total int64 // octets that all bodies may still have without their content codings
}

// NewBudget is that of one recording: 256 MiB for a body, 1 GiB for all of them.
func NewBudget() *Budget { return &Budget{Body: 256 << 20, Total: 1 << 30} }

// checkCoding finds out whether the body has the content codings that the header names
// (RFC 9110 section 8.4.1). Where it has not, most programs that recorded it had decoded
// it already: it is kept as it is. Where gzip or zstd break off, what came before is kept.
func (r *Response) checkCoding(budget *Budget) error {
	codings := contentCodings(r.field("content-encoding"))
	if len(r.Body) == 0 || len(codings) == 0 {
		return nil
	}
	limit := min(budget.Body, budget.Total)
	decoder, err := openDecoder(codings, r.Body, budget.Body)
	if err == nil {
		r.Size, err = io.Copy(io.Discard, io.LimitReader(decoder, limit+1))
	}
	switch {
	case r.Size > limit:
		if limit < budget.Body {
			return ErrTotal
		}
		return fmt.Errorf("%w: decoded, it has more than %d octets", ErrBody, limit)
	case err == nil:
		r.Encoded = true
	default:
		r.keepDecoded(codings, budget.Body, err)
	}
	return nil
}

// keepDecoded is what is done with a body that could not be decoded, or not to its end:
// Size octets of it were.
func (r *Response) keepDecoded(codings []string, limit int64, cause error) {
	names := strings.Join(codings, ", ")
	magic := slices.Contains([]string{"gzip", "x-gzip", "zstd"}, codings[0])
	if decoder, err := openDecoder(codings, r.Body, limit); err == nil && len(codings) == 1 && magic && r.Size > 0 {
		if begun, _ := io.ReadAll(io.LimitReader(decoder, r.Size)); int64(len(begun)) == r.Size {
			r.Body = begun
			r.repair("The body, in %s, is damaged (%v): the %d octets before that were decoded and kept.", names, cause, r.Size)
			return
		}
	}
	r.Size = int64(len(r.Body))
	r.repair("Content-Encoding says %s and the body is not (%v): it was kept as it is, as one that was decoded before.", names, cause)
}

// Spend takes size octets from what all bodies may still have; if that is not enough, it is
// [ErrTotal].
func (b *Budget) Spend(size int64) error {
	if size > b.Total {
		return ErrTotal
	}
	b.Total -= size
	return nil
}

// contentCodings are the codings of a field, in the order they were applied.
func contentCodings(field string) []string {
	var codings []string
	for name := range strings.SplitSeq(strings.ToLower(field), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" && name != "none" {
			codings = append(codings, name)
		}
	}
	return codings
}

// maxCodings bounds how many decoders a field can ask for.
const maxCodings = 3

// openDecoder undoes the codings, the last one first. What is between two of them may have
// limit octets.
func openDecoder(codings []string, body []byte, limit int64) (r io.Reader, err error) {
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("%d codings one over the other", len(codings))
	}
	r = bytes.NewReader(body)
	for _, coding := range slices.Backward(codings) {
		if r, err = openCoding(coding, io.LimitReader(r, limit)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func openCoding(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "deflate":
		return openDeflate(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		// RFC 9659 has no windows beyond 8 MB. With a concurrency of 1 there is nothing to close.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	}
	return nil, fmt.Errorf("%.20q is not a coding that browsers know", coding)
}

// openDeflate tells zlib's format, which deflate is (RFC 9110 section 8.4.1.2), from bare
// deflate, which some servers send under that name.
func openDeflate(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}
