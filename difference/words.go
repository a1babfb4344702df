package difference

import (
	"fmt"
	"slices"
	"strings"

	"wiretime/english"
)

// mostCauses is how many causes a sentence names.
const mostCauses = 4

// Sentence says in words by how much B differs from A, and by which causes, given the names of both.
func (d *Difference) Sentence(a, b string) string {
	t := d.OnLoad
	takes := fmt.Sprintf("%s is %s slower than %s", b, milliseconds(t.Value), a)
	switch {
	case t.Value == 0:
		takes = fmt.Sprintf("%s takes as long as %s", b, a)
	case t.Value < 0:
		takes = fmt.Sprintf("%s is %s faster than %s", b, milliseconds(-t.Value), a)
	}
	if alone := len(d.A.Loads) == 1 && len(d.B.Loads) == 1; !alone && !t.Clear() {
		takes = "on average " + takes
		if t.Interval == nil {
			takes = fmt.Sprintf("With %s and %d, too few for an interval, %s", english.Count(len(d.A.Loads), "load"), len(d.B.Loads), takes)
		} else {
			takes = fmt.Sprintf("Whether %s is slower or faster than %s is not certain (%s to %s); %s", b, a, signed(t.Interval.Low), signed(t.Interval.High), takes)
		}
	}
	if list := d.biggest(); len(list) > 0 {
		takes += ": " + strings.Join(list, ", ")
	}
	return takes + "."
}

// biggest lists the biggest causes in words, until what is left is less than a twentieth, or less than 0.1 ms.
func (d *Difference) biggest() []string {
	list := slices.Clone(d.Causes)
	slices.SortStableFunc(list, func(a, b Attribution) int { return compareSizes(a.Value, b.Value) })
	var all int64
	for _, c := range list {
		all += max(c.Value, -c.Value)
	}
	var words []string
	named, rest := int64(0), d.OnLoad.Value
	for i, c := range list {
		if left := all - named; i == mostCauses || left < least || left*20 < all {
			break
		}
		named += max(c.Value, -c.Value)
		rest -= c.Value
		words = append(words, d.words(c))
	}
	if rest >= least || rest <= -least {
		words = append(words, signed(rest)+" other causes")
	}
	return words
}

// least is the least time that a sentence names, in ns.
const least = 1e5

// words says what a cause adds, and if one part and one resource outweigh all others together, which.
func (d *Difference) words(c Attribution) string {
	words := signed(c.Value) + " " + c.Cause.String()
	if outweighs(c.Parts, c.Value, func(p Part) int64 { return p.Time }) && c.Parts[0].Name != "" {
		words += " (" + c.Parts[0].Name + ")"
	}
	if outweighs(c.Places, c.Value, func(p Place) int64 { return p.Time }) && c.Places[0].URL != "" && len(d.Resources) > 1 {
		words += " on " + d.Name(c.Places[0].URL)
	}
	if c.Interval != nil && !c.Clear() {
		words += " (not certain)"
	}
	return words
}

// outweighs reports whether the first of the items, which is the largest, has the sign of the whole and is larger than all
// others together, whatever their signs.
func outweighs[T any](items []T, whole int64, time func(T) int64) bool {
	all := int64(0)
	for _, i := range items {
		all += max(time(i), -time(i))
	}
	return len(items) > 0 && (time(items[0]) > 0) == (whole > 0) && 2*max(time(items[0]), -time(items[0])) > all
}

// Name shortens the URL of one of the resources: to its path, if all have the same host. It keeps the empty URL.
func (d *Difference) Name(url string) string {
	host, path, ok := strings.Cut(url, "/")
	if !ok {
		return url
	}
	for _, r := range d.Resources {
		if other, _, _ := strings.Cut(r.URL, "/"); r.URL != "" && other != host {
			return url
		}
	}
	return "/" + path
}

func milliseconds(ns int64) string { return fmt.Sprintf("%.1f ms", float64(ns)/1e6) }

// signed writes a time with its sign.
func signed(ns int64) string { return fmt.Sprintf("%+.1f ms", float64(ns)/1e6) }
