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
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
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
}

// maxFile limits the size of a file in octets.
const maxFile = 1 << 30

// Read reads a HAR file. source names the file in messages and in the recording. A syntax
// error names the octet, from 0, and the line, from 1.
func Read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	rec, err := read(r, source, o)
	if err != nil {
		return nil, fmt.Errorf("read the HAR file %s: %w", source, err)
	}
	return rec, nil
}

func read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, errors.New("the file exceeds 1 GiB: export it without bodies, or page by page")
	}
	text, repairs := clean(data)
	var f file
	err = json.Unmarshal(text, &f)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		repairs = append(repairs, recording.Repair{What: fmt.Sprintf("at least one value does not have the type that HAR requires (%s is a %s): treated as unknown", cmp.Or(mistyped.Field, "the file"), mistyped.Value)})
	} else if err != nil {
		return nil, at(text, err)
	}
	if f.Log.Entries == nil {
		f.Log.Entries = f.Entries // without the object around it
	}
	if len(f.Log.Entries) == 0 {
		return nil, errors.New("log.entries is missing or empty: not a HAR file, or an empty one")
	}
	l := &f.Log
	page, entries, err := l.choose(o.Page)
	if err != nil {
		return nil, err
	}
	rec := &recording.Recording{Source: l.describe(source), Repairs: repairs}
	rec.Title = cmp.Or(string(page.Title), source)
	if others := len(l.Entries) - len(entries); others > 0 {
		rec.Repairs = append(rec.Repairs, recording.Repair{What: fmt.Sprintf("%d of the file's entries belong to pages other than %s", others, page.name())})
	}
	l.fill(rec, page, entries)
	return rec, nil
}

// at adds the position to a syntax error.
func at(text []byte, err error) error {
	offset := int64(len(text))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = min(syntax.Offset, offset)
	}
	line := 1 + strings.Count(string(text[:offset]), "\n")
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
	for i := range l.Pages {
		if wanted == "" && (chosen < 0 || len(of[chosen]) == 0) && len(of[i]) > 0 {
			chosen = i
		}
		if wanted != "" && string(l.Pages[i].ID) == wanted {
			chosen = i
			break
		}
	}
	if n, err := strconv.Atoi(wanted); err == nil && chosen < 0 && n >= 1 && n <= len(l.Pages) {
		chosen = n - 1
	}
	if chosen < 0 || len(of[chosen]) == 0 {
		return nil, nil, l.noPage(wanted, chosen >= 0)
	}
	return &l.Pages[chosen], of[chosen], nil
}

func (l *log) noPage(wanted string, empty bool) error {
	var pages []string
	for i := range l.Pages {
		pages = append(pages, fmt.Sprintf("%d %q (%.80s)", i+1, string(l.Pages[i].ID), string(l.Pages[i].Title)))
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
	for i := range l.Pages {
		known[l.Pages[i].ID] = true
	}
	for i := range l.Entries {
		if id := l.Entries[i].Page; id != "" && !known[id] {
			known[id] = true
			l.Pages = append(l.Pages, page{ID: id})
		}
	}
	if len(l.Pages) == 0 {
		l.Pages = []page{{}}
	}
}

// assign gives each entry to its page. An entry without a page belongs to the page that
// began last before the entry.
func (l *log) assign() [][]*entry {
	of := make([][]*entry, len(l.Pages))
	index := map[text]int{}
	for i := range slices.Backward(l.Pages) {
		index[l.Pages[i].ID] = i
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		e.number = i
		p, ok := index[e.Page]
		if !ok || e.Page == "" {
			p = 0
			for j := range l.Pages {
				if t := l.Pages[j].Started.Time; !t.IsZero() && !e.Started.IsZero() && !t.After(e.Started.Time) && !t.Before(l.Pages[p].Started.Time) {
					p = j
				}
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
