package page

import (
	"container/heap"
	"slices"
	"time"
)

// Page is one page being loaded. Its methods must not be called from several
// goroutines at once.
type Page struct {
	config Config
	view   viewport
	now    time.Duration

	// The main thread: tasks in the order they came, each when the one before
	// is through. after is what a task that takes time does at its end.
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
	adopted    bool // what was recorded after the load event and has no initiator
	unfinished int  // resources
	imports    int  // stylesheets that others import

	matching, matchingFar int // how much selectors have been matched
}

// New makes a page that has asked for nothing yet.
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

// Begin asks for the document.
func (p *Page) Begin(now time.Duration) {
	p.until(now)
	url, ok := resolve(p.config.URL, p.config.URL)
	if !ok {
		p.main.close()
		return
	}
	p.main.url, p.main.base = url, url
	p.main.navigate(want{url: url, kind: Document, priority: VeryHigh, initiator: Initiator{Type: "other"}})
	p.until(now)
}

// Respond takes the head of a request's final response.
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

// Hint takes the Link fields of an early response to the request (103 Early
// Hints, RFC 8297), or what stands for them.
func (p *Page) Hint(now time.Duration, id int, links []string) {
	r := p.at(now, id)
	if r == nil || r.stream == nil {
		return
	}
	r.stream.preloadLinks(links, "preload")
	p.until(now)
}

// Data takes content of a response, its content coding undone. The page keeps
// nothing of b.
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

// Finish ends a request: its content is complete, or will stay as it is
// because of err.
func (p *Page) Finish(now time.Duration, id int, err error) {
	if r := p.at(now, id); r != nil {
		p.finish(r, err != nil)
	}
	p.until(now)
}

// Advance says that it is now; whatever was to happen by itself until then
// happens.
func (p *Page) Advance(now time.Duration) { p.until(now) }

// Next is when something happens by itself, if nothing is answered before.
func (p *Page) Next() (at time.Duration, ok bool) {
	if len(p.tasks) > 0 || p.after != nil {
		at, ok = max(p.busy, p.now), true
	}
	if len(p.timers) > 0 && (!ok || p.timers[0].at < at) {
		at, ok = max(p.timers[0].at, p.now), true
	}
	return at, ok
}

// Requests are those made since the last call, in the order in which they are
// to be sent. No URL is asked for twice, and only http and https ones are.
func (p *Page) Requests() []Request {
	out := p.out
	p.out = nil
	return out
}

// Changes are the priorities that changed since the last call.
func (p *Page) Changes() []Change {
	changes := p.changes
	p.changes = nil
	return changes
}

// DCL is when the DOMContentLoaded event fired, if it has.
func (p *Page) DCL() (time.Duration, bool) { return p.main.dcl.at, p.main.dcl.fired }

// Load is when the load event fired, if it has.
func (p *Page) Load() (time.Duration, bool) { return p.main.load.at, p.main.load.fired }

// HeadDone says whether the page's body has begun, which is when Chromium stops
// holding back requests that are not urgent: the scripts of its head have run.
func (p *Page) HeadDone() bool { return p.main.tree.body != nil }

// Close ends a page that may not have been loaded to its end. It must be called
// once for each page; the page must not be used afterwards.
func (p *Page) Close() {
	for _, d := range p.documents {
		d.tokens.stop()
	}
}

// at brings the page to a moment and finds a request.
func (p *Page) at(now time.Duration, id int) *resource {
	p.until(now)
	if id < 0 || id >= len(p.resources) {
		return nil
	}
	return p.resources[id]
}

// until lets happen what happens by itself until now.
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

// step does the one thing that is due.
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
	t := heap.Pop(&p.timers).(timer)
	t.f()
}

// post makes f a task of the main thread.
func (p *Page) post(f func()) { p.tasks = append(p.tasks, f) }

// owe adds to the cost of the running task, which must spend it.
func (p *Page) owe(cost time.Duration) { p.owed += cost }

// spend keeps the main thread busy for what is owed and cost; then f happens,
// if there is one. A task spends once, last.
func (p *Page) spend(cost time.Duration, f func()) {
	p.busy = p.now + time.Duration(float64(p.owed+cost)*p.config.CPU.Scale)
	p.owed, p.after = 0, f
}

// perKB is the cost of some octets.
func perKB(rate time.Duration, octets int) time.Duration {
	return time.Duration(float64(rate) * float64(octets) / 1000)
}

// timer is something to do at a moment.
type timer struct {
	at     time.Duration
	serial int
	f      func()
}

// alarm does f at a moment, whether or not the main thread is busy, unless it is canceled
// before.
func (p *Page) alarm(at time.Duration, f func()) (cancel func()) {
	p.serial++
	serial := p.serial
	heap.Push(&p.timers, timer{at, serial, f})
	return func() {
		if i := slices.IndexFunc(p.timers, func(t timer) bool { return t.serial == serial }); i >= 0 {
			heap.Remove(&p.timers, i)
		}
	}
}

type timers []timer

func (t timers) Len() int      { return len(t) }
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t timers) Less(i, j int) bool {
	if t[i].at != t[j].at {
		return t[i].at < t[j].at
	}
	return t[i].serial < t[j].serial
}
func (t *timers) Push(x any) { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = timer{}
	*t = (*t)[:last]
	return x
}
