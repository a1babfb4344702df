package browser

import "time"

// Awaited is a request that a page is known to make some time after its load event, when
// nothing else may be under way.
type Awaited struct {
	URL       string // as the page asks for it
	Initiator string // URL of what asks for it
	// Delay counts from the load event, or from when the initiator had come if that was later.
	Delay time.Duration
}

// Due is when the last of the awaited requests is to be made that have not been made yet:
// those whose initiators have come. ended are the ends of all requests so far by URL, and
// loaded is the moment of the load event, all in the same time.
func Due(awaited []Awaited, ended map[string]time.Duration, loaded time.Duration) time.Duration {
	last := time.Duration(0)
	for _, a := range awaited {
		if _, made := ended[a.URL]; made {
			continue
		}
		if at, came := ended[a.Initiator]; came {
			last = max(last, max(at, loaded)+a.Delay)
		}
	}
	return last
}
