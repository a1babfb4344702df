package page

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// rules are the rules of a stylesheet that can make a page request something.
type rules struct {
	imports []importRule
	styles  []styleRule
	faces   []fontFace
	layers  []string // in order of first mention
}

type importRule struct {
	url   string
	media []cssToken
	layer string
}

// styleRule is a rule whose conditions hold.
type styleRule struct {
	selectors    []selector
	declarations []declaration
	work         int // of applying the declarations, in elements examined
	layer        string
}

type declaration struct {
	property  property
	custom    string // the name of a custom property
	value     []cssToken
	important bool
}

type fontFace struct {
	family  string
	sources []fontSource
	ranges  []runeRange // none: all
	weight  [2]float64
	italic  bool
	base    string // base of its URLs
	origin  Initiator
}

type fontSource struct{ url, format string }

type runeRange struct{ from, to rune }

// property is a property that causes requests, or decides whether others do, or
// where they are.
type property uint8

const (
	custom property = iota
	display
	content
	background
	listStyle
	borderImage
	mask
	cursor
	filter
	clipPath
	fontFamily
	fontWeight
	fontStyle
	font
	position
	boxWidth
	boxHeight
	minHeight
	maxWidth
	margin
	marginTop
	marginBottom
	padding
	gap
	gridColumns
	flexWrap
	flexDirection
	letterSize
	lineHeight
	properties // their number
)

var propertyOf = map[string]property{
	"display": display, "content": content, "background": background, "background-image": background,
	"list-style": listStyle, "list-style-image": listStyle, "border-image": borderImage,
	"border-image-source": borderImage, "-webkit-border-image": borderImage,
	"mask": mask, "mask-image": mask, "-webkit-mask": mask, "-webkit-mask-image": mask, "cursor": cursor,
	"filter": filter, "backdrop-filter": filter, "clip-path": clipPath, "-webkit-clip-path": clipPath,
	"font-family": fontFamily, "font-weight": fontWeight, "font-style": fontStyle, "font": font,
	"position": position, "width": boxWidth, "height": boxHeight, "min-height": minHeight, "max-width": maxWidth,
	"margin": margin, "margin-top": marginTop, "margin-block-start": marginTop, "margin-bottom": marginBottom, "margin-block-end": marginBottom,
	"padding": padding, "gap": gap, "grid-gap": gap, "grid-template-columns": gridColumns,
	"flex-wrap": flexWrap, "flex-flow": flexWrap, "flex-direction": flexDirection, "font-size": letterSize, "line-height": lineHeight,
}

// blockKind says what a block in braces contains.
type blockKind uint8

const (
	topBlock   blockKind = iota // rules
	styleBlock                  // declarations and nested rules
	faceBlock                   // descriptors of a font
	deadBlock                   // nothing of interest
)

type block struct {
	kind     blockKind
	selector string // of a style block, including the enclosing ones
	layer    string
	rule     int // index of its rule in styles; -1: none yet
}

// maxBlocks limits how deeply rules are nested.
const maxBlocks = 64

// sheetParser parses a stylesheet (CSS Syntax section 5, CSS Nesting). It keeps
// its own stack, so that nesting does not use the program's.
type sheetParser struct {
	view     viewport
	rules    rules
	stack    []block
	beyond   int // open blocks that are nested too deeply
	face     fontFace
	imports  bool // @import is still allowed
	anonymus int  // layers without a name
	nested   int  // octets of selectors that may still be combined with those of enclosing rules
}

// nestedPerOctet is how many octets of combined selectors each octet of a sheet may make, besides a fixed number. Beyond
// it nested rules match nothing.
const (
	nestedPerOctet = 16
	nestedFixed    = 1 << 20
)

// sheetPart selects the wanted part of a stylesheet.
type sheetPart uint8

const (
	wholeSheet  sheetPart = iota
	onlyImports           // only its beginning
	attribute             // a style attribute: its declarations become a rule without selectors
)

