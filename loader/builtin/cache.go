package builtin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cache is a browser's HTTP cache (RFC 9111, a private one), in memory. It keeps the
// answers to GET, by URL.
type cache struct{ kept map[string]*answer }

// answer is a response that may be kept.
type answer struct {
	url     string // of the request
	request http.Header
	status  int
	header  http.Header
	body    []byte // content codings undone
	at      time.Time
}

// keep keeps an answer, if it may be (RFC 9111 section 3) and can be of use again:
// fresh for a while, or with something to ask about it by.
func (c *cache) keep(a *answer) {
	if c.kept == nil {
		c.kept = map[string]*answer{}
	}
	delete(c.kept, a.url)
	directives := cacheControl(a.header)
	_, noStore := directives["no-store"]
	if noStore || a.status != http.StatusOK || slices.Contains(a.header.Values("Vary"), "*") {
		return
	}
	if a.lifetime() <= 0 && !a.askable() {
		return
	}
	c.kept[a.url] = a
}

// find returns the answer kept for a request, nil if there is none for one with such
// fields (RFC 9111 section 4.1), and whether it may be used without asking the server.
func (c *cache) find(url string, request http.Header, now time.Time) (kept *answer, fresh bool) {
	a := c.kept[url]
	if a == nil {
		return nil, false
	}
	for _, line := range a.header.Values("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if !slices.Equal(a.request[name], request[name]) {
				return nil, false
			}
		}
	}
	return a, now.Sub(a.at)+a.age() < a.lifetime()
}

// refreshed is a kept answer after the server has said that it still holds (RFC 9111
// section 4.3.4).
func (c *cache) refreshed(a *answer, by http.Header, now time.Time) *answer {
	again := *a
	again.header, again.at = a.header.Clone(), now
	for name, values := range by {
		if name != "Content-Length" && name != "Content-Encoding" {
			again.header[name] = values
		}
	}
	c.kept[a.url] = &again
	return &again
}

// ask adds the conditions by which the server can say that a kept answer still holds
// (RFC 9110 section 13.1).
func (a *answer) ask(request http.Header) {
	if tag := a.header.Get("Etag"); tag != "" {
		request.Set("If-None-Match", tag)
	}
	if modified := a.header.Get("Last-Modified"); modified != "" {
		request.Set("If-Modified-Since", modified)
	}
}

func (a *answer) askable() bool {
	return a.header.Get("Etag") != "" || a.header.Get("Last-Modified") != ""
}

// lifetime is how long the answer is fresh, counted from when it was made (RFC 9111
// section 4.2.1). An answer that says nothing of it is taken to be fresh for a tenth of
// its age at the time, as the section after it suggests and browsers do.
func (a *answer) lifetime() time.Duration {
	directives := cacheControl(a.header)
	if _, ok := directives["no-cache"]; ok {
		return 0
	}
	if seconds, ok := directives["max-age"]; ok {
		n, err := strconv.ParseInt(seconds, 10, 32)
		if err != nil {
			return 0 // stale, section 4.2.1 says of what cannot be read
		}
		return time.Duration(n) * time.Second
	}
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		date = a.at
	}
	if expires := a.header.Get("Expires"); expires != "" {
		until, err := http.ParseTime(expires)
		if err != nil {
			return 0
		}
		return until.Sub(date)
	}
	if modified, err := http.ParseTime(a.header.Get("Last-Modified")); err == nil {
		return max(0, date.Sub(modified)/10)
	}
	return 0
}

// age is how old the answer was when it came (RFC 9111 section 4.2.3).
func (a *answer) age() time.Duration {
	seconds, err := strconv.ParseInt(a.header.Get("Age"), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(max(0, seconds)) * time.Second
}

// cacheControl are the directives of a response, by their names in lower case (RFC
// 9111 section 5.2).
func cacheControl(header http.Header) map[string]string {
	directives := map[string]string{}
	for _, line := range header.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			directives[strings.ToLower(name)] = strings.Trim(value, `"`)
		}
	}
	return directives
}
