package page

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// fontFormats are the font formats that Chromium supports.
var fontFormats = map[string]bool{
	"woff2": true, "woff": true, "truetype": true, "opentype": true, "collection": true,
	"woff2-variations": true, "woff-variations": true, "truetype-variations": true, "opentype-variations": true,
}

// descriptor handles a descriptor of @font-face (CSS Fonts 4, section 4).
func (p *sheetParser) descriptor(tokens []cssToken) {
	name, value, ok := declarationOf(tokens)
	if !ok || len(value) == 0 {
		return
	}
	f := &p.face
	switch name {
	case "font-family":
		f.family = familyName(value)
	case "src":
		f.sources = fontSources(value)
	case "unicode-range":
		f.ranges = nil
		for part := range strings.SplitSeq(text(value), ",") {
			if r, ok := parseRange(strings.TrimSpace(part)); ok {
				f.ranges = append(f.ranges, r)
			}
		}
	case "font-weight":
		from, ok := weight(value[0])
		if !ok {
			return
		}
		f.weight = [2]float64{from, from}
		if to, ok := weight(value[len(value)-1]); ok {
			f.weight[1] = to
		}
	case "font-style":
		f.italic = !value[0].is(css.IdentToken, "normal")
	}
}

// fontSources parses src. It leaves out local() names: the model's machine has
// only generic fonts.
func fontSources(value []cssToken) []fontSource {
	var sources []fontSource
	for _, part := range splitTokens(value, css.CommaToken) {
		source := fontSource{url: urlOf(part)}
		if source.url == "" {
			continue
		}
		for len(part) > 0 {
			if part[0].function() != "format" {
				part = part[1:]
				continue
			}
			var inside []cssToken
			if inside, part = inner(part); len(inside) > 0 {
				source.format = strings.ToLower(inside[0].value())
			}
		}
		sources = append(sources, source)
	}
	return sources
}

// urlOf returns the first URL in tokens, or "".
func urlOf(tokens []cssToken) string {
	for len(tokens) > 0 {
		if tokens[0].kind == css.URLToken {
			return tokens[0].value()
		}
		if tokens[0].function() != "url" {
			tokens = tokens[1:]
			continue
		}
		var inside []cssToken
		if inside, tokens = inner(tokens); len(inside) > 0 {
			return inside[0].value()
		}
	}
	return ""
}

// source returns the URL of the first source in a supported format.
func (f *fontFace) source() (string, bool) {
	for _, s := range f.sources {
		if s.format == "" || fontFormats[s.format] {
			return s.url, true
		}
	}
	return "", false
}

// covers reports whether a character is in the face's unicode-range.
func (f *fontFace) covers(r rune) bool {
	if len(f.ranges) == 0 {
		return true
	}
	for _, in := range f.ranges {
		if in.from <= r && r <= in.to {
			return true
		}
	}
	return false
}

// parseRange parses "U+0-FF", "U+26" or "U+4??".
func parseRange(s string) (r runeRange, ok bool) {
	if len(s) < 3 || s[0] != 'u' && s[0] != 'U' || s[1] != '+' {
		return r, false
	}
	from, to, ranged := strings.Cut(s[2:], "-")
	if !ranged {
		to = strings.ReplaceAll(from, "?", "F")
		from = strings.ReplaceAll(from, "?", "0")
	}
	a, errA := strconv.ParseUint(from, 16, 32)
	b, errB := strconv.ParseUint(to, 16, 32)
	if errA != nil || errB != nil || a > 0x10FFFF || b > 0x7FFFFFFF {
		return r, false
	}
	return runeRange{rune(a), rune(b)}, true
}

// familyName returns a family's name for comparison: without quotes, in lower
// case.
func familyName(tokens []cssToken) string {
	if len(tokens) == 1 && tokens[0].kind == css.StringToken {
		return strings.ToLower(tokens[0].value())
	}
	var words []string
	for _, t := range tokens {
		switch t.kind {
		case css.IdentToken:
			words = append(words, t.value())
		case css.WhitespaceToken:
		default:
			return ""
		}
	}
	return strings.ToLower(strings.Join(words, " "))
}

func weight(t cssToken) (float64, bool) {
	switch strings.ToLower(t.text) {
	case "normal":
		return 400, true
	case "bold", "bolder":
		return 700, true
	case "lighter":
		return 300, true
	}
	value, unit, ok := t.number()
	return value, ok && unit == ""
}
