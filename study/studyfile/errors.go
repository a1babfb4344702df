package studyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error describes one mistake in a study file.
type Error struct {
	File         string
	Line, Column int // from 1; columns count characters
	Message      string
}

// Error returns "file:line:column: message".
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors lists all mistakes in a study file, in the order of their positions.
type Errors []Error

// Error returns one line per mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}
