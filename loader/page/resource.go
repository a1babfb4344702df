package page

import "slices"

// resource is something the page has asked for.
type resource struct {
	Request
	head     Head
	body     []byte // of a stylesheet
	size     int
	finished bool
	failed   bool
	used     bool      // a script or a stylesheet: something runs or applies it
	owner    *document // who asked first

	waiting []*document // those whose load event waits for it
	then    []func()    // what is to be done when it has finished
	began   []func()    // when its first content is there
	stream  *document   // the document it is of
}

// want is a wish for a resource.
type want struct {
	url       string // absolute
	method    string // empty: GET
	kind      Kind
	initiator Initiator
	link      bool // a preload, which holds up nothing until something uses it
	free      bool // the load event does not wait for it in any case
	priority  Priority
}

// blocks says whether the load event waits for resources of a kind
// (IsLoadEventBlockingResourceType in
// third_party/blink/renderer/platform/loader/fetch/resource.cc). Documents of
// frames and media have rules of their own.
func (k Kind) blocks() bool {
	switch k {
	case Stylesheet, Script, Image, Font, SVG:
		return true
	}
	return false
}

// incremental is ShouldLoadIncremental of resource_request_utils.cc.
func (k Kind) incremental() bool {
	switch k {
	case Stylesheet, Script, Font, Manifest:
		return false
	}
	return true
}

// ask asks for a resource, or joins those who have. nil: it is none that is
// fetched.
func (d *document) ask(w want) *resource {
	p := d.page
	key := w.url
	if w.method != "" {
		key = w.method + " " + w.url // no markup asks for it
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

// waitFor holds the load event up until r has finished.
func (d *document) waitFor(r *resource) {
	if r.finished || slices.Contains(r.waiting, d) {
		return
	}
	r.waiting = append(r.waiting, d)
	d.delays++
}

// change gives a request that is under way another priority.
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

// whenBegun runs f on the main thread once r's first content is there, or never
// will be.
func (p *Page) whenBegun(r *resource, f func()) {
	if r.finished || r.size > 0 {
		p.post(f)
		return
	}
	r.began = append(r.began, f)
}

// ok says whether a finished resource may be used.
func (r *resource) ok() bool {
	return r.finished && !r.failed && (r.head.Status == 0 || r.head.Status/100 == 2 || r.head.Status == 304)
}

// finish ends a resource and wakes who waited.
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

// finalURL is where a resource came from after redirects.
func (r *resource) finalURL() string {
	if r.head.URL != "" {
		return r.head.URL
	}
	return r.URL
}
