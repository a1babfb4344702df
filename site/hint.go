package site

import (
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"
)

// Rule says which resources documents tell of before a client asks for them.
type Rule struct {
	// Do is how: "preload" by Link fields of the document (HTML, section 4.6.7.16), "early" by
	// the same in 103 Early Hints as well (RFC 8297), "push" by sending them unasked, which
	// servers can do with those of the document's own host (RFC 9113 section 8.4).
	Do string
	// Kinds are those of [Resource.Kind]; empty: all that can be told of. Where a resource
	// has none, it follows from its content type.
	Kinds []string
	// First is how many of each document's, in the order in which they are asked for; 0: all.
	First int
}

// The values of Rule.Do.
const (
	doPreload = "preload"
	doEarly   = "early"
	doPush    = "push"
)

// Hint makes a copy of the site whose documents have Preload and Early, or Push, by a rule, in
// place of what they had; it shares the site's bodies. A resource is the document's that its
// chain of initiators leads to; where the chain ends before, it is that of the page, of those
// that are navigated to, that is last before it in the archive. Their order is the archive's.
// Only answers to GET with status 200 are told of. An unknown Rule.Do is an error.
func (s *Site) Hint(rule Rule) (*Site, error) {
	if !slices.Contains([]string{doPreload, doEarly, doPush}, rule.Do) {
		return nil, fmt.Errorf("hint at resources of the site %s: %q: want %s, %s or %s", s.Name, rule.Do, doPreload, doEarly, doPush)
	}
	hinted := s.derive()
	documents := hinted.documents()
	for i := range hinted.Resources {
		r := &hinted.Resources[i]
		if documents[i] != i {
			continue
		}
		if rule.Do == doPush {
			r.Push = nil
		} else {
			r.Preload, r.Early = nil, false
		}
	}
	for i, d := range documents {
		if d < 0 || d == i {
			continue
		}
		if document, r := &hinted.Resources[d], &hinted.Resources[i]; rule.covers(document, r) {
			document.hint(rule, r.URL)
		}
	}
	return hinted, nil
}

// hint adds a resource unless there are enough.
func (r *Resource) hint(rule Rule, rawURL string) {
	list := &r.Preload
	if rule.Do == doPush {
		list = &r.Push
	}
	if rule.First > 0 && len(*list) == rule.First {
		return
	}
	*list = append(*list, rawURL)
	r.Early = r.Early || rule.Do == doEarly
}

// covers says whether a document may tell of a resource of its own.
func (rule Rule) covers(document, r *Resource) bool {
	if r.Method != "GET" || r.Status != 200 || len(rule.Kinds) > 0 && !slices.Contains(rule.Kinds, r.kind()) {
		return false
	}
	if rule.Do == doPush {
		return host(r.URL) == host(document.URL)
	}
	return destinations[r.kind()] != ""
}

// documents gives each resource the document that it belongs to, as an index into Resources:
// itself for a document, -1 if there is none.
func (s *Site) documents() []int {
	const unknown = -2
	owner := make([]int, len(s.Resources))
	page := s.landing(s.Page)
	pages := map[int]bool{page: true}
	for _, rawURL := range slices.Concat(s.Journey, s.Tabs) {
		pages[s.landing(rawURL)] = true
	}
	last := make([]int, len(s.Resources)) // the last of the pages before it
	for i := range s.Resources {
		if pages[i] {
			page = i
		}
		last[i], owner[i] = page, unknown
		if s.Resources[i].isDocument() {
			owner[i] = i
		}
	}
	for i := range s.Resources {
		var chain []int
		at := i
		for owner[at] == unknown {
			chain = append(chain, at)
			owner[at] = last[at] // which also ends a circle
			if by, ok := s.find("GET", s.Resources[at].Initiator); ok {
				at = by
			}
		}
		for _, c := range chain {
			owner[c] = owner[at]
		}
	}
	return owner
}

// landing is where a page's redirects end, as an index into Resources; -1 if that is no
// document.
func (s *Site) landing(page string) int {
	const most = 20 // redirects that browsers follow (Fetch, section 4.4)
	r, ok := s.Lookup("GET", page)
	for range most {
		if !ok || !r.isRedirect() {
			break
		}
		r, _ = s.redirect(r)
		ok = r != nil
	}
	if !ok || !r.isDocument() {
		return -1
	}
	i, _ := s.find(r.Method, r.URL)
	return i
}

// isDocument says whether a resource is an HTML page that has come.
func (r *Resource) isDocument() bool {
	return r.Method == "GET" && r.Status == 200 && r.kind() == "document"
}

// kind is Kind, or what follows from the content type; empty if that is not known either.
func (r *Resource) kind() string {
	if r.Kind != "" {
		return r.Kind
	}
	switch t := r.mediaType(); {
	case t == "text/html" || t == "application/xhtml+xml":
		return "document"
	case t == "text/css":
		return "stylesheet"
	case strings.HasSuffix(t, "javascript") || strings.HasSuffix(t, "ecmascript"):
		return "script"
	case t == "text/vtt":
		return "texttrack"
	case strings.HasPrefix(t, "image/"):
		return "image"
	case strings.HasPrefix(t, "font/") || strings.HasPrefix(t, "application/font-") || strings.HasPrefix(t, "application/x-font-"):
		return "font"
	case strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "audio/"):
		return "media"
	case t == "application/json":
		return "fetch"
	}
	return ""
}

// mediaType is what the content type says, in lower case and without parameters; empty if it
// says nothing.
func (r *Resource) mediaType() string {
	value, _ := r.field("content-type")
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		t, _, _ = strings.Cut(value, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// destinations are what browsers preload things as (Fetch, section 2.2.7), by their kinds.
// Fonts and what scripts fetch are asked for with CORS, and a preload is only of use to a
// request of the same mode.
var destinations = map[string]string{
	"stylesheet": "style",
	"script":     "script",
	"image":      "image",
	"font":       "font; crossorigin",
	"fetch":      "fetch; crossorigin",
	"xhr":        "fetch; crossorigin",
	"texttrack":  "track",
}

// links are the Link fields for Preload. What the archive lacks, or browsers cannot preload,
// is left out.
func (s *Site) links(r *Resource) []string {
	var links []string
	scheme := "https"
	if s.clear {
		scheme = "http"
	}
	for _, rawURL := range r.Preload {
		target, ok := s.Lookup("GET", rawURL)
		if !ok || destinations[target.kind()] == "" {
			continue
		}
		address := scheme + strings.ReplaceAll(strings.TrimPrefix(target.URL, "https"), ">", "%3E")
		links = append(links, fmt.Sprintf("<%s>; rel=preload; as=%s", address, destinations[target.kind()]))
	}
	return links
}

// derive makes a copy of the site whose resources may be changed, but for their requests. It
// shares the bodies, and does not own what is mapped for them.
func (s *Site) derive() *Site {
	c := *s
	c.pack = nil
	c.Resources = slices.Clone(s.Resources)
	return &c
}

func host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
