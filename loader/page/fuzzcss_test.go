package page

import (
	"math"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"wiretime/costtest"
)

var fuzzView = viewport{1280, 800, 1}

// FuzzSheet parses a stylesheet in each of the ways in which pages have one.
func FuzzSheet(f *testing.F) {
	for _, sheet := range []string{
		"", "a{display:none}", "@import 'a' layer(b) supports(c:d) screen;", "@layer a,b;@layer a{@layer{b{gap:1px}}}", "@font-face{font-family:a;src:url(b)format('woff2');unicode-range:U+4??,U+1-2}",
		"a{&:is(b,c) &{gap:1px;d{gap:2px}}}", "--a:{};a{--b:{c};d:var(--b)}", "@media{{{(([[}a{b:c;&d{e:url(f", "a::before,b:not(:has(c+d)){content:'\\0'}", "<!--a{}-->", "/*", "a{}\x00",
	} {
		f.Add([]byte(sheet))
	}
	f.Fuzz(func(t *testing.T, sheet []byte) {
		costtest.Check(t, len(sheet), partCost, func() {
			for _, part := range []sheetPart{wholeSheet, onlyImports, attribute} {
				r := parseSheet(sheet, fuzzView, "", part)
				for i := range r.styles {
					if r.styles[i].work < len(r.styles[i].declarations) {
						t.Errorf("%q: a rule with %d declarations counts as work for %d", sheet, len(r.styles[i].declarations), r.styles[i].work)
					}
				}
			}
		})
	})
}

// FuzzSelector matches selectors as cascadia does, in a small tree.
func FuzzSelector(f *testing.F) {
	for _, list := range []string{
		"*", "a b", "a > b + c ~ d", ".x:not(a b, .y) > c", ":is(a, b) c", "a:has(b ~ c) d", "i i i b", "[x] > :nth-child(2n+1)", "#y", "a > > b", ":not()", ":where(:not(:is(a)))", "a+", "x i ~ i > i b", "a:first-child:not(:last-child)",
	} {
		f.Add(list)
	}
	tree := newFuzzTree()
	f.Fuzz(func(t *testing.T, list string) {
		if len(list) > 64 { // cascadia takes exponential time
			return
		}
		var m matcher
		costtest.Check(t, len(list), partCost, func() {
			for _, part := range parseSelectors(list) {
				m = matcher{}
				for _, n := range tree {
					m.matches(part.chain, n)
				}
			}
		})
		for _, tokens := range selectorsIn(list) {
			s, ok := parseSelector(tokens)
			if !ok {
				continue
			}
			if tokens, _ = cutPseudoElement(tokens); len(tokens) == 0 {
				continue
			}
			plain, err := parsePlain(tokens)
			if err != nil {
				t.Fatalf("%q: %v", list, err)
			}
			for i, n := range tree {
				if got, want := m.matches(s.chain, n), plain.Match(n); got != want {
					t.Errorf("%q at element %d, %s: got %t, want %t", text(tokens), i, n.Data, got, want)
				}
			}
		}
	})
}

// newFuzzTree returns the elements of a small document.
func newFuzzTree() (elements []*html.Node) {
	d := New(Config{URL: origin}).main
	d.tokens = newTokenizer("text/html")
	d.isHTML = true
	d.tokens.feed([]byte("<a class='x y'><b id=y>text<i><i x=1><i><b></b></i></i></i></b><c></c><b></b>text<d class=x></d><c><a><d></d></a></c></a>"))
	d.tokens.feed(nil)
	for t, ok := d.tokens.next(); ok && t != nil; t, ok = d.tokens.next() {
		switch t.kind {
		case html.TextToken:
			d.tree.text(t.text)
		case html.EndTagToken:
			d.tree.end(t.name)
		default:
			d.tree.start(t)
		}
	}
	for _, e := range d.tree.elements {
		elements = append(elements, e.node)
	}
	return elements
}

