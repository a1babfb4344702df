// Package builtin holds the files of the studies that come with Wiretime.
package builtin

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"wiretime/network"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the built-in studies, sorted.
func Names() []string {
	entries, _ := files.ReadDir(".") // the files are part of the program
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names) // the files' order differs where one name begins with another
	return names
}

// File returns the file of a built-in study, for studyfile.Parse. The error for an unknown
// name suggests the nearest one, or lists all.
func File(name string) ([]byte, error) {
	src, err := files.ReadFile(name + ".yaml")
	if err == nil {
		return src, nil
	}
	if near := network.Nearest(name, Names()); near != "" {
		return nil, fmt.Errorf("unknown built-in study %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("unknown built-in study %q; write one of %s", name, strings.Join(Names(), ", "))
}
