package recording

import (
	"cmp"
	"fmt"
)

// Limits bound what is read of a recording and what a site keeps of it. Zero means the
// default.
type Limits struct {
	// Exchanges is the number of requests: 100,000 by default.
	Exchanges int
	// Body is the length in octets of one body, both encoded and decoded: 256 MiB by default.
	Body int64
	// Total is the length in octets of the file or folder, without its compression, and also
	// that of all bodies together, decoded or made: 1 GiB by default.
	Total int64
}

// OrDefault returns the limits with the defaults in place of zeros.
func (l Limits) OrDefault() Limits {
	return Limits{cmp.Or(l.Exchanges, 100_000), cmp.Or(l.Body, 256<<20), cmp.Or(l.Total, 1<<30)}
}

// These errors are advice for people: they name the flags of site import.

// TooManyExchanges returns the error for a recording with more than l.Exchanges of what, in
// the plural.
func (l Limits) TooManyExchanges(what string) error {
	return fmt.Errorf("more than %d %s: import a single page, or raise the limit with --max-requests", l.Exchanges, what)
}

// TooLong returns the error for an input with more than l.Total octets. what names the input.
func (l Limits) TooLong(what string) error {
	return fmt.Errorf("%s exceeds %d octets: import a single page, or raise the limit with --max-size", what, l.Total)
}

// BodyTooLong says in a sentence that something with more than l.Body octets was left out.
func (l Limits) BodyTooLong(octets int64) string {
	return fmt.Sprintf("%d octets, more than %d (--max-body)", octets, l.Body)
}
