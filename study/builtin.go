package study

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtins returns the names of the built-in studies, sorted.
func Builtins() []string {
	files, _ := builtin.ReadDir("builtin") // the folder is part of the program
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names) // the files' order differs where one name begins with another
	return names
}

// Builtin returns the file of a built-in study, to be given to Parse. The
// error for an unknown name names the nearest known one.
func Builtin(name string) ([]byte, error) {
	src, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("unknown built-in study %q; %s", name, nearest(name, Builtins()))
	}
	return src, nil
}
