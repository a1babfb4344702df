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
func Write(path string, d Data) error {
	page, err := fs.ReadFile(dist, pageFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write report %s: %w", path, ErrNotBuilt)
	}
	if err != nil {
		return fmt.Errorf("write report %s: read the built page: %w", path, err)
	}
	html, err := fill(page, d)
	if err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	if err := atomicfile.WriteBytes(path, html); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}

// fill puts d into the page's slot. encoding/json writes <, >, &, U+2028 and
// U+2029 as \u escapes, so no string in d can end the script element.
func fill(page []byte, d Data) ([]byte, error) {
	before, after, found := bytes.Cut(page, []byte(slot))
	if !found {
		return nil, fmt.Errorf("put data into the page: %s has no %s: run `make build`", pageFile, slot)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the report's data: %w", err)
	}
	open, end, _ := bytes.Cut([]byte(slot), []byte("null"))
	return bytes.Join([][]byte{before, open, data, end, after}, nil), nil
}
