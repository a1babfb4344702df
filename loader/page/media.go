package page

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// truth is a condition's value (Media Queries 4, section 3.1): a feature that a
// browser does not know is neither true nor false.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// mediaMatches evaluates a media attribute.
func (v viewport) mediaMatches(list string) bool { return v.media(cssTokens(list)) }

// media evaluates a list of media queries for a screen.
func (v viewport) media(tokens []cssToken) bool {
	if len(trimSpace(tokens)) == 0 {
		return true
	}
	return slices.ContainsFunc(splitTokens(tokens, css.CommaToken), v.mediaQuery)
}

func (v viewport) mediaQuery(tokens []cssToken) bool {
	tokens = trimSpace(tokens)
	if len(tokens) == 0 {
		return false
	}
	negated := false
	if tokens[0].kind == css.IdentToken {
		words := tokens
		switch strings.ToLower(tokens[0].text) {
		case "not":
			negated = true
			words = trimSpace(tokens[1:])
		case "only":
			words = trimSpace(tokens[1:])
		}
		if len(words) > 0 && words[0].kind == css.IdentToken {
			kind := strings.ToLower(words[0].text)
			result := truthOf(kind == "all" || kind == "screen")
			rest := trimSpace(words[1:])
			if len(rest) > 0 {
				if !rest[0].is(css.IdentToken, "and") {
					return false
				}
				if c := condition(rest[1:], v.feature, 0); result == yes {
					result = c
				}
			}
			if negated {
				result = result.not()
			}
			return result == yes
		}
	}
	return condition(tokens, v.feature, 0) == yes
}

// condition evaluates "not", "and" and "or" over bracketed expressions, as in
// media queries and @supports. leaf evaluates the content of brackets or of a
// function.
func condition(tokens []cssToken, leaf func(function string, inside []cssToken) truth, depth int) truth {
	tokens = trimSpace(tokens)
	if depth > maxNesting || len(tokens) == 0 {
		return unknown
	}
	result, operator := unknown, ""
	for {
		negated := false
		if tokens[0].is(css.IdentToken, "not") {
			negated = true
			tokens = trimSpace(tokens[1:])
		}
		if len(tokens) == 0 || nesting(tokens[0]) != 1 {
			return unknown
		}
		open := tokens[0]
		inside, rest := inner(tokens)
		value := unknown
		switch {
		case open.kind == css.FunctionToken:
			value = leaf(open.function(), inside)
		case len(inside) > 0 && (nesting(inside[0]) == 1 || inside[0].is(css.IdentToken, "not")):
			value = condition(inside, leaf, depth+1)
		default:
			value = leaf("", inside)
		}
		if negated {
			value = value.not()
		}
		result = combine(result, operator, value)
		tokens = trimSpace(rest)
		if len(tokens) == 0 {
			return result
		}
		operator = strings.ToLower(tokens[0].text)
		tokens = trimSpace(tokens[1:])
		if len(tokens) == 0 || operator != "and" && operator != "or" {
			return unknown
		}
	}
}

// combine combines two values by three-valued logic.
func combine(a truth, operator string, b truth) truth {
	switch operator {
	case "and":
		if a == no || b == no {
			return no
		}
		if a == yes && b == yes {
			return yes
		}
		return unknown
	case "or":
		if a == yes || b == yes {
			return yes
		}
		if a == no && b == no {
			return no
		}
		return unknown
	}
	return b
}

// feature evaluates one media feature, such as "min-width: 600px",
// "400px <= width < 900px" or "color".
func (v viewport) feature(function string, tokens []cssToken) truth {
	if function != "" {
		return unknown
	}
	parts := splitTokens(tokens, css.ColonToken)
	if len(parts) == 2 && len(parts[0]) == 1 {
		name := strings.ToLower(parts[0][0].text)
		compare := "="
		name = strings.TrimPrefix(name, "-webkit-")
		if base, ok := strings.CutPrefix(name, "min-"); ok {
			name, compare = base, ">="
		} else if base, ok := strings.CutPrefix(name, "max-"); ok {
			name, compare = base, "<="
		}
		return v.compare(name, compare, parts[1])
	}
	if len(parts) != 1 {
		return unknown
	}
	if len(tokens) == 1 {
		return v.plainFeature(strings.ToLower(tokens[0].text))
	}
	return v.rangeFeature(tokens)
}

// plainFeature evaluates a feature without a value: it is true unless zero or
// none.
func (v viewport) plainFeature(name string) truth {
	switch name {
	case "width", "height", "device-width", "device-height", "aspect-ratio", "color", "orientation", "resolution",
		"hover", "pointer", "any-hover", "any-pointer", "scripting", "prefers-color-scheme", "update":
		return yes
	case "monochrome", "grid", "color-index", "prefers-reduced-motion", "prefers-reduced-data",
		"prefers-contrast", "prefers-reduced-transparency", "forced-colors", "inverted-colors":
		return no
	}
	return unknown
}

