package page

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// candidate is one image of a srcset.
type candidate struct {
	url     string
	density float64
}

// parseSrcset parses a srcset attribute
// (https://html.spec.whatwg.org/#parsing-a-srcset-attribute). Widths become
// densities for an image of the given size in px.
func parseSrcset(s string, size float64) (candidates []candidate, widths bool) {
	const space = " \t\n\f\r"
	for {
		s = strings.TrimLeft(s, space+",")
		if s == "" {
			return candidates, widths
		}
		end := strings.IndexAny(s, space)
		if end < 0 {
			end = len(s)
		}
		c := candidate{url: s[:end], density: 1}
		s = s[end:]
		if trimmed := strings.TrimRight(c.url, ","); trimmed != c.url {
			c.url = trimmed
			candidates = append(candidates, c)
			continue
		}
		var descriptors string
		descriptors, s = cutDescriptors(s)
		ok := true
		for field := range strings.FieldsSeq(descriptors) {
			value, err := strconv.ParseFloat(field[:len(field)-1], 64)
			switch unit := field[len(field)-1]; {
			case err != nil || value < 0 || math.IsNaN(value) || math.IsInf(value, 0):
				ok = false
			case unit == 'w' && value > 0:
				c.density = value / max(size, 1e-9)
				widths = true
			case unit == 'x':
				c.density = value
			case unit != 'h':
				ok = false
			}
		}
		if ok && c.url != "" {
			candidates = append(candidates, c)
		}
	}
}

// cutDescriptors cuts at the first comma outside of brackets.
func cutDescriptors(s string) (descriptors, rest string) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// bestSource selects an image like Chromium: the first candidate that is dense
// enough, unless the previous one is closer in ratio
// (third_party/blink/renderer/core/html/parser/html_srcset_parser.cc). src
// takes part with density 1 unless there are widths or another candidate of
// density 1.
func (v viewport) bestSource(src, srcset string, size float64) string {
	candidates, widths := parseSrcset(srcset, size)
	if src != "" && !widths && !slices.ContainsFunc(candidates, func(c candidate) bool { return c.density == 1 }) {
		candidates = append(candidates, candidate{src, 1})
	}
	if len(candidates) == 0 {
		return src
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		switch {
		case a.density < b.density:
			return -1
		case a.density > b.density:
			return 1
		}
		return 0
	})
	candidates = slices.CompactFunc(candidates, func(a, b candidate) bool { return a.density == b.density })
	for i := range len(candidates) - 1 {
		here, next := candidates[i].density, candidates[i+1].density
		if next < v.ratio {
			continue
		}
		if v.ratio <= 1 && v.ratio > here || v.ratio >= math.Sqrt(here*next) {
			return candidates[i+1].url
		}
		return candidates[i].url
	}
	return candidates[len(candidates)-1].url
}

// sourceSize evaluates a sizes attribute in px
// (https://html.spec.whatwg.org/#parse-a-sizes-attribute). The default is the
// viewport's width.
func (v viewport) sourceSize(sizes string) float64 {
	for _, part := range splitTokens(cssTokens(sizes), css.CommaToken) {
		if len(part) == 0 {
			continue
		}
		// The length is the last component: a token, or a function.
		from := len(part) - 1
		if nesting(part[from]) < 0 {
			for depth := 0; from >= 0; from-- {
				depth -= nesting(part[from])
				if depth == 0 {
					break
				}
			}
			from = max(from, 0)
		}
		size, ok := v.sizeValue(part[from:])
		if !ok {
			continue
		}
		if rest := trimSpace(part[:from]); len(rest) == 0 || condition(rest, v.feature, 0) == yes {
			return size
		}
	}
	return v.width
}

func (v viewport) sizeValue(tokens []cssToken) (float64, bool) {
	if value, unit, ok := tokens[0].number(); ok {
		size, ok := v.length(value, unit)
		return size, ok && size >= 0
	}
	if tokens[0].kind != css.FunctionToken {
		return 0, false
	}
	size, ok := v.calculate(tokens, 0)
	return size, ok && size >= 0
}
