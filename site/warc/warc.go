// Package warc reads WARC files (ISO 28500, versions 1.0 and 1.1), which crawlers and
// archiving browsers write: wget, Heritrix, warcprox, pywb, Browsertrix and others; and
// WACZ files, in which the latter pack them.
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
// Records of other types (conversion, continuation, those to come) and records whose URI
// is not http or https (names, screenshots and texts that crawlers keep) are left out; a
// repair says how many. So does one for every record that was not in order.
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

// Options say how a file is read.
type Options struct {
	// Page is the URL of the page; empty: that of the first response that is HTML with
	// status 200, or of the redirect that leads to it. A WACZ file names it itself.
	Page string
}

// maxExchanges is how many a recording may have, maxRecords how many records of all types.
const (
	maxExchanges = 100_000
	maxRecords   = 1_000_000
)

// Read reads a WARC file, plain or compressed with gzip, as a whole or record by record,
// or a WACZ file with such files in it. source names it in the recording. Of a file that
// is cut off or damaged, the records before that are read, and a repair names the place.
//
// A body may have 256 MiB with its content coding and without; one that has more is left
// out. It is an error if the file is no WARC file, has no response, has more than 100,000,
// or more than 1 GiB, be it without its compression or its bodies without their codings.
func Read(r io.Reader, source string, o Options) (*recording.Recording, error) {
	rec, err := read(r, source, o, message.NewBudget())
	if err != nil {
		return nil, fmt.Errorf("read the WARC file %s: %w", source, err)
	}
	return rec, nil
}

func read(r io.Reader, source string, o Options, budget *message.Budget) (*recording.Recording, error) {
	i := &importer{budget: budget, left: budget.Total}
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

// importer is what has been read so far.
type importer struct {
	budget *message.Budget
	left   int64 // octets of files, without their compression, that may still be read

	records  int
	entries  []entry
	requests []request
	notes    []note
	software string
	page     string // the one that a WACZ file names
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
		return fmt.Errorf("it begins with %.20q, not with WARC/1.0 or WARC/1.1: not a WARC file, or one of another version", head)
	}
	for {
		rec, err := records.next()
		where := fmt.Sprintf("%srecord %d", prefix, records.records)
		if records.skipped > 0 {
			i.repair(where, "%d octets belong to no record and were passed over: a length before them is wrong, or they were damaged.", records.skipped)
		}
		if err == nil {
			err = i.record(records, rec, where)
			i.records++
		}
		if i.records > maxRecords {
			return fmt.Errorf("it has more than %d records: it is a crawl, not a page", maxRecords)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errDamaged):
			i.repair(where, "The file could not be read beyond this (%v): the records before it were kept.", err)
			return nil
		case err != nil:
			return err
		}
	}
}

const gzipMagic = "\x1f\x8b"

// decompress undoes gzip, if the file is compressed with it. Members of it follow each
// other, usually one for each record (ISO 28500:2017, annex D).
func decompress(r *bufio.Reader) (io.Reader, error) {
	if head, _ := r.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return r, nil
	}
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decompress it: %w", err)
	}
	return plain, nil
}

// metered is a reader that may be read until what is left of a limit is used up.
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
