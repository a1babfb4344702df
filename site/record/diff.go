package record

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"wiretime/site"
)

// Difference lists how two sites differ.
type Difference struct {
	// Changes are ordered by URL. It is empty if the sites are the same.
	Changes []Change
}

// Change says how one resource differs.
type Change struct {
	Method, URL string
	// What describes the difference for people.
	What string
}

// String returns one line per change. It ends with a newline.
func (d Difference) String() string {
	if len(d.Changes) == 0 {
		return "The two are the same.\n"
	}
	var text strings.Builder
	for _, c := range d.Changes {
		if c.Method != "GET" {
			text.WriteString(c.Method + " ")
		}
		fmt.Fprintf(&text, "%s: %s\n", c.URL, c.What)
	}
	return text.String()
}

// Diff compares the resources of two sites. It reports resources that only one site has,
// and for common ones differences in status, media type and decoded content. Resources
// whose URLs differ only in parameter values count as the same, the nearest ones first,
// because pages put times and random numbers there.
func Diff(a, b *site.Site) Difference {
	names := [2]string{a.Name, b.Name}
	if a.Name == b.Name {
		names = [2]string{"the first", "the second"}
	}
	var d Difference
	note := func(r *site.Resource, what string) {
		d.Changes = append(d.Changes, Change{Method: r.Method, URL: r.URL, What: what})
	}
	onlyA, onlyB := unmatched(a, b), unmatched(b, a)
	for i := range a.Resources {
		one := &a.Resources[i]
		if other, ok := b.Lookup(one.Method, one.URL); ok && other.Method == one.Method {
			if what := compare(a, b, one, other); what != "" {
				note(one, what)
			}
		}
	}
	for _, p := range pair(onlyA, onlyB) {
		switch {
		case p.b == nil:
			note(p.a, "only in "+names[0])
		case p.a == nil:
			note(p.b, "only in "+names[1])
		default:
			note(p.a, join("other query in "+names[1]+": "+queryChange(p.a.URL, p.b.URL), compare(a, b, p.a, p.b)))
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Method, b.Method), cmp.Compare(a.What, b.What))
	})
	return d
}

// unmatched returns the resources of a that b lacks.
func unmatched(a, b *site.Site) []*site.Resource {
	var list []*site.Resource
	for i := range a.Resources {
		r := &a.Resources[i]
		if other, ok := b.Lookup(r.Method, r.URL); !ok || other.Method != r.Method {
			list = append(list, r)
		}
	}
	return list
}

// couple pairs a resource of one site with its counterpart in the other. Either may be nil.
type couple struct{ a, b *site.Resource }

// pair matches resources with the same method, host and path, those with the most similar
// queries first.
func pair(a, b []*site.Resource) []couple {
	type candidate struct {
		couple
		common int
	}
	byPath := map[string][]*site.Resource{}
	for _, r := range b {
		path, _, _ := strings.Cut(r.URL, "?")
		byPath[r.Method+" "+path] = append(byPath[r.Method+" "+path], r)
	}
	var candidates []candidate
	for _, one := range a {
		path, query, _ := strings.Cut(one.URL, "?")
		for _, other := range byPath[one.Method+" "+path] {
			_, otherQuery, _ := strings.Cut(other.URL, "?")
			candidates = append(candidates, candidate{couple{one, other}, common(query, otherQuery)})
		}
	}
	slices.SortStableFunc(candidates, func(x, y candidate) int { return cmp.Compare(y.common, x.common) })
	var couples []couple
	taken := map[*site.Resource]bool{}
	for _, c := range candidates {
		if !taken[c.a] && !taken[c.b] {
			taken[c.a], taken[c.b] = true, true
			couples = append(couples, c.couple)
		}
	}
	for _, r := range a {
		if !taken[r] {
			couples = append(couples, couple{a: r})
		}
	}
	for _, r := range b {
		if !taken[r] {
			couples = append(couples, couple{b: r})
		}
	}
	return couples
}

// common scores how much two queries have in common: 2 for an equal parameter, 1 for an
// equal name.
func common(one, other string) int {
	values := map[string]bool{}
	names := map[string]bool{}
	for parameter := range strings.SplitSeq(other, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		values[parameter], names[name] = true, true
	}
	n := 0
	for parameter := range strings.SplitSeq(one, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		switch {
		case values[parameter]:
			n += 2
		case names[name]:
			n++
		}
	}
	return n
}

// queryChange returns the parameters whose values changed.
func queryChange(one, other string) string {
	before, after := parameters(one), parameters(other)
	var changes []string
	for _, name := range slices.Sorted(keys(before, after)) {
		was, is := strings.Join(before[name], ","), strings.Join(after[name], ",")
		_, had := before[name]
		_, has := after[name]
		switch {
		case !has:
			changes = append(changes, "without "+name)
		case !had:
			changes = append(changes, "with "+name+"="+short(is))
		case was != is:
			changes = append(changes, name+"="+short(is))
		}
	}
	if changes == nil {
		return "in another order"
	}
	return strings.Join(changes, ", ")
}

func keys(maps ...url.Values) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, m := range maps {
			for name := range m {
				if !seen[name] && !yield(name) {
					return
				}
				seen[name] = true
			}
		}
	}
}

// parameters returns the parameters of a URL's query. An invalid query has none.
func parameters(rawURL string) url.Values {
	_, query, _ := strings.Cut(rawURL, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// short shortens a value for display.
func short(value string) string {
	if runes := []rune(value); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return value
}

// compare describes how two sites' versions of a resource differ. It returns "" if they do
// not differ in anything relevant.
func compare(a, b *site.Site, one, other *site.Resource) string {
	var what []string
	if one.Status != other.Status {
		what = append(what, fmt.Sprintf("status %d, then %d", one.Status, other.Status))
	}
	if was, is := mediaType(one), mediaType(other); was != is {
		what = append(what, fmt.Sprintf("type %s, then %s", was, is))
	}
	before, errBefore := a.Content(one)
	after, errAfter := b.Content(other)
	switch {
	case errBefore != nil || errAfter != nil: // unsupported coding
		if one.Body != other.Body {
			what = append(what, "another body")
		}
	case len(before) != len(after):
		what = append(what, fmt.Sprintf("size %d octets, then %d", len(before), len(after)))
	case !bytes.Equal(before, after):
		what = append(what, fmt.Sprintf("another body of the same size, %d octets", len(after)))
	}
	return strings.Join(what, "; ")
}

func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

// mediaType returns the media type that a resource states, without parameters.
func mediaType(r *site.Resource) string {
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, "content-type") {
			t, _, _ := strings.Cut(h.Value, ";")
			return strings.ToLower(strings.TrimSpace(t))
		}
	}
	return "none"
}
