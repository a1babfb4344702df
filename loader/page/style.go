package page

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// styling holds a document's rules, and how far its elements have been styled.
type styling struct {
	stale    bool // the sheets have changed
	styled   int  // elements that have a style
	byKey    map[string][]entry
	faces    map[string][]*fontFace
	lettered map[lettering]*letters // the letters whose fonts have been requested
}

// entry is a selector of a rule, with everything that decides which rule wins.
type entry struct {
	selector *selector
	rule     *styleRule
	sheet    *sheet
	layer    int // later ones win; rules outside of layers are in the last
	order    int
}

// style is the relevant part of an element's computed style.
type style struct {
	hidden   bool // not displayed, nor is its content
	custom   *customs
	families *families // nil: the initial one
	weight   float64
	italic   bool
	box      box
}

// outOfLayers is the layer of rules outside of all layers.
const outOfLayers = 1 << 30

// maxRules limits the rules of a document's sheets together, of which one may appear many times. Sheets beyond it are ignored.
const maxRules = 4 << 20

// collect collects the rules of all sheets.
func (d *document) collect() {
	s, left := &d.style, maxRules
	s.byKey, s.faces, s.lettered = map[string][]entry{}, map[string][]*fontFace{}, map[lettering]*letters{}
	layers, order := map[string]int{}, 0
	var add func(*sheet)
	add = func(sh *sheet) {
		if sh == nil || !sh.applies || sh.resource != nil && !sh.resource.finished {
			return
		}
		for _, name := range sh.rules.layers {
			if _, known := layers[name]; !known {
				layers[name] = len(layers)
			}
		}
		for _, child := range sh.imported {
			add(child)
		}
		d.page.rendered += len(sh.rules.styles)
		if left -= len(sh.rules.styles) + len(sh.rules.faces); left < 0 {
			return
		}
		for i := range sh.rules.styles {
			rule := &sh.rules.styles[i]
			layer := outOfLayers
			if rule.layer != "" {
				layer = layers[rule.layer]
			}
			order++
			for j := range rule.selectors {
				sel := &rule.selectors[j]
				s.byKey[sel.key] = append(s.byKey[sel.key], entry{sel, rule, sh, layer, order})
			}
		}
		for _, face := range sh.rules.faces {
			face.base, face.origin = sh.base, d.sheetInitiator(sh)
			s.faces[face.family] = append(s.faces[face.family], &face)
		}
	}
	for _, sh := range d.sheets {
		if sh.coming == 0 {
			add(sh)
		}
	}
}

// sheetInitiator returns Chromium's initiator of a sheet's requests.
func (d *document) sheetInitiator(s *sheet) Initiator {
	if s != nil && s.resource != nil {
		return Initiator{Type: "parser", URL: s.base}
	}
	return d.layoutInitiator()
}

// render renders a frame: it computes styles and requests what they need, in
// Chromium's order: images of styles, then fonts at layout, and then whatever
// depends on positions.
func (d *document) render() {
	s := &d.style
	from := s.styled
	if s.stale {
		s.stale = false
		d.collect()
		from = 0
	}
	elements := d.tree.elements
	d.page.rendered += len(elements)
	for _, e := range elements[s.styled:] {
		d.page.matcher.weigh(e.node)
	}
	for _, e := range elements[from:] {
		d.compute(e)
		e.asked = false
	}
	s.styled = len(elements)
	for _, e := range elements {
		if !e.asked && !e.style.hidden {
			e.asked = true
			d.askFonts(&e.letters, e.style)
		}
	}
	d.layout()
}

