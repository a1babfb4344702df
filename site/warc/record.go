package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"wiretime/site"
	"wiretime/site/message"
)

// maxHeader limits a record's own header in octets. Browsertrix stores the browser's whole
// local storage there.
const maxHeader = 16 << 20

// record is the header of one record (ISO 28500:2017, section 4).
type record struct {
	number int // from 1, in its file
	header []site.Header
	length int64 // of its block, in octets
}

// field returns the value of a named field, or "".
func (r *record) field(name string) string { return message.Field(r.header, name) }

// uri returns the value of a field that holds a URI. Early programs put every URI in angle
// brackets, as the grammar of WARC 1.0 said.
func (r *record) uri(name string) string { return bare(r.field(name)) }

// uris returns the values of a field that may occur several times.
func (r *record) uris(name string) []string {
	var all []string
	for _, h := range r.header {
		if strings.EqualFold(h.Name, name) {
			all = append(all, bare(h.Value))
		}
	}
	return all
}

func bare(uri string) string {
	if inner, ok := strings.CutPrefix(uri, "<"); ok {
		return strings.TrimSuffix(inner, ">")
	}
	return uri
}

// reader reads the records of a file, one after the other.
type reader struct {
	in      *bufio.Reader
	records int
	rest    int64 // of the current record's block, in octets
	skipped int64 // octets before the current record that belong to no record
}

// errDamaged is wrapped by the error of a file that cannot be read further.
var errDamaged = errors.New("damaged or truncated")

// next finds the next record, wherever its predecessor ends, or returns io.EOF. Call block
// to read the record's block; next skips what was not read.
func (r *reader) next() (*record, error) {
	r.skipped = 0
	if _, err := io.CopyN(io.Discard, r.in, r.rest); err != nil {
		return nil, r.wrap("the block of record", err)
	}
	r.rest = 0
	for {
		line, err := r.line(maxHeader)
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, r.wrap("what follows record", err)
		}
		if bytes.HasPrefix(line, []byte("WARC/1.")) {
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			r.skipped += int64(len(line))
		}
	}
	r.records++
	return r.readHeader()
}

func (r *reader) readHeader() (*record, error) {
	var octets []byte
	for {
		line, err := r.line(maxHeader - len(octets))
		if err != nil {
			return nil, r.wrap("the header of record", err)
		}
		if octets = append(octets, line...); len(octets) > maxHeader {
			return nil, r.wrap("the header of record", fmt.Errorf("more than %d octets", maxHeader))
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
	}
	header, _ := message.Fields(octets) // WARC fields have the syntax of HTTP fields, but in UTF-8
	rec := &record{number: r.records, header: header}
	length, err := strconv.ParseInt(rec.field("content-length"), 10, 64)
	if err != nil || length < 0 {
		length = 0 // makes next search for the next record
	}
	rec.length, r.rest = length, length
	return rec, nil
}

// block reads the current record's block.
func (r *reader) block() ([]byte, error) {
	var octets bytes.Buffer
	n, err := io.CopyN(&octets, r.in, r.rest)
	r.rest -= n
	if err != nil {
		return nil, r.wrap("the block of record", err)
	}
	return octets.Bytes(), nil
}

func (r *reader) wrap(what string, cause error) error {
	if errors.Is(cause, message.ErrTotal) {
		return cause
	}
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s %d: %w: %w", what, r.records, errDamaged, cause)
}

// line reads up to and including the next line feed. It is an error if the line is longer
// than limit.
func (r *reader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > limit {
			return line, fmt.Errorf("a line of more than %d octets", limit)
		}
	}
}
