// Package message reads HTTP/1 responses as recorders store them: the octets of a message
// (WARC) or its parts (Mahimahi), written by many programs, some of them careless.
package message

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"wiretime/site"
	"wiretime/site/recording"
)

// Response is a response with its transfer codings undone (RFC 9112 section 7).
type Response struct {
	Status int // 100 to 999
	Header []site.Header
	Body   []byte
	// Encoded says that Body has the content coding that Header names, and can be decoded.
	Encoded bool
	// Size is the length of the decoded content in octets. Transfer is the length of the
	// content on the wire, or -1 if it is unknown.
	Size, Transfer int64
	// Repairs says in sentences what was wrong with the message and what was done about it.
	Repairs []string
}

// Fill copies the response into an exchange. The caller reports its repairs, since only the
// caller knows where the message was.
func (r *Response) Fill(e *recording.Exchange) {
	e.Status, e.Header = r.Status, r.Header
	e.Body, e.HasBody, e.Encoded = r.Body, true, r.Encoded
	e.Size, e.Transfer = r.Size, r.Transfer
}

// These limits of a header are far beyond those of browsers and servers.
const (
	maxFields = 10_000
	maxFolded = 64 << 10 // octets of a value over several lines
)

// Split splits a message into its parts (RFC 9112 section 2.1). Lines may end without CR,
// and fields may be folded (section 5.2). Split skips interim responses. It accepts any
// octets; [New] reports what is wrong.
func Split(octets []byte) (firstLine string, header []site.Header, body []byte) {
	for {
		firstLine, header, body = splitOne(octets)
		status, err := parseStatus(firstLine)
		if err != nil || status >= 200 || status == 101 || len(body) == 0 {
			return firstLine, header, body
		}
		octets = body
	}
}

func splitOne(octets []byte) (firstLine string, header []site.Header, body []byte) {
	line, rest, _ := bytes.Cut(octets, []byte("\n"))
	header, body = Fields(rest)
	return strings.TrimSpace(string(line)), header, body
}

// Fields reads the fields and the blank line in front of a body. A line that is not a field
// becomes a field with an empty value.
func Fields(octets []byte) (header []site.Header, body []byte) {
	var folded []byte // the last field's value, if it has several lines
	unfold := func() {
		if folded != nil {
			header[len(header)-1].Value = string(bytes.TrimSpace(folded))
			folded = nil
		}
	}
	defer unfold()
	for rest := octets; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			return header, rest
		}
		if (line[0] == ' ' || line[0] == '\t') && len(header) > 0 {
			if folded == nil {
				folded = []byte(header[len(header)-1].Value)
			}
			if len(folded) < maxFolded {
				folded = append(append(folded, ' '), bytes.TrimSpace(line)...)
			}
			continue
		}
		unfold()
		if len(header) > maxFields {
			continue
		}
		name, value, _ := strings.Cut(string(line[1:]), ":") // a name may begin with a colon, as :status does
		header = append(header, site.Header{Name: strings.TrimSpace(string(line[:1]) + name), Value: strings.TrimSpace(value)})
	}
	return header, nil
}

// New makes a response from its recorded parts. The error says that the status line is
// invalid, or names the limit that the header or content exceeds; [ErrTotal] stands for the
// limit of the whole recording. It charges the budget with the body and its decoded form.
func New(statusLine string, header []site.Header, body []byte, budget *Budget) (*Response, error) {
	r := &Response{Transfer: -1}
	var err error
	if r.Status, err = parseStatus(statusLine); err != nil {
		return nil, err
	}
	if len(header) > maxFields {
		return nil, fmt.Errorf("header with more than %d fields", maxFields)
	}
	r.setHeader(header)
	decoded := r.restoreCodings()
	r.Body = r.undoTransfer(body)
	if int64(len(r.Body)) > budget.Body {
		return nil, fmt.Errorf("%w: %d octets", ErrBody, len(r.Body))
	}
	r.Size = int64(len(r.Body))
	if decoded {
		return r, budget.Spend(r.Size)
	}
	r.Transfer = r.Size
	return r, r.checkCoding(budget)
}

// parseStatus parses a status line (RFC 9112 section 4). HTTP/2 has no status line, so
// recorders write one without a reason, or with HTTP/2.
func parseStatus(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(strings.ToUpper(version), "HTTP/") || err != nil || len(code) != 3 || status < 100 {
		return 0, fmt.Errorf("invalid status line %.60q", line)
	}
	return status, nil
}

// setHeader keeps the valid fields. An archive is UTF-8, so other values are read as ISO
// 8859-1, which fields once were (RFC 9110 section 5.5).
func (r *Response) setHeader(header []site.Header) {
	var invalid []string
	latin := 0
	for _, h := range header {
		if strings.HasPrefix(h.Name, ":") {
			continue // a pseudo-header field of HTTP/2, which the status line repeats
		}
		if !utf8.ValidString(h.Value) {
			h.Value = latin1(h.Value)
			latin++
		}
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			invalid = append(invalid, h.Name)
			continue
		}
		r.Header = append(r.Header, h)
	}
	if latin > 0 {
		r.repair("Fields that are not UTF-8 were read as ISO 8859-1 (%d).", latin)
	}
	if len(invalid) > 0 {
		r.repair("Invalid header fields were left out (%d), such as %.40q.", len(invalid), invalid[:min(3, len(invalid))])
	}
}

// restoreCodings restores the names of fields that Browsertrix renames because it stores
// decoded bodies. It reports whether a content coding was among them.
func (r *Response) restoreCodings() (decoded bool) {
	const renamed = "x-orig-"
	named := r.field("content-encoding") != ""
	r.Header = slices.DeleteFunc(r.Header, func(h site.Header) bool {
		name := strings.ToLower(h.Name)
		return strings.HasPrefix(name, renamed) && (named || name != renamed+"content-encoding")
	})
	for i := range r.Header {
		if strings.EqualFold(r.Header[i].Name, renamed+"content-encoding") {
			r.Header[i].Name = r.Header[i].Name[len(renamed):]
			decoded = true
		}
	}
	return decoded
}

// field returns a field's value; several lines are joined (RFC 9110 section 5.2).
func (r *Response) field(name string) string {
	var values []string
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ", ")
}

func (r *Response) repair(format string, args ...any) {
	r.Repairs = append(r.Repairs, fmt.Sprintf(format, args...))
}

// ErrBody says that a body exceeds the limit of one body. Importers leave out such a body.
var ErrBody = errors.New("the body exceeds the limit of one body (--max-body)")

// ErrTotal says that a recording exceeds the limit of all bodies together. Importers reject
// the recording.
var ErrTotal = errors.New("the limit of a recording is exceeded (by default 1 GiB after decoding): record a single page, or raise the limit with --max-size")

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