// layout estimates where elements are, and runs the callbacks that wait for it.
func (d *document) layout() {
	d.place()
	for _, e := range d.tree.elements {
		if e.style == nil {
			continue
		}
		if e.style.hidden {
			d.settleDeferred(e, d.page.view.height*1e6)
			continue
		}
		if e.image != nil && !e.image.finished && e.top < d.page.view.height && e.image.Priority < High {
			// ResourceFetcher::UpdateAllImageResourcePriorities.
			hint := ""
			if e.token != nil {
				hint = e.token.word("fetchpriority")
			}
			d.page.change(e.image, max(e.image.Priority, d.priority(Image, urgency{visible: true, hint: hint})), false)
		}
		d.settleDeferred(e, e.top)
	}
}

func (d *document) settleDeferred(e *element, top float64) {
	if len(e.deferred) == 0 {
		return
	}
	e.deferred = slices.DeleteFunc(e.deferred, func(f func(float64) bool) bool { return f(top) })
}

// maxMatching limits the work of matching selectors, in elements examined. The same
// limit applies separately to selectors that examine more than an element and its
// ancestors. Beyond it nothing matches.
const maxMatching = 20e6

func (d *document) affordable(e *element, x *entry) bool {
	d.page.matching++
	far := 0
	if x.selector.wide && e.parent != nil {
		far += e.parent.children
	}
	if x.selector.deep {
		far += len(d.tree.elements)
	}
	if far > 0 && d.page.matchingFar+far > maxMatching {
		return false
	}
	d.page.matchingFar += far
	return true
}

// unstyled are elements that are not displayed unless a rule says so.
var unstyled = set("head title meta link script style base noscript template datalist param area source track noframes")

// compute computes an element's style and requests its images.
func (d *document) compute(e *element) {
	around := &style{weight: 400, box: box{font: fontSize, line: normalLine}}
	if e.parent != nil {
		around = e.parent.style
	}
	st := &style{custom: around.custom, families: around.families, weight: around.weight, italic: around.italic}
	st.box = newBox(e.node.Data, &around.box, d.page.view)
	e.style = st
	if around.hidden {
		st.hidden = true
		return
	}
	d.defaults(e, st)
	var own, before, after cascade
	d.match(e, &own, &before, &after)
	if inline, ok := e.attribute("style"); ok {
		d.page.rendered += len(inline) / octetsPerElement
		own.inline(parseSheet([]byte(inline), d.page.view, "", attribute), e.base(d))
	}
	st.apply(&own)
	if st.hidden {
		return
	}
	d.askImages(e, st, &own)
	for _, pseudo := range []*cascade{&before, &after} {
		if pseudo.empty() {
			continue
		}
		generated := &style{custom: st.custom, families: st.families, weight: st.weight, italic: st.italic}
		generated.apply(pseudo)
		shown := generated.value(pseudo, content)
		if len(shown) == 0 || generated.hidden || shown[0].is(css.IdentToken, "none") || shown[0].is(css.IdentToken, "normal") {
			continue
		}
		d.askImages(e, generated, pseudo)
		var text letters
		for _, t := range shown {
			if t.kind == css.StringToken {
				text.add([]byte(t.value()))
			}
		}
		d.askFonts(&text, generated)
	}
}

var monospace = newFamilies("monospace")

// defaults applies attributes and Chromium's own stylesheet
// (third_party/blink/renderer/core/html/resources/html.css).
func (d *document) defaults(e *element, st *style) {
	name := e.node.Data
	_, hidden := e.attribute("hidden")
	kind, _ := e.attribute("type")
	_, open := e.attribute("open")
	st.hidden = unstyled[name] || hidden || name == "input" && strings.EqualFold(kind, "hidden") || name == "dialog" && !open
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6", "b", "strong", "th":
		st.weight = 700
	case "i", "em", "cite", "dfn", "var", "address":
		st.italic = true
	case "code", "pre", "kbd", "samp", "tt":
		st.families = monospace
	case "input", "button", "select", "textarea":
		st.families, st.weight, st.italic = nil, 400, false
		for _, shown := range []string{"placeholder", "value"} {
			if text, ok := e.attribute(shown); ok {
				e.letters.add([]byte(text))
			}
		}
	}
}

