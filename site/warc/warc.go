// Package warc reads WARC files (ISO 28500, versions 1.0 and 1.1), as written by crawlers
// and archiving browsers (wget, Heritrix, warcprox, pywb, Browsertrix and others), and WACZ
// files, the zipped form of the latter.
//
// # What becomes of the records
//
//	response      an exchange; its transfer coding is undone, its content coding stays
//	request       the method of its response
//	resource      an exchange, answered by 200
//	revisit       an exchange with the body of the record that it refers to
//	metadata      who asked for its response, and how long that took
//	warcinfo      the program that wrote the file
//
// Records of other types (conversion, continuation, future ones) and records whose URI is
// not http or https (names, screenshots and texts that crawlers keep) are left out; a
// repair gives their number. Every damaged record has a repair of its own.
package warc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"wiretime/site/message"
	"wiretime/site/recording"
)

// Options says how to read a file.
type Options struct {
	// Page is the URL of the page. If it is empty, a WACZ file names the page; otherwise the
	// page is the first HTML response with status 200, or the redirect that leads to it.
	Page string
	// Limits bound what is read. The records of all types may be ten times as many as the
	// exchanges.
	Limits recording.Limits
}

// Read reads a WARC file, plain or compressed with gzip, as a whole or record by record, or
// a WACZ file with such files in it. source names it in the recording. Read keeps the
// records before the point where a file is truncated or damaged, and a repair names that
// point.
//
// Read leaves out bodies that exceed the limit of one body, encoded or decoded. It is an
// error if the file is not a WARC file, has no response, or exceeds one of the other limits.
// An input of N octets takes up to 64 N octets of memory, where N counts the octets without
// their compression.
func Read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	rec, err := read(r, source, o, message.NewBudget(o.Limits))
	if err != nil {
		return nil, fmt.Errorf("read the WARC file %s: %w", source, err)
	}
	return rec, nil
}

func read(r io.Reader, source string, o Options, budget *message.Budget) (*recording.Recording, error) {
	i := &importer{limits: o.Limits.OrDefault(), budget: budget, left: budget.Total}
	in := bufio.NewReader(r)
	if head, _ := in.Peek(len(zipMagic)); string(head) == zipMagic {
		if err := i.wacz(in); err != nil {
			return nil, err
		}
	} else if err := i.file(in, ""); err != nil {
		return nil, err
	}
	return i.finish(source, o)
}

// importer holds what has been read so far.
type importer struct {
	limits recording.Limits
	budget *message.Budget
	left   int64 // octets of files, without their compression, that may still be read

	records  int
	entries  []entry
	requests []request
	notes    []note
	software string
	page     string // named by a WACZ file
	foreign  int    // records left out for their URIs
	types    int    // records left out for their types
	repairs  []recording.Repair
}

func (i *importer) repair(where, format string, args ...any) {
	i.repairs = append(i.repairs, recording.Repair{Where: where, What: fmt.Sprintf(format, args...)})
}

// file reads the records of one file. prefix stands before their numbers in messages.
func (i *importer) file(r *bufio.Reader, prefix string) error {
	plain, err := decompress(r)
	if err != nil {
		return err
	}
	records := &reader{in: bufio.NewReader(&metered{plain, &i.left})}
	if head, err := records.in.Peek(64); !bytes.HasPrefix(bytes.TrimSpace(head), []byte("WARC/1.")) {
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return fmt.Errorf("the file begins with %.20q, want WARC/1.0 or WARC/1.1: not a WARC file, or an unsupported version", head)
	}
	for {
		rec, err := records.next()
		where := fmt.Sprintf("%srecord %d", prefix, records.records)
		if records.skipped > 0 {
			i.repair(where, "Skipped %d octets that belong to no record: a preceding length is wrong, or they are damaged.", records.skipped)
		}
		if err == nil {
			err = i.record(records, rec, where)
			i.records++
		}
		if i.records > 10*i.limits.Exchanges {
			return i.limits.TooManyExchanges("requests: too many records")
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errDamaged):
			i.repair(where, "The rest of the file cannot be read (%v): the records before it were kept.", err)
			return nil
		case err != nil:
			return err
		}
	}
}

const gzipMagic = "\x1f\x8b"

// decompress undoes gzip if the file is compressed. The file may have several gzip members,
// usually one per record (ISO 28500:2017, annex D).
func decompress(r *bufio.Reader) (io.Reader, error) {
	if head, _ := r.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return r, nil
	}
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return plain, nil
}

// metered is a reader that fails once a shared limit is used up.
type metered struct {
	r    io.Reader
	left *int64
}

func (m *metered) Read(p []byte) (int, error) {
	if *m.left <= 0 {
		return 0, message.ErrTotal
	}
	n, err := m.r.Read(p[:min(int64(len(p)), *m.left)])
	*m.left -= int64(n)
	return n, err
}
