package saved

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"wiretime/site"
	"wiretime/site/message"
)

// part is a part of an MHTML file.
type part struct {
	number      int    // from 1
	contentType string // empty if it is not valid
	location    string // Content-Location
	id          string // Content-ID, without its angle brackets
	body        []byte
	url         string // under which the part is served; empty: left out
}

func (p *part) where() string { return fmt.Sprintf("part %d", p.number) }

func (p *part) mediaType() string {
	t, _, _ := mime.ParseMediaType(p.contentType)
	return t
}

// maxNesting limits how deep multiparts may nest.
const maxNesting = 4

// mhtml holds what has been read of an MHTML file so far.
type mhtml struct {
	*page
	octets int // length of the file
	parts  []*part
	count  int    // of parts, including those that are left out
	start  string // Content-ID of the document, if the multipart names it
}

// readMHTML reads an MHTML file.
func (p *page) readMHTML() error {
	info, err := p.root.Stat(p.file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info.Size() > p.limits.Total {
		return p.limits.TooLong("the file")
	}
	octets, err := p.root.ReadFile(p.file)
	if err != nil {
		return err
	}
	return p.parseMHTML(octets)
}

func (p *page) parseMHTML(octets []byte) error {
	m := &mhtml{page: p, octets: len(octets)}
	header, body := message.Fields(octets) // MIME fields have the syntax of HTTP fields
	if err := m.readParts(header, body, 0); err != nil {
		return err
	}
	return m.finish(header)
}

// readParts reads the parts of a multipart.
func (m *mhtml) readParts(header []site.Header, body []byte, depth int) error {
	contentType := message.Field(header, "Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(mediaType, "multipart/") || parameters["boundary"] == "" {
		return fmt.Errorf("not an MHTML file: Content-Type is %.100q, want multipart/related with a boundary at the beginning of the file", contentType)
	}
	if m.start == "" {
		m.start = withoutBrackets(parameters["start"])
	}
	parts, whole := splitParts(body, parameters["boundary"])
	for _, octets := range parts {
		header, body := message.Fields(octets)
		if depth < maxNesting && strings.HasPrefix(strings.ToLower(message.Field(header, "Content-Type")), "multipart/") {
			err = m.readParts(header, body, depth+1)
		} else {
			err = m.add(header, body)
		}
		if err != nil {
			return err
		}
	}
	if !whole {
		m.repair(fmt.Sprintf("part %d", m.count+1), "The file is truncated in this part, which was left out.")
	}
	return nil
}

// splitParts splits a multipart's body (RFC 2046 section 5.1.1). whole is false if the
// closing delimiter is missing; splitParts then drops what follows the last delimiter.
func splitParts(body []byte, boundary string) (parts [][]byte, whole bool) {
	delimiter := []byte("--" + boundary)
	begin := -1 // start of the part, after the preceding delimiter
	for at := 0; ; {
		found := bytes.Index(body[at:], delimiter)
		if found < 0 {
			return parts, false
		}
		found += at
		at = found + len(delimiter)
		if found > 0 && body[found-1] != '\n' {
			continue // text
		}
		line, _, ended := bytes.Cut(body[at:], []byte("\n"))
		last := bytes.HasPrefix(line, []byte("--"))
		if !last && (!ended || len(bytes.TrimSpace(line)) > 0) {
			continue // a longer boundary that begins like this one
		}
		if begin >= 0 {
			// The line end before a delimiter belongs to the delimiter.
			part := bytes.TrimSuffix(body[begin:max(begin, found)], []byte("\n"))
			parts = append(parts, bytes.TrimSuffix(part, []byte("\r")))
		}
		if last {
			return parts, true
		}
		at += len(line) + 1
		begin = at
	}
}

// add adds a part in its encoded form.
func (m *mhtml) add(header []site.Header, octets []byte) error {
	m.count++
	p := &part{
		number: m.count, contentType: message.Field(header, "Content-Type"), location: message.Field(header, "Content-Location"),
		id: withoutBrackets(message.Field(header, "Content-ID")),
	}
	switch {
	case m.count > m.limits.Exchanges:
		return m.limits.TooManyExchanges("parts")
	case int64(len(octets)) > m.limits.Body:
		m.repair(p.where(), "Left out: %s.", m.limits.BodyTooLong(int64(len(octets))))
		return nil
	case !utf8.ValidString(p.location + p.id):
		m.repair(p.where(), "The location is not UTF-8: left out.")
		return nil
	}
	if !httpguts.ValidHeaderFieldValue(p.contentType) || !utf8.ValidString(p.contentType) {
		m.repair(p.where(), "Invalid type %.60q: served without a type.", p.contentType)
		p.contentType = ""
	}
	var err error
	if p.body, err = decode(message.Field(header, "Content-Transfer-Encoding"), octets); err != nil {
		m.repair(p.where(), "The part is damaged (%v): the first %d octets were kept.", err, len(p.body))
	}
	m.parts = append(m.parts, p)
	return nil
}

// decode undoes a content transfer encoding (RFC 2045 section 6). On an error it also
// returns what it could decode.
func decode(encoding string, octets []byte) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(octets)))
	case "quoted-printable":
		return io.ReadAll(quotedprintable.NewReader(bytes.NewReader(octets)))
	case "", "7bit", "8bit", "binary":
		return octets, nil
	}
	return octets, fmt.Errorf("unknown transfer encoding %.40q", encoding)
}

