package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns a terminal needs for escaped text: two for East Asian wide characters (Unicode Standard
// Annex #11), none for combining ones.
func Width(text string) int {
	columns := 0
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	if r < unicode.MaxLatin1 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

func (s Screen) ellipsis() string {
	if s.Unicode {
		return "…"
	}
	return ".."
}

// Cut returns text that is at most so many columns wide, without its end where it is wider.
func (s Screen) Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	mark := s.ellipsis()
	if columns < Width(mark) {
		return begin(text, columns)
	}
	return begin(text, columns-Width(mark)) + mark
}

// Shorten returns text that is at most so many columns wide, without its middle where it is wider: names and URLs differ at both
// ends.
func (s Screen) Shorten(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	mark := s.ellipsis()
	room := columns - Width(mark)
	if room < 2 {
		return s.Cut(text, columns)
	}
	return begin(text, room-room/2) + mark + end(text, room/2)
}

// begin returns the longest beginning of a text that fits.
func begin(text string, columns int) string {
	for i, r := range text {
		if columns -= runeWidth(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}

// end returns the longest end of a text that fits.
func end(text string, columns int) string {
	runes := []rune(text)
	i := len(runes)
	for i > 0 && columns >= runeWidth(runes[i-1]) {
		i--
		columns -= runeWidth(runes[i])
	}
	return string(runes[i:])
}

func padded(text string, columns int, right bool) string {
	space := strings.Repeat(" ", max(0, columns-Width(text)))
	if right {
		return space + text
	}
	return text + space
}
