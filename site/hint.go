package site

import (
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Rule says which resources a document announces before the client requests them.
type Rule struct {
	// Do says how: "preload" in Link fields of the document (HTML, section 4.6.7.16), "early"
	// also in 103 Early Hints (RFC 8297), "push" by server push, which covers resources on the
	// document's own host (RFC 9113 section 8.4), "subresource" in X-Subresource fields (SPDY's
	// server hint). Archives cannot store that a site uses "subresource".
	Do string
	// Kinds limits the rule to these values of [Resource.Kind]; empty means all that can be
	// announced. If a resource has no kind, its content type decides.
	Kinds []string
	// First limits the number of resources per document, in request order; 0 means all.
	First int
	// OwnHost limits the rule to the resources that every value of Do can announce: those on the document's own host that
	// can be preloaded.
	OwnHost bool
}

// The values of Rule.Do.
const (
	Preload     = "preload"
	Early       = "early"
	Push        = "push"
	Subresource = "subresource"
)

// ParseRule parses KINDS or KINDS:N, where KINDS are kinds separated by commas, or "all", and
// N is the limit per document.
func ParseRule(do, text string) (Rule, error) {
	kinds, first, limited := strings.Cut(text, ":")
	rule := Rule{Do: do}
	if kinds != "all" {
		rule.Kinds = strings.Split(kinds, ",")
	}
	if limited {
		n, err := strconv.Atoi(first)
		if err != nil || n < 1 {
			return rule, fmt.Errorf("invalid rule %q: want a limit of 1 or more after the colon", text)
		}
		rule.First = n
	}
	for _, kind := range rule.Kinds {
		if destinations[kind] == "" {
			return rule, fmt.Errorf("invalid rule %q: unknown kind %q: want all, or some of %s", text, kind, strings.Join(slices.Sorted(maps.Keys(destinations)), ", "))
		}
	}
	return rule, nil
}

// Hint makes a copy of the site in which a rule sets Preload and Early, or Push, of every
// document in place of the old values. The copy shares the site's bodies. A resource
// belongs to the document at the end of its chain of initiators. If the chain ends earlier,
// the resource belongs to the last navigated page before it in the archive. Resources keep
// the archive's order. Only answers to GET with status 200 are announced. An unknown
// Rule.Do is an error.
func (s *Site) Hint(rule Rule) (*Site, error) {
	if !slices.Contains([]string{Preload, Early, Push, Subresource}, rule.Do) {
		return nil, fmt.Errorf("hint at resources of the site %s: invalid way %q: want %s, %s, %s or %s", s.Name, rule.Do, Preload, Early, Push, Subresource)
	}
	hinted := s.derive()
	hinted.subresource = rule.Do == Subresource
	documents := hinted.documents()
	for i := range hinted.Resources {
		r := &hinted.Resources[i]
		if documents[i] != i {
			continue
		}
		if rule.Do == Push {
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

// hint adds a resource unless the rule's limit is reached.
func (r *Resource) hint(rule Rule, rawURL string) {
	list := &r.Preload
	if rule.Do == Push {
		list = &r.Push
	}
	if rule.First > 0 && len(*list) == rule.First {
		return
	}
	*list = append(*list, rawURL)
	r.Early = r.Early || rule.Do == Early
}

// covers reports whether a document may announce a resource of its own.
func (rule Rule) covers(document, r *Resource) bool {
	if r.Method != "GET" || r.Status != 200 || len(rule.Kinds) > 0 && !slices.Contains(rule.Kinds, r.kind()) {
		return false
	}
	if (rule.Do == Push || rule.OwnHost) && host(r.URL) != host(document.URL) {
		return false
	}
	if rule.Do == Push && !rule.OwnHost {
		return true
	}
	return destinations[r.kind()] != ""
}

// documents returns, for each resource, the index in Resources of the document it belongs
// to: a document's own index, or -1 if there is none.
func (s *Site) documents() []int {
	const unknown = -2
	owner := make([]int, len(s.Resources))
	page := s.landing(s.Page)
	pages := map[int]bool{page: true}
	for _, rawURL := range s.Visited()[1:] {
		pages[s.landing(rawURL)] = true
	}
	last := make([]int, len(s.Resources)) // the last page before it
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
			owner[at] = last[at] // which also breaks a cycle
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

// landing returns the index in Resources where a page's redirects end, or -1 if that is not
// a document.
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

// isDocument reports whether a resource is an HTML page with status 200.
func (r *Resource) isDocument() bool {
	return r.Method == "GET" && r.Status == 200 && r.kind() == "document"
}

// kind returns Kind, or the kind that follows from the content type, or "" if neither is
// known.
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

// mediaType returns the media type of the content-type field in lower case without
// parameters, or "" if there is none.
func (r *Resource) mediaType() string {
	value, _ := r.field("content-type")
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		t, _, _ = strings.Cut(value, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// destinations maps kinds to preload destinations (Fetch, section 2.2.7). Browsers request
// fonts and scripts' fetches with CORS, and can use a preload only if its mode matches.
var destinations = map[string]string{
	"stylesheet": "style",
	"script":     "script",
	"image":      "image",
	"font":       "font; crossorigin",
	"fetch":      "fetch; crossorigin",
	"xhr":        "fetch; crossorigin",
	"texttrack":  "track",
}

// links returns the Link fields for Preload, without resources that the archive lacks or
// that browsers cannot preload.
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

// announcements returns the fields that announce the resources in a response's Preload.
func (s *Site) announcements(r *Resource) [][2]string {
	var fields [][2]string
	if !s.subresource {
		for _, link := range s.links(r) {
			fields = append(fields, [2]string{"link", link})
		}
		return fields
	}
	for _, rawURL := range r.Preload {
		if target, ok := s.Lookup("GET", rawURL); ok && target.mediaType() != "" { // X-Subresource must name the type
			fields = append(fields, [2]string{"x-subresource", target.mediaType() + "; " + target.URL})
		}
	}
	return fields
}

// derive makes a copy of the site whose resources may be changed, except for their
// requests. The copy shares the bodies and does not own their mapping.
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
