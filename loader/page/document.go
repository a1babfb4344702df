package page

import (
	"mime"
	"strings"
	"time"

	"golang.org/x/net/html"

	"wiretime/weburl"
)

// moment is when something happened, if it did.
type moment struct {
	at    time.Duration
	fired bool
}

// document is the document of a page, or of a frame in it: its parser, its tree
// and what its events wait for.
type document struct {
	page     *Page
	parent   *document // of a frame
	depth    int
	resource *resource // nil: srcdoc
	url      string
	base     string
	isHTML   bool
	closed   bool // all its bytes have arrived

	tokens  *tokenizer
	queue   []*token // not yet parsed
	scanned int      // how many of these the preload scanner has processed
	started bool     // the parser has started
	scanner scanner
	urgency urgencyState

	tree      *tree
	raw       []byte // the text of the open script or style
	pumping   bool   // a task to parse has been posted
	parsed    bool   // the parser has finished
	media     *media // the audio or video element that contains the sources
	blocking  *script
	deferred  []*script
	deferring bool // deferred scripts are running

	sheets       []*sheet
	scriptSheets int // sheets that scripts wait for
	renderSheets int // sheets that rendering waits for
	bodySheets   int // sheets that the parser waits for

	dirty  bool // the tree or the sheets have changed since the last rendered frame
	framed bool // a rendered frame is scheduled
	style  styling

	delays int // what the load event waits for
	dcl    moment
	load   moment
	loaded []func() // callbacks for when load has fired
}

// maxDocuments limits the documents of a page, as Chromium does (kMaxNumberOfFrames of
// third_party/blink/renderer/core/page/page.h). Further frames stay empty.
const maxDocuments = 1000

func (p *Page) newDocument(parent *document, url string) *document {
	d := &document{page: p, parent: parent, url: url, base: url, tree: newTree(), tokens: &tokenizer{stop: func() {}}}
	if parent != nil {
		d.depth = parent.depth + 1
	}
	p.documents = append(p.documents, d)
	return d
}

// navigate requests the document.
func (d *document) navigate(w want) {
	r := d.ask(w)
	d.resource, r.stream = r, d
}

// respond handles the head of the document's response.
func (d *document) respond(h Head) {
	if h.URL != "" {
		if url, ok := weburl.Resolve("", h.URL); ok {
			d.url, d.base = url, url
		}
	}
	media, _, err := mime.ParseMediaType(h.ContentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(h.ContentType), ";")
	}
	switch strings.TrimSpace(media) {
	case "", "text/html", "application/xhtml+xml":
		d.isHTML = true
		d.tokens = newTokenizer(h.ContentType)
		d.preloadLinks(h.Links, "other")
	}
}

// receive handles content of the document.
func (d *document) receive(b []byte) {
	if !d.isHTML || len(b) == 0 {
		return
	}
	d.tokens.feed(b)
	d.tokenize()
}

// close marks the document's content as complete.
func (d *document) close() {
	if d.closed {
		return
	}
	d.closed = true
	if d.isHTML {
		d.tokens.feed(nil)
		d.tokenize()
	}
	d.wake()
}

// tokenize tokenizes what has arrived. In Chromium the preload scanner runs on
// its own thread and sees new tokens at once, but its results take a moment to
// come back. A parser that is waiting for bytes is faster, and leaves the
// scanner only what it has not reached. Only until the parser has started is the
// scanner first.
func (d *document) tokenize() {
	idle := d.started && len(d.queue) == 0 && !d.stopped() && !d.pumping && d.page.busy <= d.page.now
	for {
		t, ok := d.tokens.next()
		if !ok || t == nil {
			break
		}
		d.queue = append(d.queue, t)
	}
	if !idle {
		d.scanQueue()
	}
	d.wake()
}

// scanQueue lets the preload scanner process everything that the parser has not
// reached.
func (d *document) scanQueue() {
	d.scanner.behind = false
	for _, ask := range d.scanner.found {
		ask()
	}
	d.scanner.found = nil
	for _, t := range d.queue[d.scanned:] {
		d.scan(t)
	}
	d.scanned = len(d.queue)
}

// wake lets the parser continue, if it can.
func (d *document) wake() {
	if !d.pumping && !d.stopped() {
		d.pumping = true
		d.page.post(d.pump)
	}
}

// stopped reports whether the parser must wait: for a script, or for a
// stylesheet in the body, which blocks Chromium's parser
// (HTMLDocumentParser::DidAddPendingParserBlockingStylesheet).
func (d *document) stopped() bool { return d.blocking != nil || d.bodySheets > 0 }

