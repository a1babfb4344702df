// Package builtin holds the files of the schedules that come with Wiretime.
package builtin

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the built-in schedules, sorted.
func Names() []string {
	entries, _ := files.ReadDir(".") // the files are part of the program
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// File returns the file of a built-in schedule, for studyfile.ParseSchedule, and whether there is one of that name.
func File(name string) ([]byte, bool) {
	src, err := files.ReadFile(name + ".yaml")
	return src, err == nil
}
