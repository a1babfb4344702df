package builtin

import (
	"cmp"
	"fmt"
)

// Limits bound what a load may take up, so that no server or page exhausts the machine's memory. Zero values mean the
// defaults. A body beyond its limit fails, and its request is cancelled; a page with too many requests or too much
// content fails as a whole.
type Limits struct {
	// Body is the most octets of a body without its content codings, and of the data between two codings: 0 for 256
	// MiB.
	Body int64
	// Page is the most octets of all bodies of a page together, without their content codings: 0 for 512 MiB.
	Page int64
	// Requests is the most requests of a page, without redirects: 0 for 10,000.
	Requests int
}

// The defaults of Limits.
const (
	DefaultBodyLimit    = 256 << 20
	DefaultPageLimit    = 512 << 20
	DefaultRequestLimit = 10_000
)

// withDefaults returns the limits with defaults in place of zero values.
func (l Limits) withDefaults() Limits {
	return Limits{
		Body: cmp.Or(l.Body, DefaultBodyLimit), Page: cmp.Or(l.Page, DefaultPageLimit), Requests: cmp.Or(l.Requests, DefaultRequestLimit),
	}
}

func (l Limits) bodyError() error {
	return fmt.Errorf("the body exceeds the limit of %d octets without content codings (wiretime get raises it with --max-body)", l.Body)
}

func (l Limits) pageError() error {
	return fmt.Errorf("the page's bodies exceed the limit of %d octets without content codings (wiretime get raises it with --max-page)", l.Page)
}

func (l Limits) requestError() error {
	return fmt.Errorf("the page exceeds the limit of %d requests (wiretime get raises it with --max-requests)", l.Requests)
}
