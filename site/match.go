package site

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
)

// Answer is a response to a request, as plain values.
type Answer struct {
	// Resource is the resource that answers. It is nil for a miss and for a CORS preflight
	// that Respond answers itself because the archive lacks it.
	Resource *Resource
	// Exact says whether the archive has the requested URL, to the octet of its query. If not,
	// Resource.URL is the nearest one, by [Site.Match].
	Exact bool
	// Status is the status code: 0 for a miss, 204 for a preflight that Respond answers
	// itself.
	Status int
	// Header holds the field lines as names and values, including Link fields for
	// Resource.Preload.
	Header [][2]string
	// Body is the content. It must not be changed.
	Body []byte
}

// Lookup returns the resource that answers a request exactly. It ignores the URL's scheme,
// port and fragment and how the path is percent-encoded; the query must match to the octet.
// HEAD gets the answer to GET.
func (s *Site) Lookup(method, rawURL string) (*Resource, bool) {
	i, ok := s.find(method, rawURL)
	if !ok {
		return nil, false
	}
	return &s.Resources[i], true
}

// find does what Lookup does, with an index into Resources.
func (s *Site) find(method, rawURL string) (int, bool) {
	k, err := key(method, rawURL)
	if err != nil {
		return 0, false
	}
	i, ok := s.exact[k]
	if !ok && method == "HEAD" {
		return s.find("GET", rawURL)
	}
	return i, ok
}

// Match returns the resource that answers a request: the exact one of [Site.Lookup], or
// else the nearest with the same method, host and path, or nil. Pages put times and random
// numbers into queries, so a replay requests URLs that the recording has not seen. The
// nearest is
//
//  1. the one with the greatest share of equal parameters, 2M/T, where M is how many
//     parameters of the request the archived URL has with the same value and T how many
//     both have together (as in Web Page Replay);
//  2. of those, the one with the greatest share of equal parameter names, counted likewise;
//  3. of those, the one whose query begins with most octets of the request's (as in
//     Mahimahi);
//  4. of those, the first in the archive.
//
// Parameters are separated by &, and a parameter's name ends at the first =. Both are
// compared to the octet, and a parameter that occurs twice counts twice. HEAD gets the
// answer to GET; request bodies are ignored.
func (s *Site) Match(method, rawURL string) (r *Resource, exact bool) {
	if r, ok := s.Lookup(method, rawURL); ok {
		return r, true
	}
	k, err := key(method, rawURL)
	if err != nil {
		return nil, false
	}
	path, query, _ := strings.Cut(k, "?")
	candidates := s.near[path]
	if len(candidates) == 0 && method == "HEAD" {
		return s.Match("GET", rawURL)
	}
	asked := count(query)
	var best likeness
	for _, i := range candidates {
		_, archived, _ := strings.Cut(s.Resources[i].URL, "?")
		if l := asked.compare(query, archived); r == nil || l.exceeds(best) {
			r, best = &s.Resources[i], l
		}
	}
	return r, false
}

// counted holds the parameters and names of a query with their counts.
type counted struct {
	total         int
	pieces, names map[string]int
}

func count(query string) counted {
	c := counted{pieces: map[string]int{}, names: map[string]int{}}
	for piece := range parameters(query) {
		name, _, _ := strings.Cut(piece, "=")
		c.total++
		c.pieces[piece]++
		c.names[name]++
	}
	return c
}

// parameters yields the parameters of a query in order.
func parameters(query string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for piece := range strings.SplitSeq(query, "&") {
			if piece != "" && !yield(piece) {
				return
			}
		}
	}
}

// likeness measures how much two queries have in common.
type likeness struct {
	equal, names int // parameters in common, and parameters whose names are
	total        int // parameters of both
	prefix       int // octets
}

// compare measures how much an archived query has in common with the requested one.
func (c counted) compare(query, archived string) likeness {
	l := likeness{total: c.total}
	pieces, names := map[string]int{}, map[string]int{}
	for piece := range parameters(archived) {
		name, _, _ := strings.Cut(piece, "=")
		l.total++
		if pieces[piece]++; pieces[piece] <= c.pieces[piece] {
			l.equal++
		}
		if names[name]++; names[name] <= c.names[name] {
			l.names++
		}
	}
	for l.prefix < min(len(query), len(archived)) && query[l.prefix] == archived[l.prefix] {
		l.prefix++
	}
	return l
}

