package page

import (
	"slices"

	"wiretime/weburl"
)

// resource is something that the page has requested.
type resource struct {
	Request
	head     Head
	body     []byte           // of a stylesheet
	parsed   map[string]rules // of a stylesheet, by the layer that it was imported into
	size     int
	finished bool
	failed   bool
	used     bool      // a script or stylesheet that something runs or applies
	owner    *document // the first to request it

	waiting []*document // documents whose load event waits for it
	then    []func()    // callbacks for its end
	began   []func()    // callbacks for its first content
	stream  *document   // the document that it contains
}

// want describes a resource to request.
type want struct {
	url       string // absolute
	method    string // empty: GET
	kind      Kind
	initiator Initiator
	link      bool // a preload, which delays nothing until something uses it
	free      bool // the load event never waits for it
	priority  Priority
}

// blocks reports whether the load event waits for resources of a kind
// (IsLoadEventBlockingResourceType in
// third_party/blink/renderer/platform/loader/fetch/resource.cc). Documents of
// frames and media have their own rules.
func (k Kind) blocks() bool {
	switch k {
	case Stylesheet, Script, Image, Font, SVG:
		return true
	}
	return false
}

// incremental implements ShouldLoadIncremental of resource_request_utils.cc.
func (k Kind) incremental() bool {
	switch k {
	case Stylesheet, Script, Font, Manifest:
		return false
	}
	return true
}

// ask requests a resource, or joins an earlier request for it. It returns nil
// for URLs that are not fetched over the network.
func (d *document) ask(w want) *resource {
	p := d.page
	key := w.url
	if w.method != "" {
		key = w.method + " " + w.url // markup never makes such a request
	}
	r := p.byURL[key]
	if r == nil {
		r = &resource{owner: d, Request: Request{
			ID: len(p.resources), URL: w.url, Method: w.method, Kind: w.kind, Priority: w.priority, Initiator: w.initiator,
			Incremental: w.kind.incremental(),
		}}
		p.resources = append(p.resources, r)
		p.unfinished++
		p.byURL[key] = r
		p.out = append(p.out, r.Request)
	} else if w.priority > r.Priority {
		p.change(r, w.priority, true)
	}
	if w.kind.blocks() && !w.link && !w.free {
		d.waitFor(r)
	}
	return r
}

// waitFor delays the load event until r has finished.
func (d *document) waitFor(r *resource) {
	if r.finished || slices.Contains(r.waiting, d) {
		return
	}
	r.waiting = append(r.waiting, d)
	d.delays++
}

// change changes the priority of a request in flight.
func (p *Page) change(r *resource, to Priority, silent bool) {
	if r.finished || r.Priority == to {
		return
	}
	r.Priority = to
	p.changes = append(p.changes, Change{ID: r.ID, Priority: to, Silent: silent})
}

// whenFinished runs f on the main thread once r has finished.
func (p *Page) whenFinished(r *resource, f func()) {
	if r.finished {
		p.post(f)
		return
	}
	r.then = append(r.then, f)
}

// whenBegun runs f on the main thread once r's first content has arrived, or is
// certain never to arrive.
func (p *Page) whenBegun(r *resource, f func()) {
	if r.finished || r.size > 0 {
		p.post(f)
		return
	}
	r.began = append(r.began, f)
}

// ok reports whether a finished resource may be used.
func (r *resource) ok() bool {
	return r.finished && !r.failed && (r.head.Status == 0 || r.head.Status/100 == 2 || r.head.Status == 304)
}

// finish ends a resource and runs its callbacks.
func (p *Page) finish(r *resource, failed bool) {
	if r.finished {
		return
	}
	r.finished, r.failed = true, failed
	p.unfinished--
	for _, f := range r.began {
		p.post(f)
	}
	for _, f := range r.then {
		p.post(f)
	}
	if r.stream != nil {
		r.stream.close()
	} else if r.Kind != Script && r.Kind != Stylesheet {
		p.ran(r)
	}
	for _, d := range r.waiting {
		d.delays--
		p.post(d.settle)
	}
	r.began, r.then, r.waiting = nil, nil, nil
}

// finalURL returns the URL of a resource after redirects.
func (r *resource) finalURL() string {
	if r.head.URL != "" {
		return r.head.URL
	}
	return r.URL
}

// maxURL limits the URLs of a page, in octets: a long base would otherwise be copied for each reference. Servers refuse
// requests that are shorter.
const maxURL = 16 << 10

// resolve is weburl.Resolve with the limit maxURL.
func resolve(base, reference string) (string, bool) {
	if len(base)+len(reference) > maxURL {
		return "", false
	}
	return weburl.Resolve(base, reference)
}
