package browser

import "time"

// Awaited is a request that a page is known to make some time after its load event, when
// nothing else may be in flight.
type Awaited struct {
	URL       string // as the page requests it
	Initiator string // URL of its initiator
	// Delay counts from the load event, or from the initiator's arrival if that is later.
	Delay time.Duration
}

// Due returns when the last awaited request is due that has not been made yet but whose
// initiator has arrived. ended are the ends of all requests so far by URL, and loaded is
// the moment of the load event, all on the same clock.
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
