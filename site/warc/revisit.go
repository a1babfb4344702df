package warc

import (
	"slices"
	"strings"
	"time"
	"unsafe"

	"wiretime/site"
	"wiretime/site/message"
)

// reference identifies the record whose body a revisit record shares (ISO 28500:2017,
// section 6.7).
type reference struct {
	id, url     string
	date        time.Time
	notModified bool // the server answered 304: the other record has the whole response
	followed    bool
}

func (i *importer) fillRevisit(e *entry, rec *record, block []byte) error {
	e.refers = &reference{
		id: rec.uri("warc-refers-to"), url: rec.uri("warc-refers-to-target-uri"), date: parseDate(rec.field("warc-refers-to-date")),
		notModified: strings.HasSuffix(rec.field("warc-profile"), "/server-not-modified"),
	}
	if len(block) == 0 {
		return nil
	}
	line, header, _ := message.Split(block)
	response, err := message.New(line, header, nil, i.budget)
	if err != nil {
		return err
	}
	e.Status, e.Header = response.Status, response.Header
	e.refers.notModified = e.refers.notModified || e.Status == 304
	i.respond(e, response)
	return nil
}

// resolve gives every revisit the body of the record that it refers to, and leaves out
// revisits without one.
func (i *importer) resolve() error {
	x := newIndex(i.entries)
	for n := range i.entries {
		e := &i.entries[n]
		if e.refers == nil || !x.follow(n) {
			continue
		}
		// Otherwise a small file could stand for many bodies or long headers.
		if err := i.budget.Spend(e.Size + length(e.Header)); err != nil {
			return err
		}
	}
	i.entries = slices.DeleteFunc(i.entries, func(e entry) bool {
		if e.refers != nil {
			i.repair(e.Where, "%.200s was left out: the record with its body is not in the file.", e.URL)
		}
		return e.refers != nil
	})
	return nil
}

// length returns the octets that a header takes in memory.
func length(header []site.Header) int64 {
	octets := int64(0)
	for _, h := range header {
		octets += int64(len(h.Name)+len(h.Value)) + int64(unsafe.Sizeof(h))
	}
	return octets
}

// index finds entries by reference; of several matches it gives the first in the file.
type index struct {
	entries  []entry
	byID     map[string]int
	byDigest map[string]int // entries with their own body
	byDate   map[visit]int  // likewise
	byURL    map[string]int // likewise
}

type visit struct {
	url  string
	date time.Time
}

func newIndex(entries []entry) *index {
	x := &index{entries, map[string]int{}, map[string]int{}, map[visit]int{}, map[string]int{}}
	for n := range entries {
		e := &entries[n]
		first(x.byID, e.id, n)
		if e.refers == nil {
			first(x.byDigest, e.digest, n)
			first(x.byDate, visit{e.URL, e.date}, n)
			first(x.byURL, e.URL, n)
		}
	}
	return x
}

func first[K comparable](index map[K]int, key K, n int) {
	var none K
	if _, taken := index[key]; !taken && key != none {
		index[key] = n
	}
}

// find returns the entry that the revisit n refers to: by identifier, or else by URL and
// date, by payload digest, or by URL alone.
func (x *index) find(n int) (target int, ok bool) {
	e := &x.entries[n]
	if target, ok = x.byID[e.refers.id]; ok {
		return target, true
	}
	if target, ok = x.byDate[visit{e.refers.url, e.refers.date}]; ok {
		return target, true
	}
	if target, ok = x.byDigest[e.digest]; ok {
		return target, true
	}
	if e.refers.url == "" && e.refers.notModified {
		e.refers.url = e.URL
	}
	target, ok = x.byURL[e.refers.url]
	return target, ok
}

// follow completes the revisit n if its chain of references ends at an ordinary exchange.
func (x *index) follow(n int) bool {
	e := &x.entries[n]
	if e.refers == nil {
		return true
	}
	if e.refers.followed {
		return false
	}
	e.refers.followed = true
	target, ok := x.find(n)
	if !ok || !x.follow(target) {
		return false
	}
	from := &x.entries[target]
	if e.Status == 0 || e.refers.notModified {
		e.Status, e.Header = from.Status, slices.Clip(from.Header)
	} else {
		e.Header = sameCoding(e.Header, from.Header)
	}
	e.Body, e.HasBody, e.Encoded, e.Size, e.Transfer = from.Body, from.HasBody, from.Encoded, from.Size, from.Transfer
	e.refers = nil
	return true
}

// sameCoding replaces the content codings in a header by those of the header whose body it
// gets.
func sameCoding(header, from []site.Header) []site.Header {
	isCoding := func(h site.Header) bool { return strings.EqualFold(h.Name, "content-encoding") }
	header = slices.DeleteFunc(header, isCoding)
	for _, h := range from {
		if isCoding(h) {
			header = append(header, h)
		}
	}
	return header
}
