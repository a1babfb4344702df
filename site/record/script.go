package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Script lists the steps to perform once a page has loaded.
type Script struct {
	file  string
	steps []step
}

// step is a line of a script.
type step struct {
	line, column int
	do           string
	argument     string
	time         time.Duration // to wait
	pixels       int           // to scroll; 0: to the bottom
}

// These are the names of the steps.
const (
	wait       = "wait"
	scroll     = "scroll"
	click      = "click"
	clickIfAny = "click?"
	eval       = "eval"
)

// These limit what one step may do.
const (
	maxWait   = time.Hour
	maxPixels = 1_000_000
)

// ParseScript reads a script: one step per line. Empty lines and lines that begin with #
// are ignored.
//
//	wait 2s            lets time pass, up to an hour
//	scroll 2000        scrolls down by so many CSS pixels
//	scroll bottom      scrolls down to the page's end, by one screen after the other
//	click SELECTOR     clicks on the first element that a CSS selector finds, also in
//	                   open shadow trees and frames of the page's own origin
//	click? SELECTOR    the same, if there is such an element
//	eval JAVASCRIPT    runs it in the page, and waits for its promise
//
// file names the script in errors. An error gives the line, the column in characters from
// 1, what is wrong and what to write.
func ParseScript(file string, text []byte) (*Script, error) {
	s := &Script{file: file}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		content := strings.TrimSpace(line)
		if content == "" || strings.HasPrefix(content, "#") {
			continue
		}
		at := step{line: number, column: columnOf(line, content)}
		if !utf8.ValidString(content) {
			return nil, s.fault(at, "invalid UTF-8: save the file as UTF-8")
		}
		at.do = content
		if i := strings.IndexAny(content, " \t"); i >= 0 {
			at.do, at.argument = content[:i], strings.TrimSpace(content[i:])
		}
		if err := s.read(&at, columnOf(line, at.argument)); err != nil {
			return nil, err
		}
		s.steps = append(s.steps, at)
	}
	return s, nil
}

// columnOf returns the column where the end of a line begins, in characters from 1.
func columnOf(line, end string) int {
	line = strings.TrimRight(line, " \t\r\n\v\f\u0085\u00a0")
	return utf8.RuneCountInString(strings.TrimSuffix(line, end)) + 1
}

// fault returns an error at a step of the script.
func (s *Script) fault(at step, format string, values ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", s.file, at.line, at.column, fmt.Errorf(format, values...))
}

// examples shows each step's syntax in messages.
var examples = map[string]string{
	wait: "wait 2s", scroll: "scroll 2000 or scroll bottom", click: "click SELECTOR", clickIfAny: "click? SELECTOR", eval: "eval JAVASCRIPT",
}

// read parses a step's argument, which begins at column.
func (s *Script) read(at *step, column int) error {
	example, known := examples[at.do]
	if !known {
		return s.fault(*at, "unknown step %q: write wait, scroll, click, click? or eval", at.do)
	}
	if at.argument == "" {
		return s.fault(*at, "%s needs an argument: write %s", at.do, example)
	}
	inside := *at
	inside.column = column
	switch at.do {
	case wait:
		d, err := time.ParseDuration(at.argument)
		if err != nil {
			return s.fault(inside, "invalid duration %q: write a number with its unit, as in wait 500ms or wait 2s", at.argument)
		}
		if d <= 0 || d > maxWait {
			return s.fault(inside, "invalid duration %s: must be positive and at most one hour", at.argument)
		}
		at.time = d
	case scroll:
		if at.argument == "bottom" {
			return nil
		}
		pixels, err := strconv.Atoi(at.argument)
		if err != nil || pixels < 1 || pixels > maxPixels {
			return s.fault(inside, "invalid distance %q: write 1 to %d CSS pixels, as in scroll 2000, or scroll bottom", at.argument, maxPixels)
		}
		at.pixels = pixels
	}
	return nil
}
