// Package outline summarises a site: the number, types, hosts and sizes of its resources,
// and how deep requests nest.
package outline

import (
	"bytes"
	"cmp"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"wiretime/site"
)

// Outline is the summary of a site. Sizes are octets of bodies as sent.
type Outline struct {
	Resources int
	Octets    int64
	Hosts     []Host // in the order of their first use, the page's own first
	Types     []Type // the one with the most octets first
	Redirects int    // resources with a status of 300 to 399
	Made      int    // resources whose bodies the recording lacked
	// Depth is how many resources must arrive, one after the other, before the last one can be
	// requested: 1 for a page and what it references, 2 for what its style sheets reference,
	// and so on. A resource without a known initiator counts as requested by the page.
	Depth int
	// Deepest is a chain of that length, starting at the page.
	Deepest []string
	Largest []site.Resource // up to five, the largest first
}

// Host is what a site has on one host.
type Host struct {
	site.Host
	Resources int
	Octets    int64
}

// Type is what a site has of one kind: "document", "style sheet", "script", "image",
// "font", "data", "media", "redirect" or "other".
type Type struct {
	Name      string
	Resources int
	Octets    int64
}

// Of returns the outline of a site.
func Of(s *site.Site) (Outline, error) {
	o := Outline{Resources: len(s.Resources)}
	hosts, types := map[string]*Host{}, map[string]*Type{}
	known := map[string]site.Host{}
	for _, h := range slices.Backward(s.Hosts) {
		known[h.Name] = h
	}
	var order []*Host
	for _, name := range s.Origins() {
		h := &Host{Host: site.Host{Name: name}}
		if described, ok := known[name]; ok {
			h.Host = described
		}
		hosts[name], order = h, append(order, h)
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		o.Octets += r.Size
		if r.Status >= 300 && r.Status < 400 {
			o.Redirects++
		}
		if r.Made {
			o.Made++
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			return o, err
		}
		if h := hosts[u.Host]; h != nil {
			h.Resources++
			h.Octets += r.Size
		}
		name := kind(r)
		t := types[name]
		if t == nil {
			t = &Type{Name: name}
			types[name] = t
		}
		t.Resources++
		t.Octets += r.Size
	}
	for _, h := range order {
		o.Hosts = append(o.Hosts, *h)
	}
	for _, t := range types {
		o.Types = append(o.Types, *t)
	}
	slices.SortFunc(o.Types, func(a, b Type) int {
		return cmp.Or(cmp.Compare(b.Octets, a.Octets), cmp.Compare(b.Resources, a.Resources), strings.Compare(a.Name, b.Name))
	})
	o.Largest = slices.Clone(s.Resources)
	slices.SortStableFunc(o.Largest, func(a, b site.Resource) int { return cmp.Compare(b.Size, a.Size) })
	o.Largest = o.Largest[:min(5, len(o.Largest))]
	o.Depth, o.Deepest = depth(s)
	return o, nil
}

// MediaType returns a resource's media type in lower case without parameters, or "" if the
// header has none.
func MediaType(r *site.Resource) string {
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, "content-type") {
			if t, _, err := mime.ParseMediaType(h.Value); err == nil {
				return t
			}
			t, _, _ := strings.Cut(h.Value, ";")
			return strings.ToLower(strings.TrimSpace(t))
		}
	}
	return ""
}

// kind returns a resource's type in words for people.
func kind(r *site.Resource) string {
	if r.Status >= 300 && r.Status < 400 {
		return "redirect"
	}
	t := MediaType(r)
	switch {
	case t == "text/html" || t == "application/xhtml+xml":
		return "document"
	case t == "text/css":
		return "style sheet"
	case strings.Contains(t, "javascript") || strings.Contains(t, "ecmascript"):
		return "script"
	case strings.HasPrefix(t, "image/"):
		return "image"
	case strings.Contains(t, "font"):
		return "font"
	case strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "audio/"):
		return "media"
	case strings.HasSuffix(t, "json") || strings.HasSuffix(t, "xml"):
		return "data"
	}
	return "other"
}

// depth follows requests from the site's pages and returns the greatest depth and a chain
// of that length.
func depth(s *site.Site) (int, []string) {
	at := map[string]int{} // URL -> index
	for i := range s.Resources {
		if _, ok := at[s.Resources[i].URL]; !ok {
			at[s.Resources[i].URL] = i
		}
	}
	asks := make([][]int, len(s.Resources))
	link := func(from, to int) {
		if from != to {
			asks[from] = append(asks[from], to)
		}
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		if from, ok := at[r.Initiator]; ok && r.Initiator != "" {
			link(from, i)
		}
		for _, name := range references(s, r) {
			if to, ok := at[name]; ok {
				link(i, to)
			}
		}
	}
	level, before := make([]int, len(s.Resources)), make([]int, len(s.Resources))
	for i := range level {
		level[i], before[i] = -1, -1
	}
	walk := func(queue []int) {
		for len(queue) > 0 {
			i := queue[0]
			queue = queue[1:]
			for _, to := range asks[i] {
				if level[to] < 0 {
					level[to], before[to] = level[i]+1, i
					queue = append(queue, to)
				}
			}
		}
	}
	var first []int
	for _, page := range s.Visited() {
		if i, ok := at[page]; ok && level[i] < 0 {
			level[i] = 0
			first = append(first, i)
		}
	}
	walk(first)
	for i := range s.Resources {
		if level[i] < 0 {
			level[i] = 1
			walk([]int{i})
		}
	}
	deepest := 0
	for i := range level {
		if level[i] > level[deepest] {
			deepest = i
		}
	}
	var chain []string
	for i := deepest; i >= 0; i = before[i] {
		chain = append(chain, s.Resources[i].URL)
	}
	slices.Reverse(chain)
	return level[deepest], chain
}

// token matches text between the characters that end a URL in HTML, CSS and scripts.
var token = regexp.MustCompile(`[^\s"'()<>\\]+`)

// maxURL limits the length of a URL in octets.
const maxURL = 4096

// references returns the URLs that a resource may name: its redirect target, and everything
// in its text that parses as a URL. Callers keep those that the archive has.
func references(s *site.Site, r *site.Resource) []string {
	base, err := url.Parse(r.URL)
	if err != nil {
		return nil
	}
	var names []string
	add := func(reference string) {
		u, err := base.Parse(reference)
		if err != nil {
			return
		}
		u.Fragment, u.RawFragment = "", ""
		if u.Scheme == "http" {
			u.Scheme = "https"
		}
		if u.Path == "" {
			u.Path = "/"
		}
		names = append(names, u.String())
	}
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, "location") {
			add(h.Value)
		}
	}
	switch kind(r) {
	case "document", "style sheet", "script":
	default:
		return names
	}
	text, err := s.Content(r)
	if err != nil {
		return names // an unreadable body names nothing
	}
	text = bytes.ReplaceAll(text, []byte(`\/`), []byte("/"))
	for _, found := range token.FindAll(text, -1) {
		if len(found) < 2 || len(found) > maxURL {
			continue
		}
		word := strings.TrimRight(strings.ReplaceAll(string(found), "&amp;", "&"), ",;")
		add(word)
		if _, value, ok := strings.Cut(word, "="); ok { // unquoted attribute
			add(value)
		}
	}
	return names
}
