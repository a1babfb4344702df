package page

import (
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// element is an element of a document's tree. The tree exists for selectors to
// match, and follows the standard's tree construction only as far as that
// requires: implied tags, void elements, and which tags close others. Misnested
// formatting elements stay where they are.
type element struct {
	node     *html.Node
	token    *token
	parent   *element
	children int

	letters  letters
	length   int // characters of text
	asked    bool
	style    *style
	top      float64                  // of its box, in px; an estimate
	image    *resource                // of an img, for its priority
	deferred []func(top float64) bool // callbacks at layout; false: call again
}

// letters are the characters of an element's text, without space.
type letters struct {
	ascii [2]uint64
	other map[rune]struct{}
}

// maxLetters limits how many non-ASCII characters of an element's text are
// remembered.
const maxLetters = 1 << 12

func (l *letters) add(text []byte) (length int, fresh bool) {
	for _, r := range string(text) {
		if r <= ' ' || r == 0xA0 {
			continue
		}
		length++
		if r < 128 {
			bit := uint64(1) << (r % 64)
			if l.ascii[r/64]&bit == 0 {
				l.ascii[r/64] |= bit
				fresh = true
			}
			continue
		}
		if _, has := l.other[r]; has || len(l.other) >= maxLetters {
			continue
		}
		if l.other == nil {
			l.other = map[rune]struct{}{}
		}
		l.other[r] = struct{}{}
		fresh = true
	}
	return length, fresh
}

// merge adds other letters and returns the new ones.
func (l *letters) merge(other *letters) []rune {
	var fresh []rune
	for i := range l.ascii {
		for left := other.ascii[i] &^ l.ascii[i]; left != 0; left &= left - 1 {
			fresh = append(fresh, rune(64*i+bits.TrailingZeros64(left)))
		}
		l.ascii[i] |= other.ascii[i]
	}
	for r := range other.other {
		if _, has := l.other[r]; has || len(l.other) >= maxLetters {
			continue
		}
		if l.other == nil {
			l.other = map[rune]struct{}{}
		}
		l.other[r] = struct{}{}
		fresh = append(fresh, r)
	}
	slices.Sort(fresh) // maps have no order
	return fresh
}

// maxDepth is kMaximumHTMLParserDOMTreeDepth of html_construction_site.cc: more
// deeply nested elements become siblings.
const maxDepth = 512

// tree builds the elements.
type tree struct {
	root     *html.Node
	elements []*element // in document order
	open     []*element
	counts   map[string]int // of open elements by name
	head     *element
	body     *element
	headOver bool
	foreign  int // open svg and math elements
}

func newTree() *tree {
	return &tree{root: &html.Node{Type: html.DocumentNode}, counts: map[string]int{}}
}

var void = set("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")

// rawText are the elements whose content the tokenizer treats as text, wherever
// they are.
var rawText = set("script style")

var headTags = set("base basefont bgsound link meta noframes noscript script style template title")

// closesParagraph are the start tags that close an open p.
var closesParagraph = set("address article aside blockquote center details dialog dir div dl fieldset figcaption figure " +
	"footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul dd dt xmp")

// implied holds the start tags that close other open elements, and where the
// search for these stops.
var implied = map[string]struct{ closes, until map[string]bool }{
	"li":       {set("li"), set("ul ol menu dir")},
	"dd":       {set("dd dt"), set("dl")},
	"dt":       {set("dd dt"), set("dl")},
	"option":   {set("option"), set("select datalist optgroup")},
	"optgroup": {set("option optgroup"), set("select")},
	"tr":       {set("tr td th caption colgroup"), set("table tbody thead tfoot template")},
	"td":       {set("td th"), set("tr table template")},
	"th":       {set("td th"), set("tr table template")},
	"tbody":    {set("tbody thead tfoot tr td th caption colgroup"), set("table template")},
	"thead":    {set("tbody thead tfoot tr td th caption colgroup"), set("table template")},
	"tfoot":    {set("tbody thead tfoot tr td th caption colgroup"), set("table template")},
	"rp":       {set("rp rt"), set("ruby")},
	"rt":       {set("rp rt"), set("ruby")},
}

// scope stops the search for an element that a tag closes
// (https://html.spec.whatwg.org/#has-an-element-in-scope).
var scope = set("applet caption html table td th marquee object template button body")

// maxSearch limits that search.
const maxSearch = 512

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// start handles a start tag and returns its element.
func (t *tree) start(tok *token) *element {
	name := tok.name
	switch name {
	case "html":
		t.ensureRoot(tok)
		return nil
	case "head":
		t.ensureHead(tok)
		return nil
	case "body":
		t.ensureBody(tok)
		return nil
	case "image":
		if !tok.svg {
			name = "img"
		}
	}
	if headTags[name] && t.body == nil {
		t.ensureHead(nil)
	} else {
		t.ensureBody(nil)
	}
	if t.foreign == 0 {
		if closesParagraph[name] {
			t.closeImplied(set1("p"), scope)
		}
		if rule, ok := implied[name]; ok {
			t.closeImplied(rule.closes, rule.until)
		}
	}
	e := t.insertFor(name, tok)
	if void[name] && t.foreign == 0 || tok.kind == html.SelfClosingTagToken && t.foreign > 0 && !rawText[name] {
		return e
	}
	t.push(e)
	return e
}

func set1(word string) map[string]bool { return map[string]bool{word: true} }

func (t *tree) ensureRoot(tok *token) {
	if len(t.elements) == 0 {
		t.push(t.insertFor("html", tok))
	}
}

func (t *tree) ensureHead(tok *token) {
	t.ensureRoot(nil)
	if t.head != nil {
		if t.headOver && t.body == nil && len(t.open) == 1 {
			// After </head> and before <body>, head elements go into the head.
			t.push(t.head)
		}
		return
	}
	t.head = t.insertFor("head", tok)
	t.push(t.head)
}

func (t *tree) ensureBody(tok *token) {
	if t.body != nil {
		return
	}
	t.ensureHead(nil)
	for len(t.open) > 1 {
		t.pop()
	}
	t.headOver = true
	t.body = t.insertFor("body", tok)
	t.push(t.body)
}

// end handles an end tag.
func (t *tree) end(name string) {
	switch name {
	case "head":
		t.headOver = true
		if t.body == nil && t.head != nil {
			for len(t.open) > 1 {
				t.pop()
			}
		}
		return
	case "html", "body":
		return
	case "br", "p":
		if t.counts[name] == 0 { // "</p>" alone is an empty paragraph
			t.ensureBody(nil)
			t.insertFor(name, nil)
			return
		}
	}
	if t.counts[name] == 0 {
		return
	}
	for i := len(t.open) - 1; i > max(0, len(t.open)-1-maxSearch); i-- {
		if t.open[i].node.Data == name {
			for len(t.open) > i {
				t.pop()
			}
			return
		}
		if scope[t.open[i].node.Data] && !scope[name] {
			return
		}
	}
}

// closeImplied closes the outermost open element among those named that is
// above all limits.
func (t *tree) closeImplied(closes, until map[string]bool) {
	open := false
	for name := range closes {
		open = open || t.counts[name] > 0
	}
	if !open {
		return
	}
	at := -1
	for i := len(t.open) - 1; i > max(0, len(t.open)-1-maxSearch); i-- {
		name := t.open[i].node.Data
		if closes[name] {
			at = i
		} else if until[name] {
			break
		}
	}
	for at > 0 && len(t.open) > at {
		t.pop()
	}
}

// insertFor inserts an element; tok is nil for an implied one.
func (t *tree) insertFor(name string, tok *token) *element {
	e := &element{node: &html.Node{Type: html.ElementNode, Data: name}, token: tok}
	if tok != nil {
		e.node.Attr = tok.attr
	}
	if len(t.open) == 0 {
		t.root.AppendChild(e.node)
	} else {
		e.parent = t.open[len(t.open)-1]
		if len(t.open) > maxDepth {
			e.parent = t.open[maxDepth-1]
		}
		e.parent.children++
		e.parent.node.AppendChild(e.node)
	}
	t.elements = append(t.elements, e)
	return e
}

func (t *tree) push(e *element) {
	t.open = append(t.open, e)
	t.counts[e.node.Data]++
	if e.node.Data == "svg" || e.node.Data == "math" {
		t.foreign++
	}
}

func (t *tree) pop() {
	e := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	t.counts[e.node.Data]--
	if e.node.Data == "svg" || e.node.Data == "math" {
		t.foreign--
	}
}

// text handles text. It returns false if that changes nothing relevant.
func (t *tree) text(text []byte) bool {
	blank := len(strings.TrimSpace(string(text))) == 0
	if t.body == nil {
		if len(t.open) > 2 || len(t.open) == 2 && t.open[1] != t.head { // in a title or the like
			return false
		}
		if blank {
			return false
		}
		t.ensureBody(nil)
	}
	e := t.open[len(t.open)-1]
	if e.node.LastChild == nil || e.node.LastChild.Type != html.TextNode {
		e.node.AppendChild(&html.Node{Type: html.TextNode})
	}
	if blank {
		return false
	}
	length, fresh := e.letters.add(text)
	e.length += length
	if fresh {
		e.asked = false
	}
	return true
}

// current returns the element that receives text.
func (t *tree) current() *element {
	if len(t.open) == 0 {
		return nil
	}
	return t.open[len(t.open)-1]
}
