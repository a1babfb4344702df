package page

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// cssToken is a token of a stylesheet. Comments yield none.
type cssToken struct {
	kind css.TokenType
	text string
}

func (t cssToken) is(kind css.TokenType, text string) bool {
	return t.kind == kind && strings.EqualFold(t.text, text)
}

// cssLexer reads the tokens of a stylesheet. Space that only comments interrupt is one token,
// so that trimming never has to walk over many.
type cssLexer struct {
	lexer *css.Lexer
	space bool // the last token was space
}

func newCSSLexer(b []byte) *cssLexer {
	// Preprocessing, CSS Syntax section 3.3: the lexer stops at NULs.
	b = bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD"))
	return &cssLexer{lexer: css.NewLexer(parse.NewInputBytes(b))}
}

func (l *cssLexer) next() (cssToken, bool) {
	for {
		kind, text := l.lexer.Next()
		switch kind {
		case css.ErrorToken:
			return cssToken{}, false
		case css.CommentToken:
			continue
		case css.CustomPropertyNameToken:
			kind = css.IdentToken
		}
		space := kind == css.WhitespaceToken
		if space && l.space {
			continue
		}
		l.space = space
		return cssToken{kind, string(text)}, true
	}
}

// cssTokens returns all tokens of a value, without surrounding space.
func cssTokens(s string) []cssToken {
	l := newCSSLexer([]byte(s))
	var tokens []cssToken
	for t, ok := l.next(); ok; t, ok = l.next() {
		tokens = append(tokens, t)
	}
	return trimSpace(tokens)
}

func trimSpace(tokens []cssToken) []cssToken {
	for len(tokens) > 0 && tokens[0].kind == css.WhitespaceToken {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].kind == css.WhitespaceToken {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// splitTokens splits at separators outside of brackets.
func splitTokens(tokens []cssToken, separator css.TokenType) [][]cssToken {
	var parts [][]cssToken
	depth, from := 0, 0
	for i, t := range tokens {
		depth += nesting(t)
		if t.kind == separator && depth == 0 {
			parts = append(parts, trimSpace(tokens[from:i]))
			from = i + 1
		}
	}
	return append(parts, trimSpace(tokens[from:]))
}

// nesting returns 1 for an opening bracket, -1 for a closing one.
func nesting(t cssToken) int {
	switch t.kind {
	case css.FunctionToken, css.LeftParenthesisToken, css.LeftBracketToken, css.LeftBraceToken:
		return 1
	case css.RightParenthesisToken, css.RightBracketToken, css.RightBraceToken:
		return -1
	}
	return 0
}

// inner returns what stands between the bracket or function at the start of
// tokens and its end, and what comes after. If tokens start with neither, nothing is inside.
func inner(tokens []cssToken) (inside, rest []cssToken) {
	if len(tokens) == 0 || nesting(tokens[0]) != 1 {
		return nil, tokens[min(1, len(tokens)):]
	}
	depth := 0
	for i, t := range tokens {
		depth += nesting(t)
		if depth == 0 {
			return trimSpace(tokens[1:i]), tokens[i+1:]
		}
	}
	return trimSpace(tokens[1:]), nil
}

// function returns the lower-case name of a function token, without its
// bracket; "" for other tokens.
func (t cssToken) function() string {
	if t.kind != css.FunctionToken {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(t.text, "("))
}

// value returns what a string, a url() or an identifier stands for: without
// quotes, its escapes decoded (CSS Syntax section 4.3.7).
func (t cssToken) value() string {
	s := t.text
	switch t.kind {
	case css.URLToken:
		s = s[strings.IndexByte(s, '(')+1:]
		s = strings.TrimSpace(strings.TrimSuffix(s, ")"))
		if s != "" && (s[0] == '"' || s[0] == '\'') {
			s = unquote(s)
		}
	case css.StringToken:
		s = unquote(s)
	}
	return unescapeCSS(s)
}

func unquote(s string) string {
	quote := s[:1]
	return strings.TrimSuffix(s[1:], quote)
}

func unescapeCSS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		end := i + 1
		for end < len(s) && end < i+7 && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
			end++
		}
		if end == i+1 {
			if s[end] != '\n' { // an escaped line break is dropped
				b.WriteByte(s[end])
			}
			i = end
			continue
		}
		code, _ := strconv.ParseUint(s[i+1:end], 16, 32)
		if code == 0 || code > 0x10FFFF {
			code = 0xFFFD
		}
		b.WriteRune(rune(code))
		if end < len(s) && (s[end] == ' ' || s[end] == '\n' || s[end] == '\t') {
			end++
		}
		i = end - 1
	}
	return b.String()
}

// number returns a number with its unit, in lower case; "%" for percentages. It is finite.
func (t cssToken) number() (value float64, unit string, ok bool) {
	switch t.kind {
	case css.NumberToken, css.PercentageToken, css.DimensionToken:
	default:
		return 0, "", false
	}
	end := numberEnd(t.text)
	value, err := strconv.ParseFloat(t.text[:end], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, "", false
	}
	value = min(max(value, -math.MaxFloat64), math.MaxFloat64)
	return value, strings.ToLower(t.text[end:]), true
}

// numberEnd returns where the number ends that s begins with (CSS Syntax section 4.3.12).
func numberEnd(s string) int {
	digits := func(from int) int {
		for from < len(s) && s[from] >= '0' && s[from] <= '9' {
			from++
		}
		return from
	}
	sign := func(at int) int {
		if at < len(s) && (s[at] == '+' || s[at] == '-') {
			at++
		}
		return at
	}
	end := digits(sign(0))
	if end < len(s) && s[end] == '.' {
		end = digits(end + 1)
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		from := sign(end + 1)
		if to := digits(from); to > from {
			end = to
		}
	}
	return end
}
