package page

import (
	"errors"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// chain is a complex selector: compounds from right to left. Package cascadia says which selectors are valid and matches
// compounds. It does not match chains, because it would try all ways to assign ancestors to compounds, of which there are
// exponentially many.
type chain []compound

// compound is a compound selector.
type compound struct {
	simple     cascadia.Sel // all but the lists
	counts     bool         // matching simple examines siblings
	lists      []list
	combinator byte // to the next compound of the chain: ' ', '>', '+' or '~'; 0: there is none
}

// list is :is(), :not() or :has() with its selectors.
type list struct {
	name   string
	chains []chain
}

// listOf maps functions that take a list of selectors to the name of the list.
var listOf = map[string]string{"is": "is", "where": "is", "-webkit-any": "is", "not": "not", "has": "has"}

var errSelector = errors.New("invalid selector")

// newChain returns the chain of a selector that cascadia has accepted. depth counts the lists around it.
func newChain(tokens []cssToken, depth int) (chain, error) {
	if depth > maxNesting {
		return nil, errSelector
	}
	var c chain // from left to right
	combinator := byte(0)
	for tokens = trimSpace(tokens); ; {
		size := 0
		for open := 0; size < len(tokens) && (open > 0 || combinatorOf(tokens[size]) == 0); size++ {
			open += nesting(tokens[size])
		}
		one, err := newCompound(tokens[:size], depth)
		if err != nil {
			return nil, err
		}
		one.combinator = combinator
		c = append(c, one)
		if tokens = tokens[size:]; len(tokens) == 0 {
			break
		}
		for combinator = ' '; len(tokens) > 0 && combinatorOf(tokens[0]) != 0; tokens = tokens[1:] {
			if other := combinatorOf(tokens[0]); other != ' ' {
				combinator = other
			}
		}
	}
	slices.Reverse(c)
	return c, nil
}

// combinatorOf returns the combinator that a token stands for, 0 for other tokens.
func combinatorOf(t cssToken) byte {
	switch {
	case t.kind == css.WhitespaceToken:
		return ' '
	case t.kind == css.DelimToken && strings.Contains(">+~", t.text):
		return t.text[0]
	}
	return 0
}

func newCompound(tokens []cssToken, depth int) (c compound, err error) {
	if len(tokens) == 0 {
		return c, errSelector
	}
	var simple strings.Builder
	for len(tokens) > 0 {
		if name := listOf[functionAt(tokens)]; name != "" {
			inside, rest := inner(tokens[1:])
			l := list{name: name}
			for _, part := range splitTokens(inside, css.CommaToken) {
				one, err := newChain(part, depth+1)
				if err != nil {
					return c, err
				}
				l.chains = append(l.chains, one)
			}
			c.lists, tokens = append(c.lists, l), rest
			continue
		}
		simple.WriteString(tokens[0].text)
		tokens = tokens[1:]
	}
	whole := rewrites.Replace(simple.String())
	if whole == "" {
		return c, nil
	}
	c.counts = strings.Contains(whole, "-child") || strings.Contains(whole, "-of-type")
	c.simple, err = cascadia.Parse(whole)
	return c, err
}

// functionAt returns the name of the functional pseudo-class at the start of tokens.
func functionAt(tokens []cssToken) string {
	if len(tokens) < 2 || tokens[0].kind != css.ColonToken {
		return ""
	}
	return tokens[1].function()
}

// maxExamined limits the work of matching the compounds of selectors other than the last one, in elements examined. Beyond
// it nothing matches.
const maxExamined = 100e6

// attributesPerElement is how many octets of attributes take as long to match as an element with few.
const attributesPerElement = 1 << 10

// matcher matches selectors within a limit of work.
type matcher struct {
	examined int                // elements so far
	heavy    map[*html.Node]int // elements with many octets of attributes: how many elements each counts for
}

// weigh notes an element with many octets of attributes.
func (m *matcher) weigh(n *html.Node) {
	octets := 0
	for i := range n.Attr {
		octets += len(n.Attr[i].Key) + len(n.Attr[i].Val) + 16
	}
	if octets < attributesPerElement {
		return
	}
	if m.heavy == nil {
		m.heavy = map[*html.Node]int{}
	}
	m.heavy[n] = octets / attributesPerElement
}

// outcome says how far the failure of a chain at an element reaches, which spares the matcher attempts that must fail too
// (SelectorChecker::MatchStatus of third_party/blink/renderer/core/css/selector_checker.h).
type outcome uint8

const (
	matched    outcome = iota
	fails              // at this element
	failsLevel         // at all earlier siblings, too
	failsAll           // at all ancestors and their siblings, too
)

func (m *matcher) matches(c chain, n *html.Node) bool {
	return m.match(c, n) == matched && m.examined <= maxExamined
}

// match matches a chain, which is not empty.
func (m *matcher) match(c chain, n *html.Node) outcome {
	if n == nil || n.Type != html.ElementNode {
		return failsAll
	}
	if m.examined > maxExamined {
		return failsAll
	}
	if !m.compound(&c[0], n) {
		return fails
	}
	rest := c[1:]
	switch c[0].combinator {
	case 0:
		return matched
	case ' ':
		for up := n.Parent; up != nil; up = up.Parent {
			if r := m.match(rest, up); r == matched || r == failsAll {
				return r
			}
		}
		return failsAll
	case '>':
		if r := m.match(rest, n.Parent); r == matched || r == failsAll {
			return r
		}
		return failsLevel
	case '+':
		if before := elementBefore(n); before != nil {
			return m.match(rest, before)
		}
		return failsLevel
	}
	for before := elementBefore(n); before != nil; before = elementBefore(before) {
		if r := m.match(rest, before); r != fails {
			return r
		}
	}
	return failsLevel
}

func elementBefore(n *html.Node) *html.Node {
	for n = n.PrevSibling; n != nil && n.Type != html.ElementNode; n = n.PrevSibling {
	}
	return n
}

// compound matches a compound selector at one element.
func (m *matcher) compound(c *compound, n *html.Node) bool {
	m.examined += 1 + m.heavy[n]
	if c.counts && n.Parent != nil {
		for other := n.Parent.FirstChild; other != nil && m.examined <= maxExamined; other = other.NextSibling {
			m.examined++
		}
	}
	if c.simple != nil && !c.simple.Match(n) {
		return false
	}
	for i := range c.lists {
		if !m.list(&c.lists[i], n) {
			return false
		}
	}
	return true
}

func (m *matcher) list(l *list, n *html.Node) bool {
	if l.name == "has" {
		return m.within(l.chains, n)
	}
	return m.any(l.chains, n) != (l.name == "not")
}

func (m *matcher) any(chains []chain, n *html.Node) bool {
	for _, c := range chains {
		if m.matches(c, n) {
			return true
		}
	}
	return false
}

// within reports whether one of the chains matches a descendant of n.
func (m *matcher) within(chains []chain, n *html.Node) bool {
	for child := n.FirstChild; child != nil && m.examined <= maxExamined; child = child.NextSibling {
		if child.Type == html.ElementNode && (m.any(chains, child) || m.within(chains, child)) {
			return true
		}
	}
	return false
}
