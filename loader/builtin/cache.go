package builtin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cache is a browser's HTTP cache (RFC 9111, a private one), in memory. It keeps the
// responses to GET, by URL.
type cache struct{ kept map[string]*answer }

// answer is a response that may be stored.
type answer struct {
	url     string // of the request
	request http.Header
	status  int
	header  http.Header
	body    []byte // decoded
	at      time.Time
}

// keep stores a response if that is permitted (RFC 9111 section 3) and useful: it
// is fresh for a while, or can be revalidated.
func (c *cache) keep(a *answer) {
	if c.kept == nil {
		c.kept = map[string]*answer{}
	}
	delete(c.kept, a.url)
	if a.storable() {
		c.kept[a.url] = a
	}
}

// drop forgets the response to a URL.
func (c *cache) drop(url string) { delete(c.kept, url) }

// storable reports whether the response may be stored, and is worth it.
func (a *answer) storable() bool {
	_, noStore := cacheControl(a.header)["no-store"]
	if noStore || a.status != http.StatusOK || slices.Contains(a.header.Values("Vary"), "*") {
		return false
	}
	return a.lifetime() > 0 || a.askable()
}

// find returns the stored response to a request with such fields (RFC 9111 section
// 4.1), or nil, and whether it may be used without revalidation.
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

// refreshed returns a stored response after the server has validated it (RFC 9111
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

// ask adds the conditions that let the server validate a stored response (RFC 9110
// section 13.1).
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

// lifetime returns how long the response is fresh, counted from its creation (RFC 9111
// section 4.2.1). Without explicit information that is a tenth of its age at the time,
// as the next section suggests and browsers do.
func (a *answer) lifetime() time.Duration {
	directives := cacheControl(a.header)
	if _, ok := directives["no-cache"]; ok {
		return 0
	}
	if seconds, ok := directives["max-age"]; ok {
		n, err := strconv.ParseInt(seconds, 10, 32)
		if err != nil {
			return 0 // invalid values mean stale (section 4.2.1)
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

// age returns how old the response was when it arrived (RFC 9111 section
// 4.2.3).
func (a *answer) age() time.Duration {
	seconds, err := strconv.ParseInt(a.header.Get("Age"), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(max(0, seconds)) * time.Second
}

// cacheControl returns the directives of a response by their names in lower case
// (RFC 9111 section 5.2).
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
