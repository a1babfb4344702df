package page

import (
	"slices"
	"strings"
)

// sheet is a stylesheet of a document, with the sheets it imports.
type sheet struct {
	resource *resource // nil: a style element
	base     string
	layer    string
	depth    int // of imports
	root     *sheet
	parent   *sheet

	applies  bool // its media match
	rules    rules
	imported []*sheet // by rules.imports; nil: not loaded

	// For a root: the number of pending parts, and what waits for them.
	coming int
	loaded func()
}

// Limits on how deeply stylesheets import each other, and how often in a page.
const (
	maxDepthOfImports = 16
	maxImports        = 1000
)

// linkSheet handles a link element for a stylesheet.
func (d *document) linkSheet(t *token, href string, alternate bool) {
	if _, disabled := t.get("disabled"); disabled || !styleType(t.word("type")) {
		return
	}
	url, ok := resolve(t.base, href)
	if !ok {
		return
	}
	applies := !alternate && d.page.view.mediaMatches(t.attribute("media"))
	u := urgency{hint: t.word("fetchpriority"), lazy: !applies, renderBlocking: applies && d.tree.body == nil}
	s := &sheet{applies: applies}
	s.resource = d.ask(want{url: url, kind: Stylesheet, initiator: d.parserInitiator(t), priority: d.priority(Stylesheet, u)})
	s.resource.used = true
	if applies {
		d.addBlocking(s)
		return
	}
	// Pages enable such sheets once loaded, so as not to wait for them.
	if onload := t.word("onload"); strings.Contains(onload, "media") {
		s.applies = true
	}
	d.addSheet(s)
}

// addStyle handles a style element when its end tag has arrived.
func (d *document) addStyle(e *element, base string) {
	text := d.raw
	d.raw = nil
	t := e.token
	if kind := t.word("type"); kind != "" && kind != "text/css" || !d.page.view.mediaMatches(t.attribute("media")) {
		return
	}
	d.page.owe(perKB(d.page.config.CPU.StylePerKB, len(text)))
	s := &sheet{base: base, applies: true}
	s.root = s
	d.sheets = append(d.sheets, s)
	s.coming = 1
	s.parse(d, text)
	if s.coming--; s.coming > 0 {
		d.block(s)
	}
	d.style.stale = true
	d.changed()
}

// addBlocking adds a sheet that blocks later scripts, and rendering or the
// parser.
func (d *document) addBlocking(s *sheet) {
	d.addSheet(s)
	if s.coming > 0 {
		d.block(s)
	}
}

// block makes a sheet block: rendering if it is in the head, the parser if it
// is in the body (StyleEngine::AddPendingBlockingSheet in
// third_party/blink/renderer/core/css/style_engine.cc).
func (d *document) block(s *sheet) {
	release := d.delay()
	waiting := &d.renderSheets
	if d.tree.body != nil {
		waiting = &d.bodySheets
	}
	d.scriptSheets++
	*waiting++
	s.loaded = func() {
		d.scriptSheets--
		*waiting--
		release()
		d.page.post(d.tryScript)
		d.page.post(d.nextDeferred)
		d.wake()
	}
}

// addSheet adds an external sheet, which applies once it has arrived.
func (d *document) addSheet(s *sheet) {
	s.root = s
	s.coming = 1
	d.sheets = append(d.sheets, s)
	d.await(s)
}

// await waits for one sheet, a root or an imported one.
func (d *document) await(s *sheet) {
	p := d.page
	p.whenFinished(s.resource, func() {
		r := s.resource
		s.base = r.finalURL()
		if r.ok() && isStyle(r.head.ContentType) {
			p.owe(perKB(p.config.CPU.StylePerKB, r.size))
			s.parse(d, r.body)
		}
		p.spend(0, func() {
			p.ran(r)
			if s.root.coming--; s.root.coming > 0 {
				return
			}
			d.style.stale = true
			if s.root.loaded != nil {
				s.root.loaded()
			}
			d.changed()
		})
	})
}

// isStyle reports whether a response of a type counts as a stylesheet, as in
// standards mode.
func isStyle(contentType string) bool {
	return contentType == "" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/css")
}

// maxReparsed limits the parsing of sheets that a page imports into several layers, in octets. Beyond it such a sheet is
// empty.
const maxReparsed = 16 << 20

// parseSheet parses a sheet. Sheets that a page has several times are parsed once for each layer.
func (p *Page) parseSheet(s *sheet, text []byte) rules {
	r := s.resource
	if r == nil {
		return parseSheet(text, p.view, s.layer, wholeSheet)
	}
	parsed, known := r.parsed[s.layer]
	if known {
		return parsed
	}
	if len(r.parsed) > 0 {
		if p.reparsed += len(text); p.reparsed > maxReparsed {
			return rules{}
		}
	} else {
		r.parsed = map[string]rules{}
	}
	parsed = parseSheet(text, p.view, s.layer, wholeSheet)
	r.parsed[s.layer] = parsed
	return parsed
}

// parse parses a sheet and requests those it imports.
func (s *sheet) parse(d *document, text []byte) {
	s.rules = d.page.parseSheet(s, text)
	s.imported = make([]*sheet, len(s.rules.imports))
	for i, rule := range s.rules.imports {
		url, ok := resolve(s.base, rule.url)
		if !ok || rule.url == "" || s.depth >= maxDepthOfImports || d.page.imports >= maxImports || s.within(url) {
			continue
		}
		d.page.imports++
		child := &sheet{root: s.root, parent: s, depth: s.depth + 1, layer: rule.layer}
		child.applies = s.applies && d.page.view.media(rule.media)
		initiator := d.layoutInitiator()
		if s.resource != nil {
			initiator = Initiator{Type: "parser", URL: s.base}
		}
		child.resource = d.ask(want{url: url, kind: Stylesheet, initiator: initiator, priority: d.priority(Stylesheet, urgency{renderBlocking: d.tree.body == nil})})
		child.resource.used = true
		s.imported[i] = child
		s.root.coming++
		d.await(child)
	}
}

// within reports whether a sheet is, or is imported by, the one at url.
func (s *sheet) within(url string) bool {
	for ; s != nil; s = s.parent {
		if s.resource != nil && slices.Contains([]string{s.resource.URL, s.base}, url) {
			return true
		}
	}
	return false
}
