package page

import (
	"container/heap"
	"slices"
	"time"

	"wiretime/weburl"
)

// Page is one page being loaded. Its methods must not be called from several
// goroutines at once.
type Page struct {
	config Config
	view   viewport
	now    time.Duration

	// The main thread runs tasks in order of arrival, each when the previous
	// one has finished. after is what a task that takes time does at its end.
	busy   time.Duration
	after  func()
	owed   time.Duration // what the running task has cost so far
	tasks  []func()
	timers timers
	serial int

	main       *document
	documents  []*document
	resources  []*resource
	byURL      map[string]*resource
	out        []Request
	changes    []Change
	recorded   recordings
	adopted    bool // the recorded requests after the load event without an initiator have been made
	unfinished int  // unfinished resources
	imports    int  // imported stylesheets

	matching, matchingFar int // work spent on matching selectors
	matcher               matcher
	rendered              int // work spent on frames, in elements
	reparsed              int // octets of sheets that were parsed again
}

// New returns a page that has requested nothing yet.
func New(c Config) *Page {
	if c.Width <= 0 {
		c.Width = 1280
	}
	if c.Height <= 0 {
		c.Height = 800
	}
	if c.PixelRatio <= 0 {
		c.PixelRatio = 1
	}
	if c.CPU.Scale <= 0 {
		c.CPU.Scale = 1
	}
	p := &Page{config: c, byURL: map[string]*resource{}, recorded: newRecordings(c.Recorded)}
	p.view = viewport{float64(c.Width), float64(c.Height), c.PixelRatio}
	p.main = p.newDocument(nil, c.URL)
	return p
}

// NewStep returns a page that has been loaded and on which a user does something: what Config.Recorded has is what
// that causes. It is requested, from the page's document, by Advance; a resource whose initiator is another of
// them follows that one. Begin must not be called.
func NewStep(c Config) *Page {
	c.Recorded = slices.Clone(c.Recorded)
	for i := range c.Recorded {
		c.Recorded[i].BeforeLoad, c.Recorded[i].AfterLoad = false, true
	}
	p := New(c)
	if url, ok := weburl.Resolve("", c.URL); ok {
		p.main.url, p.main.base = url, url
	}
	p.main.dcl.fired, p.main.load.fired = true, true
	return p
}

// Begin requests the document.
func (p *Page) Begin(now time.Duration) {
	p.until(now)
	url, ok := weburl.Resolve("", p.config.URL)
	if !ok {
		p.main.close()
		return
	}
	p.main.url, p.main.base = url, url
	p.main.navigate(want{url: url, kind: Document, priority: VeryHigh, initiator: Initiator{Type: "other"}})
	p.until(now)
}

// Respond handles the head of a request's final response.
func (p *Page) Respond(now time.Duration, id int, h Head) {
	r := p.at(now, id)
	if r == nil || r.finished {
		return
	}
	r.head = h
	if r.stream != nil {
		r.stream.respond(h)
	}
	p.until(now)
}

// Hint handles the Link fields of an early response to the request (103 Early
// Hints, RFC 8297), or of an equivalent.
func (p *Page) Hint(now time.Duration, id int, links []string) {
	r := p.at(now, id)
	if r == nil || r.stream == nil {
		return
	}
	r.stream.preloadLinks(links, "preload")
	p.until(now)
}

// Data handles content of a response, after decoding. The page does not retain
// b.
func (p *Page) Data(now time.Duration, id int, b []byte) {
	r := p.at(now, id)
	if r == nil || r.finished || len(b) == 0 {
		return
	}
	r.size += len(b)
	if r.Kind == Stylesheet {
		r.body = append(r.body, b...)
	}
	for _, f := range r.began {
		p.post(f)
	}
	r.began = nil
	if r.stream != nil {
		r.stream.receive(b)
	}
	p.until(now)
}

// Finish ends a request: its content is complete, or remains incomplete because
// of err.
func (p *Page) Finish(now time.Duration, id int, err error) {
	if r := p.at(now, id); r != nil {
		p.finish(r, err != nil)
	}
	p.until(now)
}

// Advance sets the time. Whatever was due until then happens.
func (p *Page) Advance(now time.Duration) { p.until(now) }

