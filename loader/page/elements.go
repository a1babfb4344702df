package page

import (
	"slices"
	"strings"
)

// inserted runs an element's steps after the parser has inserted it into the
// tree.
func (d *document) inserted(e *element, t *token) {
	switch t.name {
	case "script", "style":
		d.raw = nil
	case "link":
		d.insertedLink(t)
	case "img", "image":
		if t.name == "img" || !t.svg {
			d.insertedImage(e, t)
		} else {
			d.show(e, t, svgReference(t))
		}
	case "input":
		if t.word("type") == "image" {
			d.show(e, t, t.attribute("src"))
		}
	case "iframe", "frame":
		d.insertedFrame(e, t)
	case "object":
		d.insertedObject(e, t, t.attribute("data"))
	case "embed":
		d.insertedObject(e, t, t.attribute("src"))
	case "video", "audio":
		d.insertedMedia(e, t)
	case "source":
		if d.media != nil {
			d.media.add(t)
		}
	case "track":
		if _, byDefault := t.get("default"); byDefault && d.media != nil {
			d.fetch(t, t.attribute("src"), Track)
		}
	case "use":
		d.fetch(t, svgReference(t), SVG)
	}
}

// fetch requests what a tag refers to.
func (d *document) fetch(t *token, reference string, kind Kind) *resource {
	if reference == "" || strings.HasPrefix(reference, "#") {
		return nil
	}
	url, ok := resolve(t.base, reference)
	if !ok {
		return nil
	}
	return d.ask(want{
		url: url, kind: kind, initiator: d.parserInitiator(t),
		priority: d.priority(kind, urgency{hint: t.word("fetchpriority")}),
	})
}

// show requests an element's image.
func (d *document) show(e *element, t *token, reference string) {
	e.image = d.fetch(t, reference, Image)
}

// lazyMargin is how far below the viewport Chromium loads lazy images and
// frames, in px: lazyLoadingImageMarginPxUnknown of
// third_party/blink/renderer/core/frame/settings.json5, which applies to a
// browser that has not yet estimated its network's quality.
const lazyMargin = 3000

func (d *document) insertedImage(e *element, t *token) {
	if t.word("loading") != "lazy" {
		d.show(e, t, t.source)
		return
	}
	// A lazy image never delays the load event, even once requested.
	d.atLayout(e, func(top float64) bool {
		if top > d.page.view.height+lazyMargin {
			return false
		}
		if url, ok := resolve(t.base, t.source); ok && t.source != "" {
			e.image = d.ask(want{
				url: url, kind: Image, free: true, initiator: d.layoutInitiator(),
				priority: d.priority(Image, urgency{hint: t.word("fetchpriority")}),
			})
		}
		return true
	})
}

// atLayout calls f at each layout until it returns true. f gets the element's
// top in px.
func (d *document) atLayout(e *element, f func(top float64) bool) {
	e.deferred = append(e.deferred, f)
}

// layoutInitiator returns Chromium's initiator of requests made by styles and
// layout: the parser's position while there is a parser.
func (d *document) layoutInitiator() Initiator {
	if d.parsed {
		return Initiator{Type: "other"}
	}
	i := Initiator{Type: "parser", URL: d.url}
	if n := len(d.tree.elements); n > 0 && d.tree.elements[n-1].token != nil {
		i.Line = d.tree.elements[n-1].token.line
	}
	return i
}

// maxFrames limits how deeply frames are nested. It stops pages that contain
// themselves.
const maxFrames = 8

