package warc

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	zipMagic  = "PK\x03\x04"
	pagesFile = "pages/pages.jsonl"
)

// wacz reads the WARC files of a WACZ file (Web Archive Collection Zipped 1.1.1, section
// 5) and the page that it names first. A zip file has its table at the end, so it is read
// into memory first.
func (i *importer) wacz(r io.Reader) error {
	octets, err := io.ReadAll(&metered{r, &i.left})
	if err != nil {
		return err
	}
	z, err := zip.NewReader(bytes.NewReader(octets), int64(len(octets)))
	if err != nil {
		return fmt.Errorf("it begins as a WACZ file, which is a zip archive: %w", err)
	}
	found := false
	for _, f := range z.File {
		switch {
		case f.Name == pagesFile:
			err = within(f, i.firstPage)
		case path.Dir(f.Name) == "archive" && (strings.HasSuffix(f.Name, ".warc.gz") || strings.HasSuffix(f.Name, ".warc")):
			found = true
			err = within(f, func(r io.Reader) error { return i.file(bufio.NewReader(r), path.Base(f.Name)+" ") })
		}
		if err != nil {
			return fmt.Errorf("%.200q in it: %w", f.Name, err)
		}
	}
	if !found {
		return errors.New("it is a zip archive without WARC files in a folder archive, so no WACZ file")
	}
	return nil
}

func within(f *zip.File, read func(io.Reader) error) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return read(r)
}

// firstPage takes the URL of the first page of a list of them, one JSON object on a line.
func (i *importer) firstPage(r io.Reader) error {
	lines := json.NewDecoder(&metered{r, &i.left})
	for i.page == "" {
		var line struct {
			URL string `json:"url"`
		}
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			i.repair(pagesFile, "It could not be read (%v): the page was taken for the first document.", err)
			break
		}
		i.page = line.URL
	}
	return nil
}
