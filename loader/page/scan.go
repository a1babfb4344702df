package page

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// scanner holds the preload scanner's state between tags
// (third_party/blink/renderer/core/html/parser/html_preload_scanner.cc).
type scanner struct {
	behind    bool     // the parser is ahead of the scanner
	found     []func() // requests to make when the parser has stopped
	template  int
	foreign   int // open svg and math elements
	hasBase   bool
	inBody    bool // a body or an img has been seen
	inStyle   bool
	applies   bool // the style's media match
	inPicture bool
	picked    string // the image chosen by a source of the picture
}

// scan processes a token when it arrives, and requests what it refers to.
func (d *document) scan(t *token) {
	s := &d.scanner
	if t.name == "template" && t.kind != html.EndTagToken {
		s.template++
	}
	t.base, t.inert, t.svg = d.base, s.template > 0, s.foreign > 0
	switch {
	case t.name == "template" && t.kind == html.EndTagToken:
		s.template = max(0, s.template-1)
	case t.inert:
	case t.kind == html.TextToken:
		if s.inStyle && s.applies {
			d.scanStyle(t)
		}
	case t.kind == html.EndTagToken:
		d.scanEnd(t)
	default:
		d.scanStart(t)
	}
}

func (d *document) scanEnd(t *token) {
	s := &d.scanner
	switch t.name {
	case "svg", "math":
		s.foreign = max(0, s.foreign-1)
	case "style":
		s.inStyle = false
	case "picture":
		s.inPicture, s.picked = false, ""
	}
}

func (d *document) scanStart(t *token) {
	s := &d.scanner
	view := d.page.view
	switch t.name {
	case "svg", "math":
		if t.kind != html.SelfClosingTagToken {
			s.foreign++
		}
	case "image":
		if t.svg {
			d.preload(t, svgReference(t), Image, urgency{})
		} else {
			d.scanImage(t)
		}
	case "base":
		if href, ok := t.get("href"); ok && !s.hasBase {
			if base, ok := resolve(d.base, href); ok {
				s.hasBase = true
				d.base = base
			}
		}
	case "body":
		s.inBody = true
	case "style":
		s.inStyle = true
		s.applies = view.mediaMatches(t.attribute("media"))
	case "picture":
		s.inPicture, s.picked = true, ""
		return
	case "source":
		d.scanSource(t)
	case "img":
		s.inBody = true
		d.scanImage(t)
	case "input":
		if t.word("type") == "image" {
			d.preload(t, t.attribute("src"), Image, urgency{})
		}
	case "video":
		d.preload(t, t.attribute("poster"), Image, urgency{})
	case "script":
		isScript, module := scriptKind(t)
		if isScript {
			_, async := t.get("async")
			_, deferred := t.get("defer")
			d.preload(t, t.attribute("src"), Script, urgency{
				lazy: async || deferred, module: module,
				renderBlocking: !s.inBody && !async && !deferred && !module,
			})
		}
	case "link":
		d.scanLink(t)
	}
	if !void[t.name] {
		s.inPicture, s.picked = false, ""
	}
}

// preload requests what a tag refers to.
func (d *document) preload(t *token, reference string, kind Kind, u urgency) {
	if reference == "" {
		return
	}
	url, ok := resolve(t.base, reference)
	if !ok {
		return
	}
	u.speculative, u.hint = true, t.word("fetchpriority")
	d.found(url, func() {
		d.ask(want{url: url, kind: kind, link: u.link, initiator: d.parserInitiator(t), priority: d.priority(kind, u)})
	})
}

// found makes a request of the scanner: now, or, if the parser is ahead, only
// if the parser does not make it first.
func (d *document) found(url string, ask func()) {
	if !d.scanner.behind {
		ask()
		return
	}
	d.scanner.found = append(d.scanner.found, func() {
		if d.page.byURL[url] == nil {
			ask()
		}
	})
}

func (d *document) parserInitiator(t *token) Initiator {
	return Initiator{Type: "parser", URL: d.url, Line: t.line}
}

// scanImage selects an image's source, and requests it unless it is lazy.
func (d *document) scanImage(t *token) {
	s := &d.scanner
	t.source = s.picked
	if !s.inPicture || t.source == "" {
		sizes, hasSizes := t.get("sizes")
		size := d.page.view.width
		if hasSizes {
			size = d.page.view.sourceSize(sizes)
		}
		srcset, _ := t.get("srcset")
		t.source = d.page.view.bestSource(t.attribute("src"), srcset, size)
	}
	if t.word("loading") != "lazy" {
		d.preload(t, t.source, Image, urgency{small: smallImage(t)})
	}
}

// smallImage reports whether an image's attributes make it too small for
// Chromium's boost (kSmallImageMaxSize in resource_fetcher.cc).
func smallImage(t *token) bool {
	width, hasWidth := dimension(t, "width")
	height, hasHeight := dimension(t, "height")
	switch {
	case hasWidth && hasHeight:
		return width*height <= 10000
	case hasWidth:
		return width == 0
	case hasHeight:
		return height == 0
	}
	return false
}

// dimension returns a width or height attribute in px
// (https://html.spec.whatwg.org/#rules-for-parsing-dimension-values).
func dimension(t *token, name string) (float64, bool) {
	v := t.attribute(name)
	end := 0
	for end < len(v) && (v[end] >= '0' && v[end] <= '9' || v[end] == '.') {
		end++
	}
	value, err := strconv.ParseFloat(v[:end], 64)
	return value, err == nil && !strings.HasPrefix(v[end:], "%")
}

// scanSource handles a source of a picture: the first that matches counts.
func (d *document) scanSource(t *token) {
	s := &d.scanner
	srcset, _ := t.get("srcset")
	if !s.inPicture || s.picked != "" || srcset == "" {
		return
	}
	if !d.page.view.mediaMatches(t.attribute("media")) || !imageType(t.word("type")) {
		return
	}
	size := d.page.view.width
	if sizes, ok := t.get("sizes"); ok {
		size = d.page.view.sourceSize(sizes)
	}
	s.picked = d.page.view.bestSource("", srcset, size)
}

// imageType reports whether Chromium supports images of a type; "" matches any.
func imageType(t string) bool {
	t, _, _ = strings.Cut(t, ";")
	return slices.Contains([]string{"", "image/jpeg", "image/jpg", "image/pjpeg", "image/png", "image/x-png", "image/apng", "image/gif",
		"image/webp", "image/avif", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon", "image/svg+xml", "image/x-xbitmap"}, strings.TrimSpace(t))
}

func svgReference(t *token) string {
	if href := t.attribute("href"); href != "" {
		return href
	}
	return t.attribute("xlink:href")
}

// scanStyle requests what a style element imports.
func (d *document) scanStyle(t *token) {
	for _, i := range parseSheet(t.text, d.page.view, "", onlyImports).imports {
		if url, ok := resolve(t.base, i.url); ok && i.url != "" {
			blocking := !d.scanner.inBody
			d.found(url, func() {
				d.ask(want{url: url, kind: Stylesheet, initiator: d.parserInitiator(t), priority: d.priority(Stylesheet, urgency{speculative: true, renderBlocking: blocking})})
			})
		}
	}
}