// pump parses the queued tokens until something blocks it.
func (d *document) pump() {
	d.pumping = false
	if d.parsed {
		return
	}
	octets := 0
	for len(d.queue) > 0 && !d.stopped() {
		t := d.queue[0]
		d.queue[0] = nil
		d.queue = d.queue[1:]
		octets += t.size
		if d.scanned > 0 {
			d.scanned--
		} else {
			d.scanner.behind = true
			d.scan(t)
		}
		d.started = true
		d.build(t)
	}
	d.scanQueue()
	if d.closed && len(d.queue) == 0 && !d.stopped() {
		d.parsed = true
		d.finishParsing()
	}
	if d.blocking != nil {
		d.page.post(d.tryScript)
	}
	d.page.spend(perKB(d.page.config.CPU.ParsePerKB, octets), nil)
}

// build adds one token to the tree.
func (d *document) build(t *token) {
	if t.inert {
		return
	}
	switch t.kind {
	case html.TextToken:
		d.buildText(t)
	case html.EndTagToken:
		if current := d.tree.current(); current != nil && current.node.Data == t.name {
			switch t.name {
			case "script":
				d.tree.end(t.name)
				d.prepareScript(current, t)
				return
			case "style":
				d.tree.end(t.name)
				d.addStyle(current, t.base)
				return
			case "audio", "video":
				d.media = nil
			}
		}
		d.tree.end(t.name)
	default:
		body := d.tree.body
		e := d.tree.start(t)
		if body != d.tree.body {
			d.changed()
		}
		if e != nil {
			d.inserted(e, t)
			d.changed()
		}
	}
}

func (d *document) buildText(t *token) {
	if current := d.tree.current(); current != nil {
		switch current.node.Data {
		case "script", "style":
			d.raw = t.text
			return
		case "noscript", "iframe", "noembed", "noframes", "title":
			return
		}
	}
	if d.tree.text(t.text) {
		d.changed()
	}
}

// finishParsing performs "the end" of the standard, up to the deferred scripts
// (https://html.spec.whatwg.org/#the-end).
func (d *document) finishParsing() {
	if current := d.tree.current(); current != nil && current.node.Data == "style" {
		d.addStyle(current, d.base)
	}
	d.tree.ensureBody(nil)
	d.changed()
	d.recordedDocument()
	d.deferring = true
	d.page.post(d.nextDeferred)
}

// fireDCL fires DOMContentLoaded.
func (d *document) fireDCL() {
	d.dcl = moment{d.page.now, true}
	d.page.post(d.settle)
}

// settle fires load when nothing delays it any more.
func (d *document) settle() {
	if !d.dcl.fired || d.load.fired || d.delays > 0 {
		return
	}
	if d.parent == nil {
		if d.page.adopt(false); d.delays > 0 {
			return
		}
	}
	d.load = moment{d.page.now, true}
	for _, f := range d.loaded {
		f()
	}
	d.loaded = nil
}

// whenLoaded calls f once load has fired.
func (d *document) whenLoaded(f func()) {
	if d.load.fired {
		f()
		return
	}
	d.loaded = append(d.loaded, f)
}

// delay holds the load event up until the returned function is called. Further
// calls have no effect.
func (d *document) delay() (release func()) {
	d.delays++
	released := false
	return func() {
		if released {
			return
		}
		released = true
		d.delays--
		d.page.post(d.settle)
	}
}

// framesPerSecond is Chromium's frame rate.
const framesPerSecond = 60

// maxRendered is how many elements a page may render, counted anew in each frame, before frames come once a second only: a
// page that changes a large document all the time would take longer than the time that passes.
const maxRendered = 100e6

// changed schedules a rendered frame, which computes styles. Frames come at
// regular intervals since navigationStart; a change is drawn with the next one.
func (d *document) changed() {
	d.dirty = true
	if d.framed || d.tree.body == nil || d.renderSheets > 0 {
		return
	}
	d.framed = true
	p := d.page
	rate := int64(framesPerSecond)
	if p.rendered > maxRendered {
		rate = 1
	}
	frames := int64(p.now)*rate/int64(time.Second) + 1
	p.alarm(time.Duration(frames*int64(time.Second)/rate), func() {
		p.post(func() {
			d.framed = false
			if d.dirty && d.renderSheets == 0 {
				d.dirty = false
				d.render()
			}
		})
	})
}
