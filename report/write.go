package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"wiretime/atomicfile"
)

// dist holds the built page. A checkout has none until `make build`, which is
// why the folder is kept by a .gitkeep and the page's absence is an error of
// Write, not of the compiler.
//
//go:embed all:ui/dist
var dist embed.FS

const pageFile = "ui/dist/index.html"

// slot is where the page expects its data. index.html carries it verbatim.
const slot = `<script type="application/json" id="data">null</script>`

// ErrNotBuilt is returned by Write when the binary was compiled without the page.
var ErrNotBuilt = errors.New("this binary was compiled without the report's page: run `make build`, which builds report/ui first, and use the binary it makes")

// Write writes the report to path as one HTML file, whole or not at all. An
// existing file is replaced.
func Write(path string, d Data) error { return writePage(path, d) }

// WriteFigure does what Write does for a figure by itself.
func WriteFigure(path string, f Figure) error {
	return writePage(path, struct {
		Figure Figure `json:"figure"`
	}{f})
}

func writePage(path string, data any) error {
	page, err := fs.ReadFile(dist, pageFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write report %s: %w", path, ErrNotBuilt)
	}
	if err != nil {
		return fmt.Errorf("write report %s: read the built page: %w", path, err)
	}
	html, err := fill(page, data)
	if err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	if err := atomicfile.WriteBytes(path, html); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}

// fill puts data into the page's slot. encoding/json writes <, >, &, U+2028 and
// U+2029 as \u escapes, so no string in it can end the script element.
func fill(page []byte, data any) ([]byte, error) {
	before, after, found := bytes.Cut(page, []byte(slot))
	if !found {
		return nil, fmt.Errorf("put data into the page: %s has no %s: run `make build`", pageFile, slot)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode the report's data: %w", err)
	}
	open, end, _ := bytes.Cut([]byte(slot), []byte("null"))
	return bytes.Join([][]byte{before, open, text, end, after}, nil), nil
}
