// Package english words what the program tells people.
package english

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count writes a number with its noun, which is given in the singular: "1 load", "2 loads",
// "0 bodies".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		noun = stem + "ie"
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Wrap breaks a text into lines of at most so many characters, between words: a longer word has a line of its own.
func Wrap(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}
