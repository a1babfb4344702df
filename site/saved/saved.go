// Package saved reads pages that a browser saved: a document with a folder of its files
// ("Web page, complete"), and MHTML files (RFC 2557), in one file.
//
// Both hold a page as it was when it was saved, after its scripts had run: what scripts
// added is there, and in a document with a folder they run again. In the MHTML files of
// Chromium there are no scripts. Neither has header fields, times, or what the page did
// not use at that moment.
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

// Options say how a page is read.
type Options struct {
	// Name is the site's; what has no URL of its own is served from www.<name>.test. Empty:
	// made of the file's name.
	Name string
}

// Limits of what is read.
const (
	maxBody  = 256 << 20 // octets of a file or part
	maxTotal = 1 << 30   // octets of all of them
	maxFiles = 100_000
)

// Read reads the page saved as the file name: X.html, with its files in the folder X_files
// beside it (or X-Dateien, X_fichiers and so on: Firefox translates the name), or X.mhtml,
// X.mht. Nothing else is read.
//
// A document has the URL that it was saved from, if it says so, and its files are beside it
// on the same host; else they are on www.<name>.test, and the document is at its root.
// What a document or style sheet asks for and the folder lacks is named in a repair, as is
// what leads out of the folder or was not saved. Files that nothing asks for are left out.
// In an MHTML file every part has its own URL; references to parts that have none (cid: and
// file: URLs) are rewritten.
//
// It is an error if the file is neither, a link leads out of the folder, or there are more
// than 100,000 files or 1 GiB. A file of more than 256 MiB is left out. Of an MHTML file
// that is cut off, the whole parts are kept.
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
	p := &page{root: root, file: base, stem: stem, host: "www." + o.Name + ".test", left: maxTotal}
	p.recording.Source = "page saved as " + strings.ToValidUTF8(base, "?")
	switch strings.ToLower(filepath.Ext(base)) {
	case ".html", ".htm", ".xhtml", ".xht":
		err = p.readFolder()
	case ".mhtml", ".mht":
		err = p.readMHTML()
	default:
		err = fmt.Errorf("%q is none of .html, .htm, .xhtml, .mhtml and .mht", filepath.Ext(base))
	}
	return &p.recording, err
}

// page is what has been read of a page so far.
type page struct {
	root      *os.Root
	file      string // the document, or the MHTML file
	stem      string // its name without the extension
	host      string // of what has no URL of its own
	left      int64  // octets that may still be read
	recording recording.Recording
}

func (p *page) repair(where, format string, args ...any) {
	p.recording.Repairs = append(p.recording.Repairs, recording.Repair{Where: where, What: fmt.Sprintf(format, args...)})
}

// add makes an exchange of a body. contentType may be empty.
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

// siteName makes a name for a site, which is part of a host's, of a file's name.
func siteName(stem string) string {
	const longest = 40
	name := notInNames.ReplaceAllString(strings.ToLower(stem), "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if name == "" {
		return "saved"
	}
	return name
}
