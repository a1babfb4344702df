package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Script says what to do once a page has loaded, in steps.
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

// What steps do.
const (
	wait       = "wait"
	scroll     = "scroll"
	click      = "click"
	clickIfAny = "click?"
	eval       = "eval"
)

// Limits of what one step may ask for.
const (
	maxWait   = time.Hour
	maxPixels = 1_000_000
)

// ParseScript reads a script: a step on each line, lines that begin with # and empty ones
// aside.
//
//	wait 2s            lets time pass, up to an hour
//	scroll 2000        scrolls down by so many CSS pixels
//	scroll bottom      scrolls down to the page's end, by one screen after the other
//	click SELECTOR     clicks on the first element that a CSS selector finds, also in
//	                   open shadow trees and frames of the page's own origin
//	click? SELECTOR    the same, if there is such an element
//	eval JAVASCRIPT    runs it in the page, and waits for its promise
//
// file names it in errors, which say the line, the column in characters from 1, what is
// wrong there and what to write.
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
			return nil, s.fault(at, "the line is no UTF-8 text: save the file as UTF-8")
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

// columnOf is where the end of a line begins, in characters from 1.
func columnOf(line, end string) int {
	line = strings.TrimRight(line, " \t\r\n\v\f\u0085\u00a0")
	return utf8.RuneCountInString(strings.TrimSuffix(line, end)) + 1
}

// fault is an error in the script.
func (s *Script) fault(at step, format string, values ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", s.file, at.line, at.column, fmt.Errorf(format, values...))
}

// examples are what steps look like, in messages.
var examples = map[string]string{
	wait: "wait 2s", scroll: "scroll 2000 or scroll bottom", click: "click SELECTOR", clickIfAny: "click? SELECTOR", eval: "eval JAVASCRIPT",
}

// read reads a step's argument, which begins in a column of its own.
func (s *Script) read(at *step, column int) error {
	example, known := examples[at.do]
	if !known {
		return s.fault(*at, "%q is no step: write wait, scroll, click, click? or eval", at.do)
	}
	if at.argument == "" {
		return s.fault(*at, "%s what? Write %s", at.do, example)
	}
	inside := *at
	inside.column = column
	switch at.do {
	case wait:
		d, err := time.ParseDuration(at.argument)
		if err != nil {
			return s.fault(inside, "%q is no time: write a number with its unit, as in wait 500ms or wait 2s", at.argument)
		}
		if d <= 0 || d > maxWait {
			return s.fault(inside, "a wait of %s: write one of more than 0, and an hour at most", at.argument)
		}
		at.time = d
	case scroll:
		if at.argument == "bottom" {
			return nil
		}
		pixels, err := strconv.Atoi(at.argument)
		if err != nil || pixels < 1 || pixels > maxPixels {
			return s.fault(inside, "%q is no distance: write 1 to %d CSS pixels, as in scroll 2000, or scroll bottom", at.argument, maxPixels)
		}
		at.pixels = pixels
	}
	return nil
}
