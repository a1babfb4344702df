package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"wiretime/coding"
	"wiretime/site/recording"
)

// Budget limits how much an importer reads. Reading responses uses it up.
type Budget struct {
	Body int64 // most octets of one body, both encoded and decoded
	// Total is how many octets are left for all bodies together. All that comes out of a
	// decoder counts, also if the body turns out to be damaged or too long, and so does what
	// lies between two codings.
	Total int64
}

// NewBudget returns the budget of one recording.
func NewBudget(l recording.Limits) *Budget {
	l = l.OrDefault()
	return &Budget{Body: l.Body, Total: l.Total}
}

// charged is a reader whose octets are taken from the total budget.
type charged struct {
	io.Reader
	budget *Budget
}

func (c charged) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if short := c.budget.Spend(int64(n)); short != nil {
		return 0, short
	}
	return n, err
}

// decoder undoes content codings, the last one first, at the budget's expense.
func (b *Budget) decoder(body []byte, codings []string) (io.Reader, error) {
	if len(codings) > coding.MaxCodings {
		return nil, fmt.Errorf("%d nested content codings: want at most %d", len(codings), coding.MaxCodings)
	}
	var r io.Reader = bytes.NewReader(body)
	for _, name := range slices.Backward(codings) {
		plain, err := coding.NewReader(name, io.LimitReader(r, b.Body))
		if err != nil {
			return nil, err
		}
		r = charged{plain, b}
	}
	return r, nil
}

// checkCoding checks whether the body has the content codings that the header names (RFC
// 9110 section 8.4.1). If it does not, the recorder has most likely decoded it already, and
// checkCoding keeps it as it is. If gzip or zstd data is truncated, it keeps the part that
// can be decoded. It charges the budget.
func (r *Response) checkCoding(budget *Budget) error {
	codings := coding.Names(r.field("content-encoding"))
	if len(r.Body) == 0 || len(codings) == 0 {
		return budget.Spend(r.Size)
	}
	decoder, err := budget.decoder(r.Body, codings)
	if err == nil {
		r.Size, err = io.Copy(io.Discard, io.LimitReader(decoder, budget.Body+1))
	}
	switch {
	case errors.Is(err, ErrTotal):
		return ErrTotal
	case r.Size > budget.Body:
		return fmt.Errorf("%w: it exceeds %d octets when decoded", ErrBody, budget.Body)
	case err == nil:
		r.Encoded = true
		return nil
	}
	r.keepDecoded(codings, budget.Body, err)
	return budget.Spend(r.Size)
}

// keepDecoded handles a body that could not be decoded, or only its first Size octets.
func (r *Response) keepDecoded(codings []string, limit int64, cause error) {
	names := strings.Join(codings, ", ")
	magic := slices.Contains([]string{"gzip", "zstd"}, codings[0])
	// The same octets were charged when they were decoded first.
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
		b.Total = 0
		return ErrTotal
	}
	b.Total -= size
	return nil
}
