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

// wacz reads the WARC files of a WACZ file (Web Archive Collection Zipped 1.1.1, section 5)
// and the first page that it lists. It reads the file into memory first, because a zip file
// has its directory at the end.
func (i *importer) wacz(r io.Reader) error {
	octets, err := io.ReadAll(&metered{r, &i.left})
	if err != nil {
		return err
	}
	z, err := zip.NewReader(bytes.NewReader(octets), int64(len(octets)))
	if err != nil {
		return fmt.Errorf("invalid WACZ file: %w", err)
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
			return fmt.Errorf("member %.200q: %w", f.Name, err)
		}
	}
	if !found {
		return errors.New("not a WACZ file: the zip archive has no WARC files in its folder archive")
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

// firstPage takes the URL of the first page in a list with one JSON object per line.
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
			i.repair(pagesFile, "Unreadable (%v): the first document was used as the page.", err)
			break
		}
		if len(line.URL) <= maxURI {
			i.page = line.URL
		}
	}
	return nil
}