// exceeds reports whether l is greater. It compares shares without dividing.
func (l likeness) exceeds(other likeness) bool {
	if a, b := l.equal*other.total, other.equal*l.total; a != b {
		return a > b
	}
	if a, b := l.names*other.total, other.names*l.total; a != b {
		return a > b
	}
	return l.prefix > other.prefix
}

// Respond answers a request by [Site.Match]; path is the request's path with its query.
//
// If the archive lacks an OPTIONS request but has its URL with another method, Respond
// treats the request as a CORS preflight and allows it: the origin and credentials that the
// archived response allows, or else any origin; all methods; and all fields as far as the
// wildcard goes (Fetch, section 3.3.5). Browsers that send credentials do not accept the
// wildcard, so a caller that knows access-control-request-headers replaces the wildcard by
// them.
func (s *Site) Respond(method, host, path string) Answer {
	rawURL := "https://" + host + path
	r, exact := s.Match(method, rawURL)
	if r == nil && method == "OPTIONS" {
		return s.preflight(rawURL)
	}
	if r == nil {
		return Answer{}
	}
	body, err := s.Body(r)
	if err != nil {
		return Answer{}
	}
	header := make([][2]string, 0, len(r.Header)+len(r.Preload))
	for _, h := range r.Header {
		header = append(header, [2]string{h.Name, h.Value})
	}
	return Answer{Resource: r, Exact: exact, Status: r.Status, Header: append(header, s.announcements(r)...), Body: body}
}

// preflight returns the answer to a CORS preflight.
func (s *Site) preflight(rawURL string) Answer {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		r, exact := s.Match(method, rawURL)
		if r == nil {
			continue
		}
		origin := "*"
		if v, ok := r.field("access-control-allow-origin"); ok {
			origin = v
		}
		header := [][2]string{
			{"access-control-allow-origin", origin},
			{"access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"},
			{"access-control-allow-headers", "*, authorization"},
		}
		if v, ok := r.field("access-control-allow-credentials"); ok {
			header = append(header, [2]string{"access-control-allow-credentials", v})
		}
		return Answer{Exact: exact, Status: 204, Header: header}
	}
	return Answer{}
}

// field returns the value of a resource's first field with the given lower-case name.
func (r *Resource) field(name string) (string, bool) {
	i := slices.IndexFunc(r.Header, func(h Header) bool { return strings.EqualFold(h.Name, name) })
	if i < 0 {
		return "", false
	}
	return r.Header[i].Value, true
}

// arrange checks a resource and adds it to the lookup tables. It is an error if another
// resource answers the same request.
func (s *Site) arrange(i int) error {
	r := &s.Resources[i]
	u, err := parseURL(r.URL)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	k, err := keyOf(r.Method, u)
	if err != nil {
		return err
	}
	if first, ok := s.exact[k]; ok {
		return fmt.Errorf("duplicate resource %s %s: first seen as resource %d", r.Method, r.URL, first)
	}
	s.exact[k] = i
	path, _, _ := strings.Cut(k, "?")
	s.near[path] = append(s.near[path], i)
	return nil
}

// key identifies a request by method, host, path and query.
func key(method, rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("%q is not an absolute http(s) URL", rawURL)
	}
	return keyOf(method, u)
}

func keyOf(method string, u *url.URL) (string, error) {
	// Each segment is decoded and encoded on its own: %41 equals A, but a/b differs from
	// a%2Fb.
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return "", err
		}
		segments[i] = url.PathEscape(decoded)
	}
	path := strings.Join(segments, "/")
	if path == "" {
		path = "/"
	}
	k := method + " " + strings.ToLower(u.Hostname()) + path
	if u.RawQuery != "" {
		k += "?" + u.RawQuery
	}
	return k, nil
}
