// Package message reads HTTP/1 responses as recorders keep them: the octets of a message
// (WARC) or its parts (Mahimahi), by many programs, not all of them careful.
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
	// Encoded says that Body has the content coding that Header names, and that it can be
	// decoded.
	Encoded bool
	// Size is the length of the content without its coding in octets, Transfer that of the
	// content as it crossed the wire; -1 if that is not known.
	Size, Transfer int64
	// Repairs are what was wrong with it, and what was done about it: sentences.
	Repairs []string
}

// Fill copies what the response says into an exchange. Its repairs are the caller's to
// report, since only the caller knows where it was.
func (r *Response) Fill(e *recording.Exchange) {
	e.Status, e.Header = r.Status, r.Header
	e.Body, e.HasBody, e.Encoded = r.Body, true, r.Encoded
	e.Size, e.Transfer = r.Size, r.Transfer
}

// Bounds of what a header may be, far beyond those of browsers and servers.
const (
	maxFields = 10_000
	maxFolded = 64 << 10 // octets of a value over several lines
)

// Split takes a message apart (RFC 9112 section 2.1). Lines may end without CR, and a
// field may go on over several lines (section 5.2). Interim responses before it are left
// out. Whatever the octets are, they are split somehow; [New] finds what is wrong.
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

// Fields reads the fields before a body and the blank line behind them. What is not
// written as a field is one with an empty value.
func Fields(octets []byte) (header []site.Header, body []byte) {
	for rest := octets; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			return header, rest
		}
		if folded := line[0] == ' ' || line[0] == '\t'; folded && len(header) > 0 {
			if last := &header[len(header)-1]; len(last.Value) < maxFolded {
				last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(string(line)))
			}
			continue
		}
		if len(header) > maxFields {
			continue
		}
		name, value, _ := strings.Cut(string(line[1:]), ":") // a name may begin with a colon, as :status does
		header = append(header, site.Header{Name: strings.TrimSpace(string(line[:1]) + name), Value: strings.TrimSpace(value)})
	}
	return header, nil
}

// New makes a response of its parts, as they were recorded. An error says that there is no
// status line, or names the limit that the header or the content is over; [ErrTotal] is
// that of the whole recording.
func New(statusLine string, header []site.Header, body []byte, budget *Budget) (*Response, error) {
	r := &Response{Transfer: -1}
	var err error
	if r.Status, err = parseStatus(statusLine); err != nil {
		return nil, err
	}
	if len(header) > maxFields {
		return nil, fmt.Errorf("its header has more than %d fields", maxFields)
	}
	r.setHeader(header)
	decoded := r.restoreCodings()
	r.Body = r.undoTransfer(body)
	if int64(len(r.Body)) > budget.Body {
		return nil, fmt.Errorf("%w: %d octets", ErrBody, len(r.Body))
	}
	r.Size = int64(len(r.Body))
	if !decoded {
		r.Transfer = r.Size
		if err := r.checkCoding(budget); err != nil {
			return nil, err
		}
	}
	if err := budget.Spend(r.Size); err != nil {
		return nil, err
	}
	return r, nil
}

// parseStatus reads a status line (RFC 9112 section 4). Programs that recorded HTTP/2,
// where there is no such line, write one without a reason, or with HTTP/2.
func parseStatus(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(strings.ToUpper(version), "HTTP/") || err != nil || len(code) != 3 || status < 100 {
		return 0, fmt.Errorf("%.60q is not the status line of an HTTP response", line)
	}
	return status, nil
}

// setHeader takes the fields that are valid. An archive is UTF-8: what is not is taken for
// ISO 8859-1, which fields once were (RFC 9110 section 5.5).
func (r *Response) setHeader(header []site.Header) {
	var invalid []string
	for _, h := range header {
		if strings.HasPrefix(h.Name, ":") {
			continue // a pseudo-header field of HTTP/2, which the status line repeats
		}
		if !utf8.ValidString(h.Value) {
			h.Value = latin1(h.Value)
			r.repair("The field %s is not UTF-8: it was read as ISO 8859-1.", h.Name)
		}
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			invalid = append(invalid, fmt.Sprintf("%.40q", h.Name))
			continue
		}
		r.Header = append(r.Header, h)
	}
	if len(invalid) > 0 {
		r.repair("Header lines that are no valid fields were left out (%d): %s.", len(invalid), strings.Join(invalid[:min(3, len(invalid))], ", "))
	}
}

// restoreCodings gives back their names to the fields that Browsertrix renames, since it
// keeps bodies decoded. It tells whether there was a content coding among them.
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

// field is a field's value, with several lines of it joined (RFC 9110 section 5.2).
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

// ErrBody is the error of a body that is over the limit of one: it is left out.
var ErrBody = errors.New("its body is over the limit of one record")

// ErrTotal is the error of a recording that is over the limit of all bodies together: it
// is refused.
var ErrTotal = errors.New("it is over the limit of a recording (1 GiB without compression and content codings): record one page alone")

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