// FuzzBox reads a style attribute and lays a small grid out with it.
func FuzzBox(f *testing.F) {
	for _, style := range []string{
		"display:grid;grid-template-columns:repeat", "margin:1px 2px 3px 4px;padding:1em", "font:bold 1em/2 a,b", "gap:1px 2px;display:flex;flex-wrap:wrap", "width:calc(100vw - 2em);height:min(1px,2px)",
		"line-height:1e999;font-size:1e999em", "--a:var(--a);margin:var(--a,1px)", "display:grid;grid-template-columns:repeat(auto-fill,minmax(1px,1fr));gap:-1px", "background:image-set(url(a) 1x,'b' type('image/avif') 2x)",
	} {
		f.Add(style)
	}
	f.Fuzz(func(t *testing.T, style string) {
		quoted := strings.ReplaceAll(strings.ReplaceAll(style, "&", "&amp;"), `"`, "&quot;")
		body := `<div style="` + quoted + `">text<p>a<p>b<img src=x.png></div>`
		costtest.Check(t, len(body), pageCost, func() {
			s := server{answers: map[string]answer{"/": {body: body}}}
			_, p := s.load(t, Config{})
			for _, e := range p.main.tree.elements {
				if math.IsNaN(e.top) || math.IsInf(e.top, 0) {
					t.Errorf("%q: the top of %s is at %g", style, e.node.Data, e.top)
				}
			}
		})
	})
}

// FuzzTracks reads the columns of a grid and divides widths among them.
func FuzzTracks(f *testing.F) {
	for _, columns := range []string{
		"1fr 2fr", "repeat", "repeat(,1fr)", "repeat(auto-fill,minmax)", "repeat(2,1fr 2fr) 3px", "repeat(auto-fit,minmax(10px,1fr))", "[a] 1fr [b]", "none", "repeat(1000000000,1fr)", "repeat(auto-fill,1e-300px)", "subgrid",
	} {
		f.Add(columns, 1.0)
	}
	f.Fuzz(func(t *testing.T, columns string, gap float64) {
		costtest.Check(t, len(columns), partCost, func() {
			b := newBox("div", &box{font: fontSize, line: normalLine}, fuzzView)
			b.gaps[1] = max(0, clamp(gap))
			if math.IsNaN(gap) {
				b.gaps[1] = 0
			}
			b.columns = b.tracks(cssTokens(columns))
			for _, width := range []float64{1, 1280, maxLength} {
				count, each := b.grid(width)
				if count < 1 || count > maxColumns || math.IsNaN(each) || math.IsInf(each, 0) {
					t.Errorf("%q, gap %g, width %g: %d columns of %g", columns, b.gaps[1], width, count, each)
				}
			}
		})
	})
}

// FuzzMedia evaluates media queries, an @supports condition and a sizes attribute.
func FuzzMedia(f *testing.F) {
	for _, query := range []string{
		"", "screen and (min-width:1px)", "not all", "only screen and (color), print", "(1px<=width<2px) or (not (hover))", "((((", "not not", "(min-width:calc(1px*(2+3)))", "(display:grid) and (not (a:b))", "selector(a)", "and and", "100vw, (max-width:1px) 50vw", "(a) and", "(aspect-ratio:1/0)",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		costtest.Check(t, len(query), partCost, func() {
			fuzzView.mediaMatches(query)
			supports(cssTokens(query))
			if size := fuzzView.sourceSize(query); !(size >= 0) {
				t.Errorf("%q: the size is %g", query, size)
			}
			fuzzView.bestSource("a", query, 100)
		})
	})
}

// FuzzCalc evaluates a length.
func FuzzCalc(f *testing.F) {
	for _, length := range []string{
		"1px", "calc(1px + 2em * 3 / 4)", "min(1px,2vw,3vh)", "clamp(1px,2px,3px)", "calc(", "calc()", "min()", "calc(1px/0)", "calc((1px - 1e999px) * 1e999)", "((1px))", "calc(1px+)", "-webkit-calc(1px)", "calc(*)", "[1px]", "{1px}",
	} {
		f.Add(length)
	}
	f.Fuzz(func(t *testing.T, length string) {
		costtest.Check(t, len(length), partCost, func() {
			fuzzView.calculate(cssTokens(length), 0)
			b := newBox("p", &box{font: fontSize, line: normalLine}, fuzzView)
			b.length(cssTokens(length), &b.width, -1)
			b.lines(cssToken{kind: 0, text: length})
			if math.IsNaN(b.width) || math.Abs(b.width) > maxLength {
				t.Errorf("%q: the width is %g", length, b.width)
			}
		})
	})
}
