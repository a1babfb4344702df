// Package har reads HTTP Archive files (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/)
// as recordings.
//
// Programs write HAR as they like: numbers as strings, -1 or null for what they do not
// know, sizes of the coded body as those of the content, initiators and types of requests
// in fields of their own (Chromium's DevTools, chrome-har, WebPageTest, Firefox). This
// package reads whatever it can understand, and rejects only files that are not JSON or
// have no entries.
package har

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"wiretime/site/recording"
)

// Options says what to read from a file.
type Options struct {
	// Page selects a page of a file with several, by its ID or by its number from 1. Empty
	// means the first.
	Page string
	// Limits bound what is read.
	Limits recording.Limits
}

// Read reads a HAR file. source names the file in messages and in the recording. A syntax
// error names the octet, from 0, and the line, from 1. A file of N octets takes up to 128 N
// octets of memory.
func Read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	rec, err := read(r, source, o)
	if err != nil {
		return nil, fmt.Errorf("read the HAR file %s: %w", source, err)
	}
	return rec, nil
}

func read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	limits := o.Limits.OrDefault()
	data, err := io.ReadAll(io.LimitReader(r, limits.Total+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limits.Total {
		return nil, limits.TooLong("the file")
	}
	text, repairs := clean(data)
	f, err := parse(text, limits)
	if err != nil {
		return nil, err
	}
	l := &f.Log
	if mistyped := l.Entries.mistyped; mistyped != nil {
		repairs = append(repairs, recording.Repair{What: fmt.Sprintf("at least one value does not have the type that HAR requires (%s is a %.40s): treated as unknown", cmp.Or(mistyped.Field, "the file"), mistyped.Value)})
	}
	if l.Entries.empty > 0 {
		repairs = append(repairs, recording.Repair{What: fmt.Sprintf("%d entries without a URL left out", l.Entries.empty)})
	}
	page, entries, err := l.choose(o.Page)
	if err != nil {
		return nil, err
	}
	rec := &recording.Recording{Source: l.describe(source), Repairs: repairs}
	rec.Title = cmp.Or(string(page.Title), source)
	if others := len(l.Entries.list) - len(entries); others > 0 {
		rec.Repairs = append(rec.Repairs, recording.Repair{What: fmt.Sprintf("%d of the file's entries belong to pages other than %s", others, page.name())})
	}
	l.fill(rec, page, entries)
	return rec, nil
}

// parse reads the file's JSON. It puts the first value of a wrong type into the entries.
func parse(text []byte, limits recording.Limits) (*file, error) {
	var f file
	f.Entries.limits, f.Log.Entries.limits, f.Log.Pages.limits = limits, limits, limits
	err := json.Unmarshal(text, &f)
	mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax, invalid := errors.AsType[*json.SyntaxError](err); invalid {
		return nil, at(text, syntax)
	}
	if err != nil && !ok {
		return nil, err
	}
	l := &f.Log
	if l.Entries.count == 0 {
		l.Entries = f.Entries // without the object around it
	}
	if l.Entries.count == 0 {
		return nil, errors.New("log.entries is missing or empty: not a HAR file, or an empty one")
	}
	if len(l.Entries.list) == 0 {
		return nil, fmt.Errorf("none of the %d entries has a URL", l.Entries.count)
	}
	l.Entries.mistyped = cmp.Or(mistyped, l.Entries.mistyped, l.Pages.mistyped)
	return &f, nil
}

// at adds the position to a syntax error.
func at(text []byte, err *json.SyntaxError) error {
	offset := min(err.Offset, int64(len(text)))
	line := 1 + bytes.Count(text[:offset], []byte("\n"))
	return fmt.Errorf("octet %d, line %d: %w: the file is not valid JSON, or is truncated", offset, line, err)
}

// describe names the programs that wrote the file.
func (l *log) describe(source string) string {
	var by []string
	for _, p := range []program{l.Creator, l.Browser} {
		if s := strings.TrimSpace(string(p.Name) + " " + string(p.Version)); s != "" && !slices.Contains(by, s) {
			by = append(by, s)
		}
	}
	if len(by) == 0 {
		return "HAR " + source
	}
	return "HAR " + source + " by " + strings.Join(by, " and ")
}

func (p *page) name() string {
	if p.ID == "" {
		return "the first"
	}
	return strconv.Quote(string(p.ID))
}

// choose returns a page and its entries, in file order.
func (l *log) choose(wanted string) (*page, []*entry, error) {
	l.completePages()
	of := l.assign()
	chosen := -1
	for i := range l.Pages.list {
		if wanted == "" && (chosen < 0 || len(of[chosen]) == 0) && len(of[i]) > 0 {
			chosen = i
		}
		if wanted != "" && string(l.Pages.list[i].ID) == wanted {
			chosen = i
			break
		}
	}
	if n, err := strconv.Atoi(wanted); err == nil && chosen < 0 && n >= 1 && n <= len(l.Pages.list) {
		chosen = n - 1
	}
	if chosen < 0 || len(of[chosen]) == 0 {
		return nil, nil, l.noPage(wanted, chosen >= 0)
	}
	return &l.Pages.list[chosen], of[chosen], nil
}

func (l *log) noPage(wanted string, empty bool) error {
	const shown = 20
	var pages []string
	for i, p := range l.Pages.list[:min(shown, len(l.Pages.list))] {
		pages = append(pages, fmt.Sprintf("%d %.80q (%.80q)", i+1, string(p.ID), string(p.Title)))
	}
	if more := len(l.Pages.list) - shown; more > 0 {
		pages = append(pages, fmt.Sprintf("and %d more", more))
	}
	why := "is not in the file"
	if empty {
		why = "has no entries"
	}
	return fmt.Errorf("page %q %s, which has the pages %s: name one of them by its ID or number", wanted, why, strings.Join(pages, ", "))
}

// completePages adds pages that entries refer to but the file does not describe.
func (l *log) completePages() {
	known := map[text]bool{}
	for i := range l.Pages.list {
		known[l.Pages.list[i].ID] = true
	}
	for _, e := range l.Entries.list {
		if id := e.Page; id != "" && !known[id] {
			known[id] = true
			l.Pages.list = append(l.Pages.list, page{ID: id})
		}
	}
	if len(l.Pages.list) == 0 {
		l.Pages.list = []page{{}}
	}
}

// assign gives each entry to its page. An entry without a page belongs to the page that
// began last before the entry, or else to the first page.
func (l *log) assign() [][]*entry {
	of := make([][]*entry, len(l.Pages.list))
	index := map[text]int{}
	var dated []int // the pages whose start is known, in the order of their starts
	for i, p := range slices.Backward(l.Pages.list) {
		index[p.ID] = i
		if !p.Started.IsZero() {
			dated = append(dated, i)
		}
	}
	slices.Reverse(dated)
	began := func(i int) time.Time { return l.Pages.list[dated[i]].Started.Time }
	slices.SortStableFunc(dated, func(a, b int) int {
		return l.Pages.list[a].Started.Compare(l.Pages.list[b].Started.Time)
	})
	for _, e := range l.Entries.list {
		p, ok := index[e.Page]
		if !ok || e.Page == "" {
			p = 0
			after := sort.Search(len(dated), func(i int) bool { return began(i).After(e.Started.Time) })
			if after > 0 {
				p = dated[after-1]
			}
		}
		of[p] = append(of[p], e)
	}
	return of
}

// fill converts entries to exchanges.
func (l *log) fill(rec *recording.Recording, p *page, entries []*entry) {
	last := time.Time{}
	for _, e := range entries {
		if e.Started.IsZero() {
			e.Started.Time = last
		}
		last = e.Started.Time
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return a.Started.Compare(b.Started.Time) })
	for _, e := range entries {
		if !e.Started.IsZero() {
			rec.Began = e.Started.UTC()
			break
		}
	}
	notes := l.placeholders(entries)
	r := reader{notes: notes}
	rec.Exchanges = make([]recording.Exchange, 0, len(entries))
	for _, e := range entries {
		x := r.exchange(e)
		if !rec.Began.IsZero() && !e.Started.IsZero() {
			x.Started = ms(e.Started.Sub(rec.Began))
		}
		rec.Exchanges = append(rec.Exchanges, x)
	}
	rec.Repairs = append(rec.Repairs, r.repairs()...)
	began := cmp.Or(p.Started.Time, rec.Began)
	if load, ok := p.Timings.Load.value(); ok && load > 0 && !began.IsZero() {
		rec.Loaded = max(0, load+ms(began.Sub(rec.Began)))
	}
	rec.Page = pageURL(p, rec.Exchanges)
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// pageURL returns the URL that was navigated to: the page's own URL if it was requested,
// otherwise the first document.
func pageURL(p *page, exchanges []recording.Exchange) string {
	for _, said := range []text{p.URL, p.URL2, p.Title} {
		for i := range exchanges {
			if u := exchanges[i].URL; said != "" && (u == string(said) || strings.TrimSuffix(u, "/") == strings.TrimSuffix(string(said), "/")) {
				return u
			}
		}
	}
	for i := range exchanges {
		e := &exchanges[i]
		if strings.HasPrefix(e.URL, "http") && (e.Kind == "document" || e.Kind == "" && strings.Contains(e.MIME, "html")) && e.Status > 0 {
			return e.URL
		}
	}
	return ""
}
