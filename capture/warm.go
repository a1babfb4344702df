package capture

import (
	"fmt"
	"strings"
)

// Warm is what a client still has of an earlier visit to a site when it comes
// back. The zero value is a client that was never there. Whoever was there knows
// the site's names, so these count with everything below.
type Warm struct {
	// Sessions are TLS sessions, which handshakes can resume (RFC 8446 section
	// 2.2).
	Sessions bool
	// EarlyData is leave to send requests in the first flight of a resumed
	// session, 0-RTT (RFC 9001 section 4.6). It needs Sessions, and HTTP/3.
	EarlyData bool
	// Connections are still open.
	Connections bool
	// Cache is the HTTP cache (RFC 9111).
	Cache bool
}

// visits are the words of studies, each with what it stands for.
var visits = []struct {
	word string
	warm Warm
}{
	{"cold", Warm{}},
	{"resumed", Warm{Sessions: true}},
	{"0rtt", Warm{Sessions: true, EarlyData: true}},
	{"connected", Warm{Sessions: true, Connections: true}},
	{"cached", Warm{Sessions: true, Cache: true}},
}

// Visits returns the words that ParseVisit knows, the coldest first.
func Visits() []string {
	words := make([]string, len(visits))
	for i := range visits {
		words[i] = visits[i].word
	}
	return words
}

// ParseVisit returns what a study's word for a visit stands for:
//
//   - cold: the client was never there;
//   - resumed: it was, its connections are closed, its cache is empty;
//   - 0rtt: the same, and it may send early data;
//   - connected: its connections are open, its cache is empty;
//   - cached: its connections are closed, its cache is full; no early data.
func ParseVisit(word string) (Warm, error) {
	for i := range visits {
		if visits[i].word == word {
			return visits[i].warm, nil
		}
	}
	return Warm{}, fmt.Errorf("unknown visit %q: there are %s", word, strings.Join(Visits(), ", "))
}
