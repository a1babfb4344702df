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

// Budget limits how much an importer reads. Reading responses uses it up.
type Budget struct {
	Body  int64 // most octets of one body, both encoded and decoded
	Total int64 // octets left for all decoded bodies together
}

// NewBudget returns the budget of one recording: 256 MiB for a body, 1 GiB in total.
func NewBudget() *Budget { return &Budget{Body: 256 << 20, Total: 1 << 30} }

// checkCoding checks whether the body has the content codings that the header names (RFC
// 9110 section 8.4.1). If it does not, the recorder has most likely decoded it already, and
// checkCoding keeps it as it is. If gzip or zstd data is truncated, it keeps the part that
// can be decoded.
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
		return fmt.Errorf("%w: it exceeds %d octets when decoded", ErrBody, limit)
	case err == nil:
		r.Encoded = true
	default:
		r.keepDecoded(codings, budget.Body, err)
	}
	return nil
}

// keepDecoded handles a body that could not be decoded, or only its first Size octets.
func (r *Response) keepDecoded(codings []string, limit int64, cause error) {
	names := strings.Join(codings, ", ")
	magic := slices.Contains([]string{"gzip", "x-gzip", "zstd"}, codings[0])
	if decoder, err := openDecoder(codings, r.Body, limit); err == nil && len(codings) == 1 && magic && r.Size > 0 {
		if begun, _ := io.ReadAll(io.LimitReader(decoder, r.Size)); int64(len(begun)) == r.Size {
			r.Body = begun
			r.repair("The %s body is damaged (%v): the first %d octets could be decoded and were kept.", names, cause, r.Size)
			return
		}
	}
	r.Size = int64(len(r.Body))
	r.repair("Content-Encoding is %s, but the body is not (%v): kept as already decoded.", names, cause)
}

// Spend takes size octets from the total budget. It returns [ErrTotal] if that is not
// enough.
func (b *Budget) Spend(size int64) error {
	if size > b.Total {
		return ErrTotal
	}
	b.Total -= size
	return nil
}

// contentCodings lists the codings of a field in the order they were applied.
func contentCodings(field string) []string {
	var codings []string
	for name := range strings.SplitSeq(strings.ToLower(field), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" && name != "none" {
			codings = append(codings, name)
		}
	}
	return codings
}

// maxCodings limits the number of decoders that a field can request.
const maxCodings = 3

// openDecoder undoes the codings, the last one first. The data between two codings may have
// at most limit octets.
func openDecoder(codings []string, body []byte, limit int64) (r io.Reader, err error) {
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("%d nested content codings: want at most %d", len(codings), maxCodings)
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
		// RFC 9659 limits windows to 8 MB. With a concurrency of 1 there is nothing to close.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	}
	return nil, fmt.Errorf("unsupported content coding %.20q", coding)
}

// openDeflate accepts the zlib format, which deflate means (RFC 9110 section 8.4.1.2), and
// raw deflate, which some servers send under that name.
func openDeflate(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}