func withoutBrackets(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "<"), ">")
}

// finish gives each part its URL and makes exchanges of the parts, the document first.
func (m *mhtml) finish(header []site.Header) error {
	location := message.Field(header, "Content-Location")
	if snapshot := message.Field(header, "Snapshot-Content-Location"); snapshot != "" {
		location = snapshot
		m.repair("", "Chromium does not save scripts in MHTML files: the page is in the state that its scripts produced.")
	}
	document := m.document(location)
	if document == nil {
		return errors.New("the file has no HTML document")
	}
	m.place(document, location)
	rewrite := m.references()
	left := maxGrowth*m.octets + 1<<20
	for _, p := range m.parts {
		if p.url == "" {
			continue
		}
		body, err := rewritten(rewrite, p, left)
		if err != nil {
			return fmt.Errorf("%s: %w", p.where(), err)
		}
		left -= len(body)
		m.page.add(p.where(), p.url, p.contentType, body)
	}
	m.recording.Page = document.url
	if date, err := mail.ParseDate(message.Field(header, "Date")); err == nil {
		m.recording.Began = date.UTC()
	}
	if title, err := new(mime.WordDecoder).DecodeHeader(message.Field(header, "Subject")); err == nil {
		m.recording.Title = strings.ToValidUTF8(title, "?")
	}
	return nil
}

// document returns the part that is the page: the one at the location that the file names,
// the one that the multipart names, or the first HTML part.
func (m *mhtml) document(location string) *part {
	for _, is := range []func(*part) bool{
		func(p *part) bool { return location != "" && p.location == location },
		func(p *part) bool { return m.start != "" && p.id == m.start },
		func(*part) bool { return true },
	} {
		for _, p := range m.parts {
			if t := p.mediaType(); (t == "text/html" || t == "application/xhtml+xml") && is(p) {
				return p
			}
		}
	}
	return nil
}

// place gives the parts their URLs: their own if it is a web URL and no earlier part has
// it, otherwise a made one on the document's host. It leaves out parts that nothing can
// reference.
func (m *mhtml) place(document *part, location string) {
	slices.SortStableFunc(m.parts, func(a, b *part) int { return first(a, document) - first(b, document) })
	base := webURL(nil, location)
	taken := map[string]bool{}
	host := "https://" + m.host
	for _, p := range m.parts {
		u := webURL(base, p.location)
		switch {
		case u != nil && !taken[u.String()]:
			p.url = u.String()
		case p == document:
			p.url = host + "/"
		case p.id != "" || strings.Contains(p.location, ":") && u == nil:
			for p.url = fmt.Sprintf("%s/mhtml/%d", host, p.number); taken[p.url]; {
				p.url += "x"
			}
		default:
			m.repair(p.where(), "Left out: nothing can reference the part, because its location %.200q is invalid or belongs to another part.", p.location)
			continue
		}
		taken[p.url] = true
		if p == document {
			base = webURL(nil, p.url)
			host = base.Scheme + "://" + base.Host
		}
	}
}

func first(p, document *part) int {
	if p == document {
		return 0
	}
	return 1
}

// webURL returns a location as an http or https URL, or nil if it is not one.
func webURL(base *url.URL, location string) *url.URL {
	if base == nil {
		base = &url.URL{}
	}
	u, err := base.Parse(location)
	if err != nil || location == "" || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	return u
}

// references returns a replacer that rewrites references to parts without a web URL: by
// identifier (RFC 2392), or by a location inside the browser or its machine.
func (m *mhtml) references() *strings.Replacer {
	var pairs [][2]string
	for _, p := range m.parts {
		if p.url == "" {
			continue
		}
		if len(p.id)+len(p.location) > maxReference {
			m.repair(p.where(), "References to the part were not rewritten, because its identifiers are longer than %d octets.", maxReference)
			continue
		}
		if p.id != "" {
			pairs = append(pairs, [2]string{"cid:" + p.id, p.url})
		}
		if scheme, rest, _ := strings.Cut(p.location, ":"); rest != "" && slices.Contains([]string{"cid", "file", "blob"}, scheme) {
			pairs = append(pairs, [2]string{p.location, p.url})
		}
	}
	// Longer references come first because one may be a prefix of another.
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var flat []string
	for _, pair := range pairs {
		flat = append(flat, pair[0], pair[1])
	}
	return strings.NewReplacer(flat...)
}

// maxReference limits the identifiers of a part, in octets: the time to find a reference may
// grow with the length of the longest.
const maxReference = 4 << 10

// maxGrowth limits how many times as long as the file its parts may become by being decoded
// and rewritten: a URL may be much longer than the identifier that it replaces.
const maxGrowth = 16

// rewritten returns the part's body with its references replaced, if its type has
// references. It is an error if the result has more than most octets.
func rewritten(r *strings.Replacer, p *part, most int) ([]byte, error) {
	switch p.mediaType() {
	case "text/html", "application/xhtml+xml", "text/css", "image/svg+xml":
	default:
		return p.body, nil
	}
	b := limitedBuffer{most: most}
	_, err := r.WriteString(&b, string(p.body))
	return b.octets.Bytes(), err
}

// limitedBuffer holds at most so many octets.
type limitedBuffer struct {
	octets bytes.Buffer
	most   int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.octets.Len()+len(p) > b.most {
		return 0, fmt.Errorf("with its references replaced, the page would be more than %d times as long as the file", maxGrowth)
	}
	return b.octets.Write(p)
}