// parseSheet parses a stylesheet.
func parseSheet(text []byte, view viewport, layer string, part sheetPart) rules {
	p := sheetParser{view: view, imports: true, nested: nestedFixed + nestedPerOctet*len(text)}
	p.stack = []block{{kind: topBlock, layer: layer, rule: -1}}
	if part == attribute {
		p.stack[0].kind = styleBlock
	}
	lexer := newCSSLexer(text)
	var prelude []cssToken
	depth := 0
	for {
		t, ok := lexer.next()
		if !ok || part == onlyImports && !p.imports {
			break
		}
		switch {
		case t.kind == css.CDOToken || t.kind == css.CDCToken:
		case depth == 0 && t.kind == css.SemicolonToken:
			p.statement(trimSpace(prelude))
			prelude = prelude[:0:0]
		case depth == 0 && t.kind == css.LeftBraceToken && !isCustom(prelude):
			p.open(trimSpace(prelude))
			prelude = prelude[:0:0]
		case depth == 0 && t.kind == css.RightBraceToken:
			p.statement(trimSpace(prelude))
			prelude = prelude[:0:0]
			p.close()
		case p.dead() && nesting(t) == 0: // not worth keeping
		default:
			depth = max(0, depth+nesting(t))
			prelude = append(prelude, t)
		}
	}
	p.statement(trimSpace(prelude))
	for len(p.stack) > 1 {
		p.close()
	}
	return p.rules
}

// isCustom reports whether a prelude is the beginning of a custom property,
// whose value may contain braces.
func isCustom(prelude []cssToken) bool {
	prelude = trimSpace(prelude)
	return len(prelude) > 1 && prelude[0].kind == css.IdentToken && strings.HasPrefix(prelude[0].text, "--")
}

func (p *sheetParser) top() *block { return &p.stack[len(p.stack)-1] }

func (p *sheetParser) dead() bool { return p.beyond > 0 || p.top().kind == deadBlock }

// statement handles what ends with a semicolon: a declaration, or an at-rule
// without a block.
func (p *sheetParser) statement(tokens []cssToken) {
	if len(tokens) == 0 || p.dead() {
		return
	}
	if tokens[0].kind == css.AtKeywordToken {
		p.atStatement(strings.ToLower(tokens[0].text), trimSpace(tokens[1:]))
		return
	}
	switch p.top().kind {
	case styleBlock:
		if d, ok := parseDeclaration(tokens); ok {
			p.declare(d)
		}
	case faceBlock:
		p.descriptor(tokens)
	}
}

func (p *sheetParser) atStatement(name string, prelude []cssToken) {
	switch name {
	case "@import":
		if p.imports && len(p.stack) == 1 && p.top().kind == topBlock {
			p.importSheet(prelude)
		}
	case "@layer":
		for _, part := range splitTokens(prelude, css.CommaToken) {
			p.layer(text(part))
		}
	case "@charset":
	default:
		p.imports = false
	}
}

// importSheet parses "url layer(x) supports(y) media" (CSS Cascade 5, section
// 2).
func (p *sheetParser) importSheet(prelude []cssToken) {
	if len(prelude) == 0 {
		return
	}
	r := importRule{layer: p.top().layer}
	switch first := prelude[0]; {
	case first.kind == css.StringToken || first.kind == css.URLToken:
		r.url = first.value()
		prelude = trimSpace(prelude[1:])
	case first.kind == css.FunctionToken && first.function() == "url":
		inside, rest := inner(prelude)
		if len(inside) == 0 {
			return
		}
		r.url = inside[0].value()
		prelude = trimSpace(rest)
	default:
		return
	}
	if len(prelude) > 0 && prelude[0].is(css.IdentToken, "layer") {
		r.layer = p.layer(p.unnamed())
		prelude = trimSpace(prelude[1:])
	} else if len(prelude) > 0 && prelude[0].is(css.FunctionToken, "layer(") {
		inside, rest := inner(prelude)
		r.layer = p.layer(text(inside))
		prelude = trimSpace(rest)
	}
	if len(prelude) > 0 && prelude[0].is(css.FunctionToken, "supports(") {
		inside, rest := inner(prelude)
		bare := len(inside) > 0 && inside[0].kind == css.IdentToken && !inside[0].is(css.IdentToken, "not")
		if bare && !supportsDeclaration(inside) || !bare && !supports(inside) {
			return
		}
		prelude = trimSpace(rest)
	}
	r.media = prelude
	p.rules.imports = append(p.rules.imports, r)
}

// unnamed returns what stands for the name of a layer without one.
func (p *sheetParser) unnamed() string {
	p.anonymus++
	return "\x00" + strconv.Itoa(p.anonymus)
}

// maxLayer limits the name of a layer, with those around it, in octets. Longer names are cut off.
const maxLayer = 256