// Next returns when something will happen even if no response arrives.
func (p *Page) Next() (at time.Duration, ok bool) {
	if len(p.tasks) > 0 || p.after != nil {
		at, ok = max(p.busy, p.now), true
	}
	if len(p.timers) > 0 && (!ok || p.timers[0].at < at) {
		at, ok = max(p.timers[0].at, p.now), true
	}
	return at, ok
}

// Requests returns the requests made since the last call, in the order in which
// to send them. No URL is requested twice, and only http and https URLs are.
func (p *Page) Requests() []Request {
	out := p.out
	p.out = nil
	return out
}

// Changes returns the priorities that changed since the last call.
func (p *Page) Changes() []Change {
	changes := p.changes
	p.changes = nil
	return changes
}

// DCL returns when the DOMContentLoaded event fired, if it did.
func (p *Page) DCL() (time.Duration, bool) { return p.main.dcl.at, p.main.dcl.fired }

// Load returns when the load event fired, if it did.
func (p *Page) Load() (time.Duration, bool) { return p.main.load.at, p.main.load.fired }

// HeadDone reports whether the page's body has begun: the scripts of its head
// have run, and Chromium stops delaying requests that are not urgent.
func (p *Page) HeadDone() bool { return p.main.load.fired || p.main.tree.body != nil }

// Close releases a page, which may not be fully loaded. It must be called once
// for each page, which must not be used afterwards.
func (p *Page) Close() {
	for _, d := range p.documents {
		d.tokens.stop()
	}
}

// at advances the page to a moment and returns a request.
func (p *Page) at(now time.Duration, id int) *resource {
	p.until(now)
	if id < 0 || id >= len(p.resources) {
		return nil
	}
	return p.resources[id]
}

// until runs everything that is due until now.
func (p *Page) until(now time.Duration) {
	for {
		at, ok := p.Next()
		if !ok && p.main.load.fired && p.unfinished == 0 && !p.adopted {
			p.adopted = true
			p.adopt(true)
			at, ok = p.Next()
		}
		if !ok || at > now {
			break
		}
		p.now = at
		p.step()
	}
	p.now = max(p.now, now)
}

// step runs the next thing that is due.
func (p *Page) step() {
	if p.busy <= p.now {
		if f := p.after; f != nil {
			p.after = nil
			f()
			return
		}
		if len(p.tasks) > 0 {
			f := p.tasks[0]
			p.tasks[0] = nil
			p.tasks = p.tasks[1:]
			f()
			return
		}
	}
	t := heap.Pop(&p.timers).(*timer)
	t.f()
}

// post queues f as a task of the main thread.
func (p *Page) post(f func()) { p.tasks = append(p.tasks, f) }

// owe adds to the cost of the running task.
func (p *Page) owe(cost time.Duration) { p.owed += cost }

// spend keeps the main thread busy for the owed cost plus cost, then calls f
// unless it is nil. A task calls spend once, as its last step.
func (p *Page) spend(cost time.Duration, f func()) {
	p.busy = p.now + time.Duration(float64(p.owed+cost)*p.config.CPU.Scale)
	p.owed, p.after = 0, f
}

// perKB returns the cost of some octets.
func perKB(rate time.Duration, octets int) time.Duration {
	return time.Duration(float64(rate) * float64(octets) / 1000)
}

// timer is something to do at a given moment.
type timer struct {
	at     time.Duration
	serial int
	f      func()
	place  int // in the heap; -1: not in it any more
}

// alarm calls f at a given moment, whether or not the main thread is busy, unless it is
// cancelled first.
func (p *Page) alarm(at time.Duration, f func()) (cancel func()) {
	p.serial++
	t := &timer{at: at, serial: p.serial, f: f}
	heap.Push(&p.timers, t)
	return func() {
		if t.place >= 0 {
			heap.Remove(&p.timers, t.place)
		}
	}
}

type timers []*timer

func (t timers) Len() int { return len(t) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}
func (t timers) Less(i, j int) bool {
	if t[i].at != t[j].at {
		return t[i].at < t[j].at
	}
	return t[i].serial < t[j].serial
}
func (t *timers) Push(x any) {
	added := x.(*timer)
	added.place = len(*t)
	*t = append(*t, added)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	x.place = -1
	(*t)[last] = nil
	*t = (*t)[:last]
	return x
}
