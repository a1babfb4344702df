package capture

import (
	"fmt"
	"strings"
)

// Warm is what a client still has from an earlier visit to a site when it
// returns. The zero value is a client that has never visited. A client that has
// visited knows the site's names, so each of the fields below implies a warm
// resolver.
type Warm struct {
	// Sessions are TLS sessions that handshakes can resume (RFC 8446 section
	// 2.2).
	Sessions bool
	// EarlyData permits requests in the first flight of a resumed session,
	// 0-RTT (RFC 9001 section 4.6). It requires Sessions, and HTTP/3.
	EarlyData bool
	// Connections says that connections are still open.
	Connections bool
	// Cache says that the HTTP cache is filled (RFC 9111).
	Cache bool
	// Reload says that the user reloads the page that the client still shows: the client
	// revalidates what it has, however fresh it is. It requires Cache.
	Reload bool
}

// visits are the visit words of studies with their meaning.
var visits = []struct {
	word string
	warm Warm
}{
	{"cold", Warm{}},
	{"resumed", Warm{Sessions: true}},
	{"0rtt", Warm{Sessions: true, EarlyData: true}},
	{"connected", Warm{Sessions: true, Connections: true}},
	{"cached", Warm{Sessions: true, Cache: true}},
	{"again", Warm{Sessions: true, Connections: true, Cache: true}},
	{"reload", Warm{Sessions: true, Connections: true, Cache: true, Reload: true}},
}

// Visits returns the words that ParseVisit accepts, the coldest first.
func Visits() []string {
	words := make([]string, len(visits))
	for i := range visits {
		words[i] = visits[i].word
	}
	return words
}

// ParseVisit returns the meaning of a study's visit word:
//
//   - cold: the client has never visited the site;
//   - resumed: it has; its connections are closed and its cache is empty;
//   - 0rtt: the same, and it may send early data;
//   - connected: its connections are open, its cache is empty;
//   - cached: its connections are closed, its cache is full; no early data;
//   - again: its connections are open, its cache is full, and what is fresh there is not
//     requested;
//   - reload: the same, but the page is reloaded, and what is in the cache is requested with
//     its validators.
func ParseVisit(word string) (Warm, error) {
	for i := range visits {
		if visits[i].word == word {
			return visits[i].warm, nil
		}
	}
	return Warm{}, fmt.Errorf("unknown visit %q; write one of %s", word, strings.Join(Visits(), ", "))
}
