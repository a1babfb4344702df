package message

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"wiretime/coding"
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
	codings := coding.Names(r.field("content-encoding"))
	if len(r.Body) == 0 || len(codings) == 0 {
		return nil
	}
	limit := min(budget.Body, budget.Total)
	decoder, err := coding.Open(r.Body, codings, budget.Body)
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
	magic := slices.Contains([]string{"gzip", "zstd"}, codings[0])
	if decoder, err := coding.Open(r.Body, codings, limit); err == nil && len(codings) == 1 && magic && r.Size > 0 {
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
