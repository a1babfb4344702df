package page

import (
	"strings"

	"wiretime/weburl"
)

// recordings holds the recorded requests by their initiators' URLs.
type recordings struct {
	by    map[string][]Recorded
	known map[string]bool // URLs of recorded requests
}

func newRecordings(all []Recorded) recordings {
	r := recordings{map[string][]Recorded{}, map[string]bool{}}
	for _, rec := range all {
		url, ok := weburl.Resolve("", rec.URL)
		if !ok {
			continue
		}
		rec.URL = url
		rec.Initiator, _, _ = strings.Cut(rec.Initiator, "#")
		if initiator, ok := weburl.Resolve("", rec.Initiator); ok {
			rec.Initiator = initiator
		}
		r.by[rec.Initiator] = append(r.by[rec.Initiator], rec)
		r.known[url] = true
	}
	return r
}

// ran makes the recorded requests of a script that has run, a stylesheet that
// has been parsed, or any other resource that has arrived.
func (p *Page) ran(r *resource) {
	initiator := Initiator{Type: "script", URL: r.URL}
	if r.Kind == Stylesheet {
		initiator.Type = "parser"
	}
	for _, url := range []string{r.URL, r.finalURL()} {
		for _, rec := range p.recorded.by[url] {
			r.owner.schedule(rec, initiator)
		}
		delete(p.recorded.by, url)
	}
}

// recordedInline makes the recorded requests of an inline script.
func (d *document) recordedInline(s *script) {
	d.recordedWhere(func(rec Recorded) bool { return rec.Line >= s.from && rec.Line <= s.to && rec.Line > 0 })
}

// recordedDocument makes the recorded requests of the document's parser: all
// that belong to no inline script.
func (d *document) recordedDocument() { d.recordedWhere(func(Recorded) bool { return true }) }

// adopt makes the page's own document request what nothing else has requested, before the
// load event or after it: the initiators have not arrived, and nothing in flight could
// bring them.
func (p *Page) adopt(afterLoad bool) {
	seen := map[string]bool{}
	for _, rec := range p.config.Recorded { // in order
		initiator, _, _ := strings.Cut(rec.Initiator, "#")
		if url, ok := weburl.Resolve("", initiator); ok {
			initiator = url
		}
		if rec.AfterLoad != afterLoad || p.byURL[initiator] != nil || p.recorded.known[initiator] || seen[initiator] {
			continue
		}
		seen[initiator] = true
		var left []Recorded
		for _, rec := range p.recorded.by[initiator] {
			if rec.AfterLoad == afterLoad {
				p.main.schedule(rec, Initiator{Type: "script", URL: p.main.url})
			} else {
				left = append(left, rec)
			}
		}
		p.recorded.by[initiator] = left
	}
}

// recordedWhere makes the document's recorded requests that satisfy follow.
func (d *document) recordedWhere(follow func(Recorded) bool) {
	urls := []string{d.url}
	if d.resource != nil && d.resource.URL != d.url {
		urls = append(urls, d.resource.URL)
	}
	for _, url := range urls {
		var left []Recorded
		for _, rec := range d.page.recorded.by[url] {
			if follow(rec) {
				d.schedule(rec, Initiator{Type: "script", URL: d.url, Line: rec.Line})
			} else {
				left = append(left, rec)
			}
		}
		d.page.recorded.by[url] = left
	}
}

func (d *document) schedule(rec Recorded, initiator Initiator) {
	switch {
	case rec.AfterLoad:
		d.whenLoaded(func() {
			d.page.alarm(d.page.now+rec.Delay, func() { d.askRecorded(rec, initiator) })
		})
		return
	case rec.Delay <= 0:
		d.askRecorded(rec, initiator)
		return
	}
	if rec.BeforeLoad {
		release := d.delay()
		d.page.alarm(d.page.now+rec.Delay, func() {
			d.askRecorded(rec, initiator)
			release()
		})
		return
	}
	asked := false
	ask := func() {
		asked = true
		d.askRecorded(rec, initiator)
	}
	cancel := d.page.alarm(d.page.now+rec.Delay, ask)
	d.whenLoaded(func() {
		if !asked {
			cancel()
			ask()
		}
	})
}

// askRecorded requests a resource like a script does.
func (d *document) askRecorded(rec Recorded, initiator Initiator) {
	p := d.page
	kind := rec.Kind
	if kind == Document {
		kind = Frame
	}
	before := p.byURL[rec.URL]
	if kind == Frame && rec.Method == "" {
		if before == nil {
			d.openFrame(rec.URL, initiator, !d.load.fired)
		}
		return
	}
	r := d.ask(want{
		url: rec.URL, method: rec.Method, kind: kind, initiator: initiator,
		priority: d.priority(kind, urgency{lazy: kind == Script}),
	})
	switch {
	case r.used || r.Kind != kind:
	case kind == Script:
		r.used = true
		d.runWhenThere(&script{resource: r})
	case kind == Stylesheet:
		r.used = true
		d.addSheet(&sheet{resource: r, applies: true})
	}
}
