package browser

import "fmt"

// The limits of a page's load, and of what a browser that a page has taken over may send. They are many times what
// the largest pages need.
const (
	// MaxRequests is how many requests of a page are recorded, WebSockets included.
	MaxRequests = 20_000
	// MaxTargets is how many frames in processes of their own, and workers, a page may have at the same time.
	MaxTargets = 1000
	// MaxOctets is how many octets a browser may report about a page. A request takes a few thousand.
	MaxOctets = 128 << 20
	// MaxMessage is the size of a message from a browser, in octets.
	MaxMessage = 64 << 20
)

// Tally counts what a browser reports about a page.
type Tally struct {
	Requests, Targets int
	Octets            int64
}

// Excess returns an error that names the limit that the page exceeds, or nil. It is [MaxRequests], [MaxTargets] or
// [MaxOctets].
func (t Tally) Excess() error {
	switch {
	case t.Requests > MaxRequests:
		return fmt.Errorf("the page makes more than %d requests, the limit for a page", MaxRequests)
	case t.Targets > MaxTargets:
		return fmt.Errorf("the page has more than %d frames and workers at the same time, the limit for a page", MaxTargets)
	case t.Octets > MaxOctets:
		return fmt.Errorf("the browser has reported more than %d octets about the page, the limit for a page", MaxOctets)
	}
	return nil
}