// rangeFeature evaluates a feature with comparison operators.
func (v viewport) rangeFeature(tokens []cssToken) truth {
	var operands [][]cssToken
	var operators []string
	from := 0
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.kind != css.DelimToken || !strings.Contains("<>=", t.text) {
			continue
		}
		operands = append(operands, trimSpace(tokens[from:i]))
		operator := t.text
		if i+1 < len(tokens) && tokens[i+1].is(css.DelimToken, "=") && operator != "=" {
			operator += "="
			i++
		}
		operators = append(operators, operator)
		from = i + 1
	}
	operands = append(operands, trimSpace(tokens[from:]))
	isName := func(o []cssToken) bool { return len(o) == 1 && o[0].kind == css.IdentToken }
	flip := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
	switch {
	case len(operators) == 1 && isName(operands[0]):
		return v.compare(strings.ToLower(operands[0][0].text), operators[0], operands[1])
	case len(operators) == 1 && isName(operands[1]):
		return v.compare(strings.ToLower(operands[1][0].text), flip[operators[0]], operands[0])
	case len(operators) == 2 && isName(operands[1]):
		name := strings.ToLower(operands[1][0].text)
		return combine(v.compare(name, flip[operators[0]], operands[0]), "and", v.compare(name, operators[1], operands[2]))
	}
	return unknown
}

// keywords are the values of a headless desktop Chromium.
var keywords = map[string]string{
	"prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "prefers-contrast": "no-preference",
	"prefers-reduced-transparency": "no-preference", "prefers-reduced-data": "no-preference",
	"hover": "hover", "any-hover": "hover", "pointer": "fine", "any-pointer": "fine", "scripting": "enabled",
	"update": "fast", "forced-colors": "none", "inverted-colors": "none", "display-mode": "browser",
	"overflow-block": "scroll", "overflow-inline": "scroll", "color-gamut": "srgb", "dynamic-range": "standard", "scan": "progressive",
}

func (v viewport) compare(name, operator string, value []cssToken) truth {
	if keyword, ok := keywords[name]; ok {
		return truthOf(operator == "=" && len(value) == 1 && strings.EqualFold(value[0].text, keyword))
	}
	var have, want float64
	var ok bool
	switch name {
	case "width", "device-width":
		have = v.width
		want, ok = v.calculate(value, 0)
	case "height", "device-height":
		have = v.height
		want, ok = v.calculate(value, 0)
	case "orientation":
		orientation := "landscape"
		if v.height >= v.width {
			orientation = "portrait"
		}
		return truthOf(operator == "=" && len(value) == 1 && strings.EqualFold(value[0].text, orientation))
	case "aspect-ratio", "device-aspect-ratio":
		have = v.width / v.height
		want, ok = v.calculate(value, 0)
	case "resolution", "device-pixel-ratio":
		have = v.ratio
		want, ok = density(value)
	case "color":
		have = 8
		want, ok = v.calculate(value, 0)
	case "monochrome", "grid", "color-index":
		want, ok = v.calculate(value, 0)
	default:
		return unknown
	}
	if !ok {
		return unknown
	}
	switch operator {
	case "<":
		return truthOf(have < want)
	case "<=":
		return truthOf(have <= want)
	case ">":
		return truthOf(have > want)
	case ">=":
		return truthOf(have >= want)
	}
	return truthOf(have == want)
}

// density converts a resolution to device pixels per px.
func density(value []cssToken) (float64, bool) {
	if len(value) != 1 {
		return 0, false
	}
	n, unit, ok := value[0].number()
	switch unit {
	case "", "x", "dppx":
		return n, ok
	case "dpi":
		return n / 96, ok
	case "dpcm":
		return n * 2.54 / 96, ok
	}
	return 0, false
}

// supports evaluates an @supports condition. There is no list of everything
// that Chromium supports: declarations count as supported unless their property
// has another browser's prefix or their value is made up.
func supports(tokens []cssToken) bool {
	return condition(tokens, func(function string, inside []cssToken) truth {
		switch function {
		case "selector", "font-tech", "at-rule":
			return yes
		case "font-format":
			return truthOf(len(inside) == 1 && fontFormats[strings.ToLower(inside[0].value())])
		case "":
			return truthOf(supportsDeclaration(inside))
		}
		return unknown
	}, 0) == yes
}

func supportsDeclaration(tokens []cssToken) bool {
	name, value, ok := declarationOf(tokens)
	if !ok || len(value) == 0 {
		return false
	}
	for _, prefix := range []string{"-moz-", "-ms-", "-o-", "-apple-", "-khtml-"} {
		if strings.HasPrefix(name, prefix) || strings.HasPrefix(strings.ToLower(value[0].text), prefix) {
			return false
		}
	}
	return name != "-webkit-touch-callout" && name != "-webkit-overflow-scrolling"
}
