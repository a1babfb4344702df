// Package saved reads pages that a browser saved: a document with a folder of its files
// ("Web page, complete"), and MHTML files (RFC 2557), in one file.
//
// Both hold the page's state when it was saved, after its scripts had run. A document with
// a folder includes the scripts, which run again; Chromium's MHTML files do not. Neither
// has header fields, times, or resources that the page did not use at that moment.
package saved

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"wiretime/site"
	"wiretime/site/recording"
)

// Options says how to read a page.
type Options struct {
	// Name is the name of the site; resources without a URL of their own are served from
	// www.<name>.test. Empty means derived from the file's name.
	Name string
	// Limits bound what is read: files, or parts of a file, count as exchanges.
	Limits recording.Limits
}

// Read reads the page saved as the file name: X.html, with its files in the folder X_files
// beside it (or X-Dateien, X_fichiers and so on: Firefox translates the name), or X.mhtml,
// X.mht. Nothing else is read.
//
// A document has the URL it was saved from, if it states one, and its files are next to it
// on the same host. Otherwise the document is at the root of www.<name>.test. Repairs name
// references of documents and style sheets that the folder lacks, that lead out of it, or
// that were not saved. Files without a reference are left out. In an MHTML file every part
// has its own URL; cid: and file: references are rewritten.
//
// It is an error if the file is neither, a link leads out of the folder, or the page exceeds
// a limit. Read leaves out files that exceed the limit of one body, and keeps the complete
// parts of a truncated MHTML file. A page of N octets takes up to 160 N octets of memory.
func Read(name string, o Options) (*recording.Recording, error) {
	r, err := read(name, o)
	if err != nil {
		return nil, fmt.Errorf("read the saved page %s: %w", name, err)
	}
	return r, nil
}

func read(name string, o Options) (*recording.Recording, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	base := filepath.Base(abs)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	if o.Name == "" {
		o.Name = siteName(stem)
	}
	limits := o.Limits.OrDefault()
	p := &page{root: root, file: base, stem: stem, host: "www." + o.Name + ".test", limits: limits, left: limits.Total}
	p.recording.Source = "page saved as " + strings.ToValidUTF8(base, "?")
	switch strings.ToLower(filepath.Ext(base)) {
	case ".html", ".htm", ".xhtml", ".xht":
		err = p.readFolder()
	case ".mhtml", ".mht":
		err = p.readMHTML()
	default:
		err = fmt.Errorf("unsupported extension %q: want .html, .htm, .xhtml, .mhtml or .mht", filepath.Ext(base))
	}
	return &p.recording, err
}

// page holds what has been read of a page so far.
type page struct {
	root      *os.Root
	file      string // the document, or the MHTML file
	stem      string // its name without the extension
	host      string // host of resources without a URL of their own
	limits    recording.Limits
	left      int64 // octets that may still be read
	recording recording.Recording
}

func (p *page) repair(where, format string, args ...any) {
	p.recording.Repairs = append(p.recording.Repairs, recording.Repair{Where: where, What: fmt.Sprintf(format, args...)})
}

// add adds an exchange with a body. contentType may be empty.
func (p *page) add(where, rawURL, contentType string, body []byte) {
	e := recording.Exchange{
		Where: where, Method: "GET", URL: rawURL, Status: 200, Body: body, HasBody: true, Size: int64(len(body)),
		Transfer: -1, Started: -1, Took: -1, DNS: -1, Connect: -1, Wait: -1,
	}
	if contentType != "" {
		e.Header = []site.Header{{Name: "content-type", Value: contentType}}
	}
	p.recording.Exchanges = append(p.recording.Exchanges, e)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// siteName derives a site's name, which is part of a host name, from a file's name.
func siteName(stem string) string {
	const longest = 40
	name := notInNames.ReplaceAllString(strings.ToLower(stem), "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if name == "" {
		return "saved"
	}
	return name
}
