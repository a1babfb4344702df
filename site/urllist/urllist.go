// Package urllist reads lists of URLs and sizes. A list describes a page by what it
// fetches, if nothing else is known or matters.
//
//	# What our shop fetches
//	https://www.shop.test/shop.css      18kB
//	https://cdn.shop.test/logo.svg      4kB  image/svg+xml
//	https://api.shop.test/v1/basket     900B fetch
//
// A line has a URL, a size and a type, with blanks between them. The size is that of the
// body in B, kB or MB (k is 1000). The type is a media type or one of document, stylesheet,
// script, image, font, media and fetch; without one, the extension of the URL's path
// decides. A word that begins with # starts a comment.
package urllist

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"wiretime/site/recording"
)

// Options says what the list becomes.
type Options struct {
	// Name is the name of the site; the page is on www.<name>.test. Empty means list.
	Name string
	// Limits bound what is read: Body and Total hold for the sizes that the list states, too.
	Limits recording.Limits
}

// DefaultSize is the size in octets of a body whose line states none, the same as in the
// site objects.
const DefaultSize = 20_000

// These limit a list.
const (
	maxList = 64 << 20 // octets of the list itself
	maxURL  = 64 << 10 // octets
)

// kinds lists the types that are not media types.
var kinds = []string{"document", "stylesheet", "script", "image", "font", "media", "fetch"}

// Read reads a list; source names it in the recording. The recording has no bodies:
// [recording.Recording.Site] makes the page, at the root of its host, and all other
// responses. Errors name the line and the column, counted in characters from 1. A list of N
// octets takes up to 64 N octets of memory.
func Read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	rec, err := read(r, source, o)
	if err != nil {
		return nil, fmt.Errorf("read the list of URLs %s: %w", source, err)
	}
	return rec, nil
}

func read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxList+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("the list exceeds %d octets", maxList)
	}
	if o.Name == "" {
		o.Name = "list"
	}
	page := exchange("the page", "https://www."+o.Name+".test/", 0)
	page.Kind, page.MIME = "document", "text/html"
	l := &list{limits: o.Limits.OrDefault(), seen: map[string]int{page.URL: 0}, page: page.URL}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\uFEFF")) {
		number++
		if err := l.line(number, strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("line %d, %w", number, err)
		}
	}
	if len(l.exchanges) == 0 {
		return nil, errors.New("no URLs in the list: write one on each line")
	}
	// The page is about as large as the markup that requests all URLs.
	page.Size = pageEmpty
	for _, e := range l.exchanges {
		page.Size += int64(len(e.URL)) + pageEach
	}
	return &recording.Recording{
		Title:     fmt.Sprintf("%d URLs of %s", len(l.exchanges), source),
		Source:    "list of URLs " + source,
		Page:      page.URL,
		Exchanges: slices.Concat([]recording.Exchange{page}, l.exchanges),
	}, nil
}

// These are octets of the page's markup besides URLs: per URL, and for the page itself.
const (
	pageEach  = 80
	pageEmpty = 1000
)

// list holds what has been read so far.
type list struct {
	limits    recording.Limits
	page      string
	exchanges []recording.Exchange
	seen      map[string]int // URL -> line; 0 is the page's
	total     int64
}

// wrong returns an error at an octet of a line.
func wrong(line string, at int, format string, args ...any) error {
	return fmt.Errorf("column %d: %w", utf8.RuneCountInString(line[:at])+1, fmt.Errorf(format, args...))
}

func (l *list) line(number int, line string) error {
	for at, r := range line {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(line[at:]); size == 1 {
				return wrong(line, at, "invalid UTF-8: save the list as UTF-8")
			}
		}
	}
	words, starts := split(line)
	if len(words) == 0 {
		return nil
	}
	if len(l.exchanges) == l.limits.Exchanges {
		return wrong(line, starts[0], "%w", l.limits.TooManyExchanges("URLs"))
	}
	e := exchange(fmt.Sprintf("line %d", number), words[0], DefaultSize)
	e.Initiator = l.page
	if path, _, _ := strings.Cut(words[0], "?"); strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".htm") {
		e.Kind = "document" // recording.Recording.Site handles other extensions
	}
	if err := l.checkURL(words[0], number); err != nil {
		return wrong(line, starts[0], "%w", err)
	}
	rest := 1
	if len(words) > rest && words[rest][0] >= '0' && words[rest][0] <= '9' {
		var err error
		if e.Size, err = parseSize(words[rest], l.limits.Body); err != nil {
			return wrong(line, starts[rest], "%w", err)
		}
		rest++
	}
	if len(words) > rest {
		var err error
		if e.Kind, e.MIME, err = parseType(words[rest]); err != nil {
			return wrong(line, starts[rest], "%w", err)
		}
		rest++
	}
	if len(words) > rest {
		return wrong(line, starts[rest], "unexpected %.60q: a line has a URL, a size and a type", words[rest])
	}
	if l.total += e.Size; l.total > l.limits.Total {
		return wrong(line, starts[0], "%w", l.limits.TooLong("the sum of all sizes"))
	}
	l.exchanges = append(l.exchanges, e)
	return nil
}

// split returns a line's words and where they begin, without a comment.
func split(line string) (words []string, starts []int) {
	for at := 0; ; {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		if at == len(line) || line[at] == '#' {
			return words, starts
		}
		end := strings.IndexAny(line[at:], " \t")
		if end < 0 {
			end = len(line) - at
		}
		words, starts = append(words, line[at:at+end]), append(starts, at)
		at += end
	}
}

func (l *list) checkURL(text string, number int) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(text) > maxURL:
		return fmt.Errorf("invalid URL %.200q: want one like https://www.example.test/logo.png", text)
	case u.User != nil:
		return fmt.Errorf("%.200q has a user name: leave it out", u.Redacted())
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	switch first, taken := l.seen[u.String()]; {
	case taken && first == 0:
		return fmt.Errorf("%.200q is the URL of the page itself: give the site another name", u)
	case taken:
		return fmt.Errorf("duplicate URL %.200q: first in line %d", u, first)
	}
	l.seen[u.String()] = number
	return nil
}

func parseSize(text string, most int64) (int64, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	factor, known := map[string]int64{"B": 1, "kB": 1e3, "MB": 1e6}[text[digits:]]
	size, err := strconv.ParseInt(text[:digits], 10, 64)
	switch {
	case !known:
		return 0, fmt.Errorf("invalid size %.40q: want a whole number of B, kB or MB, as in 20kB", text)
	case err != nil || size > most/factor:
		return 0, fmt.Errorf("size %.40q exceeds the limit of a body: %d octets (--max-body)", text, most)
	}
	return size * factor, nil
}

func parseType(text string) (kind, mediaType string, err error) {
	if slices.Contains(kinds, strings.ToLower(text)) {
		return strings.ToLower(text), "", nil
	}
	if t, _, err := mime.ParseMediaType(text); err == nil && strings.Contains(t, "/") {
		return "", text, nil
	}
	return "", "", fmt.Errorf("invalid type %.60q: want a media type such as image/png, or one of %s", text, strings.Join(kinds, ", "))
}

// exchange returns an exchange with a response of the given size.
func exchange(where, rawURL string, size int64) recording.Exchange {
	return recording.Exchange{
		Where: where, Method: "GET", URL: rawURL, Status: 200, Size: size,
		Transfer: -1, Started: -1, Took: -1, DNS: -1, Connect: -1, Wait: -1,
	}
}
