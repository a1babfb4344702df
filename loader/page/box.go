package page

import (
	"math"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// box holds what decides where an element is: as much of CSS's box model as an
// estimate needs. Lengths are in px; negative ones are unset.
type box struct {
	display    string
	outOfFlow  bool
	font, line float64 // font size, and line height in font sizes
	width      float64
	height     float64
	minHeight  float64
	maxWidth   float64
	above      float64 // margins
	below      float64
	sides      float64 // margins and padding, left and right together
	inside     float64 // padding, top and bottom together
	gaps       [2]float64
	columns    []track
	wraps      bool
	view       viewport
}

// normalLine is the default line height, in font sizes.
const normalLine = 1.2

// heading holds the font sizes of headings and their margins, in their own font size
// (HTML standard, section 15.3.6).
var heading = map[string][2]float64{"h1": {2, .67}, "h2": {1.5, .83}, "h3": {1.17, 1}, "h4": {1, 1.33}, "h5": {.83, 1.67}, "h6": {.67, 2.33}}

var (
	blocks = set(`html body address article aside blockquote center dd details dialog div dl dt fieldset figcaption figure footer form
		h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup p pre search section summary table tbody thead tfoot caption ul`)
	spaced = set("p ul ol dl blockquote figure pre menu")
)

// newBox returns the default box of an element (HTML standard, section 15).
func newBox(name string, around *box, view viewport) box {
	b := box{display: "inline", font: around.font, line: around.line, width: -1, height: -1, minHeight: -1, maxWidth: -1, view: view}
	switch {
	case blocks[name]:
		b.display = "block"
	case name == "tr":
		b.display = "flex"
	case name == "td", name == "th", name == "button", name == "input", name == "select", name == "textarea":
		b.display = "inline-block"
	}
	if h, ok := heading[name]; ok {
		b.font *= h[0]
		b.above, b.below = h[1]*b.font, h[1]*b.font
	}
	if spaced[name] {
		b.above, b.below = b.font, b.font
	}
	switch name {
	case "body":
		b.above, b.below, b.sides = 8, 8, 16
	case "ul", "ol", "menu", "dd":
		b.sides = 40
	case "blockquote", "figure":
		b.sides = 80
	}
	return b
}

// apply applies the declarations to the box.
func (b *box) apply(st *style, c *cascade) {
	b.applyFont(st.value(c, font))
	b.length(st.value(c, letterSize), &b.font, b.font)
	if value := st.value(c, lineHeight); len(value) == 1 {
		b.lines(value[0])
	}
	if value := st.value(c, display); len(value) > 0 && value[0].kind == css.IdentToken {
		b.display = strings.ToLower(value[len(value)-1].text)
	}
	if value := st.value(c, position); len(value) == 1 {
		b.outOfFlow = value[0].is(css.IdentToken, "absolute") || value[0].is(css.IdentToken, "fixed")
	}
	b.length(st.value(c, boxWidth), &b.width, -1)
	b.length(st.value(c, boxHeight), &b.height, -1)
	b.length(st.value(c, minHeight), &b.minHeight, -1)
	b.length(st.value(c, maxWidth), &b.maxWidth, -1)
	if m, ok := b.four(st.value(c, margin)); ok {
		b.sides = m[1] + m[3]
		b.above, b.below = m[0], m[2]
	}
	b.length(st.value(c, marginTop), &b.above, b.above)
	b.length(st.value(c, marginBottom), &b.below, b.below)
	if p, ok := b.four(st.value(c, padding)); ok {
		b.sides += p[1] + p[3]
		b.inside = p[0] + p[2]
	}
	if value := st.value(c, gap); len(value) > 0 {
		parts := words(value)
		for i := range b.gaps {
			b.length(parts[min(i, len(parts)-1)], &b.gaps[i], 0)
			b.gaps[i] = max(0, b.gaps[i])
		}
	}
	b.columns = b.tracks(st.value(c, gridColumns))
	for _, t := range st.value(c, flexWrap) {
		b.wraps = b.wraps || t.is(css.IdentToken, "wrap")
	}
	if value := st.value(c, flexDirection); b.display == "flex" && len(value) == 1 && strings.HasPrefix(strings.ToLower(value[0].text), "column") {
		b.display = "block"
	}
}

// applyFont sets font size and line height from the shorthand.
func (b *box) applyFont(value []cssToken) {
	for i, t := range value {
		size, unit, ok := t.number()
		if !ok || unit == "" && size != 0 {
			continue
		}
		b.length(value[i:i+1], &b.font, b.font)
		if i+2 < len(value) && value[i+1].is(css.DelimToken, "/") {
			b.lines(value[i+2])
		}
		return
	}
}

func (b *box) lines(t cssToken) {
	value, unit, ok := t.number()
	switch {
	case !ok || value <= 0:
	case unit == "":
		b.line = min(value, maxLength)
	case b.font > 0:
		px := value
		b.length([]cssToken{t}, &px, value)
		b.line = min(px/b.font, maxLength)
	}
}

// maxLength limits lengths, in px, as Chromium's LayoutUnit does
// (third_party/blink/renderer/platform/geometry/layout_unit.h).
const maxLength = 1 << 25

// length sets a length, or leaves it unchanged; auto and the like mean none.
func (b *box) length(value []cssToken, to *float64, none float64) {
	if len(value) == 0 {
		return
	}
	if len(value) == 1 {
		if number, unit, ok := value[0].number(); ok && unit == "em" {
			*to = clamp(number * b.font)
			return
		}
		if value[0].kind == css.IdentToken || value[0].kind == css.PercentageToken {
			*to = none
			return
		}
	}
	if px, ok := b.view.calculate(value, 0); ok && !math.IsNaN(px) {
		*to = clamp(px)
	}
}

func clamp(px float64) float64 { return min(max(px, -maxLength), maxLength) }

// four reads the one to four lengths of margin and padding, from the top clockwise.
func (b *box) four(value []cssToken) (sides [4]float64, ok bool) {
	if len(value) == 0 {
		return sides, false
	}
	parts := words(value)
	from := [4]int{0, min(1, len(parts)-1), 0, min(1, len(parts)-1)}
	if len(parts) > 2 {
		from[2] = 2
	}
	if len(parts) > 3 {
		from[3] = 3
	}
	for i := range sides {
		b.length(parts[from[i]], &sides[i], 0)
	}
	return sides, true
}

// words splits a value at spaces.
func words(value []cssToken) [][]cssToken {
	var parts [][]cssToken
	for len(value) > 0 {
		if value = trimSpace(value); len(value) == 0 {
			break
		}
		size := 1
		if nesting(value[0]) > 0 {
			_, rest := inner(value)
			size = len(value) - len(rest)
		}
		parts = append(parts, value[:size])
		value = value[size:]
	}
	if parts == nil {
		parts = [][]cssToken{nil}
	}
	return parts
}

// track is one or several columns of a grid: a fixed number, or as many as fit.
type track struct {
	count int     // 0: as many as fit
	least float64 // the width of each, if as many as fit
	alone bool    // the repeated list has one column
}

// maxColumns limits the columns of a grid, and the tracks that are kept of it.
const maxColumns = 1000

// tracks reads grid-template-columns (CSS Grid 2, sections 7.2 and 7.2.3).
func (b *box) tracks(value []cssToken) (tracks []track) {
	for _, part := range words(value) {
		if len(tracks) == maxColumns {
			break
		}
		if len(part) == 0 || part[0].is(css.IdentToken, "none") {
			continue
		}
		if part[0].function() != "repeat" {
			tracks = append(tracks, track{count: 1})
			continue
		}
		inside, _ := inner(part)
		arguments := splitTokens(inside, css.CommaToken)
		if len(arguments) != 2 || len(arguments[0]) == 0 || len(arguments[1]) == 0 {
			continue
		}
		size := words(arguments[1])
		if n, _, ok := arguments[0][0].number(); ok {
			if n >= 1 {
				tracks = append(tracks, track{count: int(min(n, maxColumns)) * min(len(size), maxColumns)})
			}
			continue
		}
		// auto-fill and auto-fit: as many as fit.
		least := -1.0
		b.length(size[0], &least, -1)
		if size[0][0].function() == "minmax" {
			bounds, _ := inner(size[0])
			b.length(splitTokens(bounds, css.CommaToken)[0], &least, -1)
		}
		if least > 0 {
			tracks = append(tracks, track{least: least, alone: len(size[0]) == 1})
		}
	}
	return tracks
}

// grid returns how many columns a grid of that width has, and how wide each is.
func (b *box) grid(width float64) (count int, each float64) {
	for _, t := range b.columns {
		if t.count > 0 {
			count += t.count
			continue
		}
		count += max(1, int(min((width+b.gaps[1])/(t.least+b.gaps[1]), maxColumns)))
		if t.alone {
			return min(count, maxColumns), t.least
		}
	}
	count = min(max(1, count), maxColumns)
	return count, (width - float64(count-1)*b.gaps[1]) / float64(count)
}
