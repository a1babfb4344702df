// Package terminal prints for people: tables that fit the width, colours, bars, and a line that changes
// while something is under way, each as far as the terminal can show it. It keeps foreign text, such as a
// URL, a title or a server's error, from controlling the terminal on which it is printed.
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape replaces what a terminal would obey rather than show: control characters other
// than newline and tab (which start escape sequences: ECMA-48), characters that change the
// direction of writing (Unicode's Bidi_Control), and octets that are not UTF-8. They
// become \x1b, \u202e and the like.
func Escape(s string) string {
	return escape(s, func(r rune) bool { return r != '\n' && r != '\t' && obeyed(r) })
}

// Line is Escape for text that must stay in its line and in its column of a table: it
// escapes newlines and tabs as well.
func Line(s string) string { return escape(s, obeyed) }

func obeyed(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

func escape(s string, bad func(rune) bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case bad(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case bad(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
