package page

import (
	"math"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// viewport is the window to which lengths and media queries refer.
type viewport struct{ width, height, ratio float64 }

// fontSize is the initial font size in px, the only one that media queries and
// sizes attributes use (Media Queries 4, section 1.3).
const fontSize = 16

// length converts a length to px.
func (v viewport) length(value float64, unit string) (float64, bool) {
	switch unit {
	case "px":
		return value, true
	case "em", "rem":
		return value * fontSize, true
	case "ex", "ch", "rex", "rch":
		return value * fontSize / 2, true
	case "vw", "svw", "lvw", "dvw", "vi":
		return value * v.width / 100, true
	case "vh", "svh", "lvh", "dvh", "vb":
		return value * v.height / 100, true
	case "vmin":
		return value * min(v.width, v.height) / 100, true
	case "vmax":
		return value * max(v.width, v.height) / 100, true
	case "in":
		return value * 96, true
	case "cm":
		return value * 96 / 2.54, true
	case "mm":
		return value * 96 / 25.4, true
	case "q":
		return value * 96 / 101.6, true
	case "pt":
		return value * 96 / 72, true
	case "pc":
		return value * 16, true
	case "":
		return 0, value == 0
	}
	return 0, false
}

// maxNesting limits the depth of brackets in values and conditions.
const maxNesting = 32

// calculate evaluates a length: a dimension, or calc(), min(), max() or clamp()
// (CSS Values 4, section 10). Plain numbers evaluate to themselves, for use in
// products.
func (v viewport) calculate(tokens []cssToken, depth int) (float64, bool) {
	tokens = trimSpace(tokens)
	if depth > maxNesting || len(tokens) == 0 {
		return 0, false
	}
	sum, sign := 0.0, 1.0
	for len(tokens) > 0 {
		product, rest, ok := v.product(tokens, depth)
		if !ok {
			return 0, false
		}
		sum += sign * product
		tokens = trimSpace(rest)
		if len(tokens) == 0 {
			return sum, true
		}
		switch {
		case tokens[0].is(css.DelimToken, "+"):
			sign = 1
		case tokens[0].is(css.DelimToken, "-"):
			sign = -1
		default:
			return 0, false
		}
		tokens = tokens[1:]
	}
	return 0, false
}

func (v viewport) product(tokens []cssToken, depth int) (result float64, rest []cssToken, ok bool) {
	divide := false
	result = 1
	for {
		tokens = trimSpace(tokens)
		if len(tokens) == 0 {
			return 0, nil, false
		}
		factor, ok := 0.0, false
		if t := tokens[0]; nesting(t) > 0 {
			var inside []cssToken
			inside, tokens = inner(tokens)
			factor, ok = v.function(t, inside, depth+1)
		} else {
			value, unit, isNumber := t.number()
			factor, ok = value, isNumber
			if isNumber && unit != "" {
				factor, ok = v.length(value, unit)
			}
			tokens = tokens[1:]
		}
		if !ok || divide && factor == 0 {
			return 0, nil, false
		}
		if divide {
			factor = 1 / factor
		}
		result *= factor
		after := trimSpace(tokens)
		if len(after) == 0 || !after[0].is(css.DelimToken, "*") && !after[0].is(css.DelimToken, "/") {
			return result, tokens, true
		}
		divide = after[0].text == "/"
		tokens = after[1:]
	}
}

func (v viewport) function(t cssToken, inside []cssToken, depth int) (float64, bool) {
	name := t.function()
	if t.kind == css.LeftParenthesisToken || strings.HasSuffix(name, "calc") {
		return v.calculate(inside, depth)
	}
	var values []float64
	for _, part := range splitTokens(inside, css.CommaToken) {
		value, ok := v.calculate(part, depth)
		if !ok {
			return 0, false
		}
		values = append(values, value)
	}
	result := values[0]
	switch name {
	case "min":
		for _, value := range values {
			result = min(result, value)
		}
	case "max":
		for _, value := range values {
			result = max(result, value)
		}
	case "clamp":
		if len(values) != 3 {
			return 0, false
		}
		result = max(values[0], min(values[1], values[2]))
	default:
		return 0, false
	}
	return result, !math.IsNaN(result)
}
