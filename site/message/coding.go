package message

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"wiretime/coding"
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
	magic := slices.Contains([]string{"gzip", "zstd"}, codings[0])
	if decoder, err := coding.Open(r.Body, codings, limit); err == nil && len(codings) == 1 && magic && r.Size > 0 {
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