// layer records a layer inside the enclosing one.
func (p *sheetParser) layer(name string) string {
	if around := p.top().layer; around != "" {
		name = around + "." + name
	}
	name = name[:min(len(name), maxLayer)]
	p.rules.layers = append(p.rules.layers, name)
	return name
}

// open handles what precedes an opening brace.
func (p *sheetParser) open(prelude []cssToken) {
	p.imports = false
	if p.dead() || len(p.stack) > maxBlocks {
		p.beyond++
		return
	}
	around := *p.top()
	b := block{kind: deadBlock, selector: around.selector, layer: around.layer, rule: -1}
	switch {
	case around.kind == faceBlock:
	case len(prelude) > 0 && prelude[0].kind == css.AtKeywordToken:
		p.atBlock(strings.ToLower(prelude[0].text), trimSpace(prelude[1:]), around, &b)
	case around.kind == topBlock, around.kind == styleBlock:
		b.kind = styleBlock
		b.selector = nest(around.selector, prelude)
		if around.selector != "" {
			if p.nested -= len(b.selector); p.nested < 0 {
				b.selector = nothing
			}
		}
	}
	p.stack = append(p.stack, b)
}

func (p *sheetParser) atBlock(name string, prelude []cssToken, around block, b *block) {
	holds := false
	switch name {
	case "@media":
		holds = p.view.media(prelude)
	case "@supports":
		holds = supports(prelude)
	case "@container", "@scope": // depend on layout, which this model lacks: assumed true
		holds = true
	case "@layer":
		layer := text(prelude)
		if layer == "" {
			layer = p.unnamed()
		}
		b.layer = p.layer(layer)
		holds = true
	case "@font-face":
		b.kind = faceBlock
		p.face = fontFace{weight: [2]float64{400, 400}}
		return
	}
	if holds {
		b.kind = around.kind
	}
}

func (p *sheetParser) close() {
	if p.beyond > 0 {
		p.beyond--
		return
	}
	if p.top().kind == faceBlock && p.face.family != "" && len(p.face.sources) > 0 {
		p.rules.faces = append(p.rules.faces, p.face)
	}
	if len(p.stack) > 1 {
		p.stack = p.stack[:len(p.stack)-1]
	}
}

func (p *sheetParser) declare(d declaration) {
	b := p.top()
	if b.rule < 0 {
		b.rule = len(p.rules.styles)
		p.rules.styles = append(p.rules.styles, styleRule{selectors: parseSelectors(b.selector), layer: b.layer})
	}
	r := &p.rules.styles[b.rule]
	r.declarations = append(r.declarations, d)
	r.work += d.work()
}

// A declaration takes as long to apply as an element takes to match; a longer one than usual takes longer.
const (
	usualTokens      = 32
	octetsPerElement = 256
)

func (d *declaration) work() int {
	octets := 0
	for _, t := range d.value {
		octets += len(t.text)
	}
	return 1 + max(0, len(d.value)-usualTokens) + octets/octetsPerElement
}

// declarationOf splits "name: value".
func declarationOf(tokens []cssToken) (name string, value []cssToken, ok bool) {
	if len(tokens) < 2 || tokens[0].kind != css.IdentToken {
		return "", nil, false
	}
	rest := trimSpace(tokens[1:])
	if len(rest) == 0 || rest[0].kind != css.ColonToken {
		return "", nil, false
	}
	name = tokens[0].text
	if !strings.HasPrefix(name, "--") {
		name = strings.ToLower(unescapeCSS(name))
	}
	return name, trimSpace(rest[1:]), true
}

// parseDeclaration parses a declaration of interest.
func parseDeclaration(tokens []cssToken) (d declaration, ok bool) {
	name, value, ok := declarationOf(tokens)
	if !ok {
		return d, false
	}
	if n := len(value); n >= 2 && value[n-1].is(css.IdentToken, "important") {
		if rest := trimSpace(value[:n-1]); len(rest) > 0 && rest[len(rest)-1].is(css.DelimToken, "!") {
			d.important = true
			value = trimSpace(rest[:len(rest)-1])
		}
	}
	d.value = value
	if strings.HasPrefix(name, "--") {
		d.custom = name
		return d, true
	}
	d.property, ok = propertyOf[name]
	return d, ok && len(value) > 0
}

// text writes tokens unchanged.
func text(tokens []cssToken) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}