func (d *document) insertedFrame(e *element, t *token) {
	if d.depth >= maxFrames || len(d.page.documents) >= maxDocuments {
		return
	}
	if source, ok := t.get("srcdoc"); ok && t.name == "iframe" {
		child := d.newFrame("about:srcdoc", true)
		child.base = t.base
		child.isHTML = true
		child.tokens = newTokenizer("text/html; charset=utf-8")
		child.receive([]byte(source))
		child.close()
		return
	}
	url, ok := resolve(t.base, t.attribute("src"))
	if !ok || t.attribute("src") == "" {
		return
	}
	if t.word("loading") == "lazy" {
		d.atLayout(e, func(top float64) bool {
			if top > d.page.view.height+lazyMargin {
				return false
			}
			d.openFrame(url, d.layoutInitiator(), false)
			return true
		})
		return
	}
	d.openFrame(url, d.parserInitiator(t), true)
}

// openFrame loads a document into a frame, unless the page already has it.
func (d *document) openFrame(url string, initiator Initiator, delays bool) {
	if d.page.byURL[url] != nil || len(d.page.documents) >= maxDocuments {
		return
	}
	child := d.newFrame(url, delays)
	child.navigate(want{url: url, kind: Frame, priority: VeryHigh, initiator: initiator})
}

// newFrame creates the document of a frame, whose load event delays the
// parent's.
func (d *document) newFrame(url string, delays bool) *document {
	child := d.page.newDocument(d, url)
	if delays {
		child.loaded = append(child.loaded, d.delay())
	}
	return child
}

// insertedObject handles an object or embed element. It loads at layout, and
// only if displayed, but the load event waits for that from now on.
func (d *document) insertedObject(e *element, t *token, reference string) {
	url, ok := resolve(t.base, reference)
	if !ok || reference == "" {
		return
	}
	release := d.delay()
	kind := t.word("type")
	d.atLayout(e, func(float64) bool {
		defer release()
		switch {
		case e.style.hidden:
		case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
			e.image = d.ask(want{url: url, kind: Image, initiator: d.layoutInitiator(), priority: d.priority(Image, urgency{})})
		case d.depth < maxFrames:
			d.openFrame(url, d.layoutInitiator(), true)
		}
		return true
	})
}

// media is an audio or video element. The load event waits for its first
// content (https://html.spec.whatwg.org/#delaying-the-load-event-flag), which
// here stands for its metadata.
type media struct {
	document *document
	sources  []*token
	busy     bool // a source is being tried
	found    bool
}

func (d *document) insertedMedia(e *element, t *token) {
	if poster := t.attribute("poster"); poster != "" && t.name == "video" {
		d.show(e, t, poster)
	}
	_, autoplay := t.get("autoplay")
	if t.word("preload") == "none" && !autoplay {
		return
	}
	d.media = &media{document: d}
	if _, ok := t.get("src"); ok {
		d.media.add(t)
		d.media = nil
	}
}

// add adds a source, or the element's own src. Chromium loads media in a
// separate task.
func (m *media) add(t *token) {
	if m.found || !mediaType(t.word("type")) {
		return
	}
	m.sources = append(m.sources, t)
	if !m.busy {
		m.busy = true
		m.try(m.document.delay())
	}
}

func (m *media) try(release func()) {
	d := m.document
	d.page.post(func() {
		if len(m.sources) == 0 {
			m.busy = false
			release()
			return
		}
		t := m.sources[0]
		m.sources = m.sources[1:]
		r := d.fetch(t, t.attribute("src"), Media)
		if r == nil {
			m.try(release)
			return
		}
		d.page.whenBegun(r, func() {
			if m.found = !r.failed && r.head.Status < 400; m.found {
				release()
				return
			}
			m.try(release)
		})
	})
}

// mediaType reports whether Chromium tries media of a type; "" matches any.
func mediaType(t string) bool {
	t, _, _ = strings.Cut(t, ";")
	return slices.Contains([]string{"", "video/mp4", "video/webm", "video/ogg", "video/x-m4v", "audio/mpeg", "audio/mp3", "audio/mp4",
		"audio/aac", "audio/ogg", "audio/webm", "audio/wav", "audio/x-wav", "audio/flac", "audio/x-m4a"}, strings.TrimSpace(t))
}