func (e *element) attribute(name string) (string, bool) {
	for i := range e.node.Attr {
		if e.node.Attr[i].Key == name {
			return e.node.Attr[i].Val, true
		}
	}
	return "", false
}

func (e *element) base(d *document) string {
	if e.token != nil {
		return e.token.base
	}
	return d.base
}

// match finds the declarations of an element and its pseudo-elements.
func (d *document) match(e *element, own, before, after *cascade) {
	keysOf(e.node, func(key string) {
		for i := range d.style.byKey[key] {
			entry := &d.style.byKey[key][i]
			if d.page.matching > maxMatching {
				return
			}
			if !d.affordable(e, entry) || !d.page.matcher.matches(entry.selector.chain, e.node) {
				continue
			}
			d.page.matching += entry.rule.work
			to := own
			switch entry.selector.pseudo {
			case "before":
				to = before
			case "after":
				to = after
			}
			to.add(entry)
		}
	})
}

// askImages requests the images of a style, and the SVG documents that its
// effects refer to.
func (d *document) askImages(e *element, st *style, c *cascade) {
	for p := content; p <= clipPath; p++ {
		value := st.value(c, p)
		if len(value) == 0 {
			continue
		}
		kind := Image
		if p == filter || p == clipPath {
			kind = SVG
		}
		winner := &c.winners[p]
		base, initiator := winner.base, d.layoutInitiator()
		if winner.sheet != nil {
			base, initiator = winner.sheet.base, d.sheetInitiator(winner.sheet)
		}
		for _, reference := range imageURLs(value, d.page.view) {
			if strings.HasPrefix(reference, "#") || reference == "" {
				continue
			}
			url, ok := resolve(base, reference)
			if !ok {
				continue
			}
			r := d.ask(want{url: url, kind: kind, initiator: initiator, priority: d.priority(kind, urgency{})})
			if e.image == nil && kind == Image {
				e.image = r
			}
		}
	}
}

// imageURLs returns the images that a value refers to. For an image-set() it
// returns the one that suits the screen.
func imageURLs(value []cssToken, view viewport) []string {
	var urls []string
	for i := 0; i < len(value); i++ {
		t := value[i]
		switch {
		case t.kind == css.URLToken:
			urls = append(urls, t.value())
		case t.kind != css.FunctionToken:
		case t.function() == "url" || t.function() == "src":
			inside, rest := inner(value[i:])
			if len(inside) > 0 {
				urls = append(urls, inside[0].value())
			}
			i = len(value) - len(rest) - 1
		case strings.HasSuffix(t.function(), "image-set"):
			inside, rest := inner(value[i:])
			if chosen := chooseImage(inside, view); chosen != "" {
				urls = append(urls, chosen)
			}
			i = len(value) - len(rest) - 1
		}
	}
	return urls
}

// chooseImage selects from an image-set() the least dense image that is dense
// enough, else the densest (StyleImageSet in Chromium).
func chooseImage(options []cssToken, view viewport) string {
	best, bestDensity := "", 0.0
	for _, option := range splitTokens(options, css.CommaToken) {
		url := urlOf(option)
		if url == "" && len(option) > 0 && option[0].kind == css.StringToken {
			url = option[0].value()
		}
		have := 1.0
		for i := 0; i < len(option); i++ {
			t := option[i]
			if value, ok := density([]cssToken{t}); ok && t.kind == css.DimensionToken {
				have = value
			}
			if t.kind == css.FunctionToken && t.function() == "type" {
				inside, rest := inner(option[i:])
				if len(inside) > 0 && !imageType(strings.ToLower(inside[0].value())) {
					url = ""
				}
				i = len(option) - len(rest) - 1
			}
		}
		if url == "" {
			continue
		}
		enough, bestEnough := have >= view.ratio, bestDensity >= view.ratio
		if best == "" || enough && (!bestEnough || have < bestDensity) || !enough && !bestEnough && have > bestDensity {
			best, bestDensity = url, have
		}
	}
	return best
}
