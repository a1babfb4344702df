// Package importer reads pages that other tools have recorded or saved, in any of the
// formats that the packages beside it read.
package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/site"
	"wiretime/site/har"
	"wiretime/site/mahimahi"
	"wiretime/site/recording"
	"wiretime/site/saved"
	"wiretime/site/urllist"
	"wiretime/site/warc"
)

// Formats returns the names of the formats.
func Formats() []string { return []string{"har", "warc", "mahimahi", "saved", "urls"} }

// Options say how to read a recording.
type Options struct {
	// Format is one of Formats.
	Format string
	// SiteName is used by formats that do not record hosts.
	SiteName string
	// Page selects a page: by ID or number in a HAR file with several, by URL in a WARC file or
	// a mahimahi folder. Empty means that the format's package chooses.
	Page string
	// Limits bound what is read.
	Limits recording.Limits
}

// Read reads a file or folder.
func Read(name string, o Options) (*recording.Recording, error) {
	switch o.Format {
	case "mahimahi":
		return mahimahi.Read(name, mahimahi.Options{Page: o.Page, Limits: o.Limits})
	case "saved":
		return saved.Read(name, saved.Options{Name: o.SiteName, Limits: o.Limits})
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	source := filepath.Base(name)
	switch o.Format {
	case "har":
		return har.Read(file, source, har.Options{Page: o.Page, Limits: o.Limits})
	case "warc":
		return warc.Read(file, source, warc.Options{Page: o.Page, Limits: o.Limits})
	case "urls":
		return urllist.Read(file, source, urllist.Options{Name: o.SiteName, Limits: o.Limits})
	}
	return nil, fmt.Errorf("unknown format %q: want one of %s", o.Format, strings.Join(Formats(), ", "))
}

// SiteName makes a site's name from a file's.
func SiteName(file string) string {
	base := strings.ToLower(filepath.Base(filepath.Clean(file)))
	for _, ending := range []string{".gz", ".har", ".warc", ".html", ".htm", ".mhtml", ".mht", ".txt", ".json"} {
		base = strings.TrimSuffix(base, ending)
	}
	return site.NameFrom(base)
}

// Detect returns the format of a file or folder, judged by its content and its name.
func Detect(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return detectFolder(name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head, err := bufio.NewReaderSize(file, 4096).Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		head = unzipped(head)
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	lower := strings.ToLower(text)
	ending := strings.ToLower(filepath.Ext(name))
	switch {
	case len(head) == 0:
		return "", errors.New("the file is empty")
	case strings.HasPrefix(text, "WARC/"), ending == ".warc", ending == ".wacz":
		return "warc", nil
	case strings.HasPrefix(text, "{"), ending == ".har":
		return "har", nil
	case ending == ".mht", ending == ".mhtml", strings.HasPrefix(lower, "from: <saved by"), strings.Contains(lower, "content-type: multipart/related"):
		return "saved", nil
	case ending == ".html", ending == ".htm", strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"):
		return "saved", nil
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"), strings.HasPrefix(text, "#"):
		return "urls", nil
	}
	return "", fmt.Errorf("unknown format: choose one of %s with --format", strings.Join(Formats(), ", "))
}

// unzipped returns the text at the beginning of a gzip file.
func unzipped(head []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return head
	}
	text := make([]byte, 512)
	n, _ := io.ReadFull(z, text) // the head ends within the compressed data
	return text[:n]
}

func detectFolder(name string) (string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "index.html" }) {
		return "", fmt.Errorf("a folder with an index.html is no recording: use wiretime site add %s", name)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "save.") }) {
		return "mahimahi", nil
	}
	return "", errors.New("the folder has no file whose name begins with \"save.\", as those of mm-webrecord do: name the file of a saved page, or use --format mahimahi")
}
