package ui

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"wiretime/report"
)

// dist has the built page. A checkout has none until `make build`.
//
//go:embed all:dist
var dist embed.FS

// App returns the page's own files. It wraps report.ErrNotBuilt if the binary was compiled without them.
func App() (fs.FS, error) {
	app, err := fs.Sub(dist, "dist")
	if err == nil {
		_, err = fs.Stat(app, "index.html")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find the live page: %w", report.ErrNotBuilt)
	}
	return app, err
}
