package page

import (
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// selector is one complex selector of a rule.
type selector struct {
	chain       chain
	specificity cascadia.Specificity
	pseudo      string // "before" or "after"
	key         string // required of an element: "#id", ".class" or "tag"; "": nothing
	wide        bool   // matching examines siblings
	deep        bool   // matching examines descendants
}

// nothing is a selector that matches nothing.
const nothing = ":not(*)"

// Limits on a selector's length in octets, and on the number of selectors in a
// rule.
const (
	maxSelector  = 4096
	maxSelectors = 4096
)

// nest combines a selector with that of the enclosing rule (CSS Nesting,
// section 3). "" stands for the top level. A selector that grows too long
// becomes one that matches nothing.
func nest(around string, prelude []cssToken) string {
	if around == "" {
		return text(prelude)
	}
	if len(around) > maxSelector {
		return nothing
	}
	parent := ":is(" + around + ")"
	var out []string
	size := 0
	for _, part := range splitTokens(prelude, css.CommaToken) {
		s := text(part)
		if strings.Contains(s, "&") {
			if len(s)+strings.Count(s, "&")*len(parent) > 4*maxSelector {
				return nothing
			}
			s = strings.ReplaceAll(s, "&", parent)
		} else {
			s = parent + " " + s
		}
		if size += len(s); size > 4*maxSelector {
			return nothing
		}
		out = append(out, s)
	}
	return strings.Join(out, ",")
}

// parseSelectors parses a list of selectors. Unsupported selectors match
// nothing. (In CSS an unsupported selector invalidates the rule, but Chromium
// supports most of those that are not supported here.)
func parseSelectors(list string) []selector {
	var out []selector
	for _, part := range selectorsIn(list) {
		if len(out) == maxSelectors {
			break
		}
		if s, ok := parseSelector(part); ok {
			out = append(out, s)
		}
	}
	return out
}

func selectorsIn(list string) [][]cssToken { return splitTokens(cssTokens(list), css.CommaToken) }

// parsePlain has cascadia parse a selector as a whole.
func parsePlain(tokens []cssToken) (cascadia.Sel, error) { return cascadia.Parse(closeDoubled(tokens)) }

// rewrites replaces pseudo-classes by equivalent ones that cascadia supports.
var rewrites = strings.NewReplacer(
	":any-link", ":link", ":-webkit-any-link", ":link", ":focus-visible", ":focus", ":focus-within", ":focus",
)

func parseSelector(tokens []cssToken) (s selector, ok bool) {
	tokens, s.pseudo = cutPseudoElement(tokens)
	whole := text(tokens)
	if len(whole) > maxSelector || s.pseudo == "?" {
		return s, false
	}
	wholeTokens := tokens
	if whole == "" {
		whole, wholeTokens = "*", []cssToken{{css.DelimToken, "*"}}
	}
	// Extensions of cascadia that no browser has.
	for _, foreign := range []string{":contains", ":matches", ":haschild", ":input", "!=", "#="} {
		if strings.Contains(strings.ToLower(whole), foreign) {
			return s, false
		}
	}
	match, err := parsePlain(tokens)
	if err != nil {
		return s, false
	}
	if s.chain, err = newChain(wholeTokens, 0); err != nil {
		return s, false
	}
	s.specificity = match.Specificity()
	s.key = selectorKey(tokens)
	s.wide = strings.ContainsAny(whole, "~+") || strings.Contains(whole, "-child") || strings.Contains(whole, "-of-type")
	s.deep = strings.Contains(whole, ":has")
	return s, true
}

// cutPseudoElement removes ::before or ::after from the end, and returns it;
// "?" stands for any other pseudo-element.
func cutPseudoElement(tokens []cssToken) ([]cssToken, string) {
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].kind != css.ColonToken {
			continue
		}
		name := tokens[i+1]
		double := name.kind == css.ColonToken && i+2 < len(tokens)
		if double {
			name = tokens[i+2]
		}
		word := strings.ToLower(name.text)
		last := i+1 == len(tokens)-1 || double && i+2 == len(tokens)-1
		switch {
		case (word == "before" || word == "after") && last:
			return trimEnd(tokens[:i]), word
		case double:
			return tokens, "?"
		}
	}
	return tokens, ""
}

// trimEnd keeps a combinator valid after its pseudo-element was removed: "a >
// ::before" becomes "a > *::before".
func trimEnd(tokens []cssToken) []cssToken {
	if len(tokens) == 0 {
		return nil
	}
	switch t := tokens[len(tokens)-1]; {
	case t.kind == css.WhitespaceToken, t.kind == css.DelimToken && strings.Contains(">+~", t.text):
		return append(slices.Clip(tokens), cssToken{css.DelimToken, "*"})
	}
	return tokens
}

// closeDoubled rewrites a selector with :is() and :where() as the equivalent
// :not(:not()), including the second closing bracket.
func closeDoubled(tokens []cssToken) string {
	var b strings.Builder
	var doubled []bool
	for i, t := range tokens {
		if nesting(t) == 1 {
			isAny := false
			if i > 0 && tokens[i-1].kind == css.ColonToken && t.kind == css.FunctionToken {
				switch t.function() {
				case "is", "where", "-webkit-any":
					isAny = true
				}
			}
			doubled = append(doubled, isAny)
			if isAny {
				b.WriteString("not(:not(")
				continue
			}
		}
		b.WriteString(t.text)
		if nesting(t) == -1 && len(doubled) > 0 {
			if doubled[len(doubled)-1] {
				b.WriteByte(')')
			}
			doubled = doubled[:len(doubled)-1]
		}
	}
	if b.Len() == 0 {
		return "*"
	}
	return rewrites.Replace(b.String())
}

// selectorKey returns what the last compound of a selector requires of an
// element.
func selectorKey(tokens []cssToken) string {
	key, depth := "", 0
	for i, t := range tokens {
		if depth == 0 {
			switch {
			case t.kind == css.WhitespaceToken, t.kind == css.DelimToken && strings.Contains(">+~", t.text):
				key = ""
			case t.kind == css.HashToken:
				key = "#" + unescapeCSS(t.text[1:])
			case t.kind == css.IdentToken && i > 0 && tokens[i-1].is(css.DelimToken, "."):
				if !strings.HasPrefix(key, "#") {
					key = "." + unescapeCSS(t.text)
				}
			case t.kind == css.IdentToken && (i == 0 || tokens[i-1].kind != css.ColonToken):
				if key == "" {
					key = strings.ToLower(t.text)
				}
			}
		}
		depth += nesting(t)
	}
	return key
}

// keysOf visits the keys under which an element's rules are found.
func keysOf(n *html.Node, visit func(key string)) {
	visit("")
	visit(n.Data)
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			visit("#" + a.Val)
		case "class":
			for name := range strings.FieldsSeq(a.Val) {
				visit("." + name)
			}
		}
	}
}
