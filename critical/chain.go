package critical

import (
	"cmp"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
)

// slack is the possible disagreement of two clocks of a browser: pages see time
// in steps of 0.1 ms.
const slack = int64(100 * time.Microsecond)

// prompt is the longest time between the end of one request and the start of the
// next one that waited for it.
const prompt = int64(time.Millisecond)

// span is [from, to) in ns.
type span struct{ from, to int64 }

// resource is an entry of the HAR on the page's time line, in ns since
// navigationStart.
type resource struct {
	entry      *capture.Entry
	number     int    // of its page's resources, in the order of the HAR
	url        string // as the HAR has it
	address    string // as a server sees it
	epoch      int64  // the page's navigationStart, ns since the Unix epoch
	start, end int64
	phases     [len(phaseOrder)]span // end to end from start to end
}

var phaseOrder = [...]Phase{Blocked, DNS, Connect, SSL, Send, Wait, Receive}

// Indices of phaseOrder.
const (
	atBlocked = 0
	atConnect = 2
	atSSL     = 3
	atSend    = 4
)

// newResource lays an entry's phases end to end so that the last ends with the
// entry. The rest of its time is blocked.
func newResource(e *capture.Entry, navigation time.Time) *resource {
	r := &resource{entry: e, url: e.Request.URL, address: evidence.Address(e.Request.URL), epoch: navigation.UnixNano()}
	r.start = min(longest, max(-longest, int64(e.Started.Sub(navigation))))
	r.end = r.start + nanoseconds(e.Time)
	t := e.Timings
	ssl := nanoseconds(t.SSL)
	lengths := [len(phaseOrder)]int64{
		0, nanoseconds(t.DNS), max(0, nanoseconds(t.Connect)-ssl), min(ssl, nanoseconds(t.Connect)),
		nanoseconds(t.Send), nanoseconds(t.Wait), nanoseconds(t.Receive),
	}
	to := r.end
	for i := len(lengths) - 1; i > 0; i-- {
		from := max(r.start, to-lengths[i])
		r.phases[i] = span{from, to}
		to = from
	}
	r.phases[atBlocked] = span{r.start, to}
	return r
}

// connected returns when the connection that the resource opened was ready, or
// false if it opened none.
func (r *resource) connected() (int64, bool) {
	return r.phases[atSSL].to, r.phases[atConnect].from < r.phases[atSSL].to
}

// urgencies are the priorities of the developer tools' Network domain, which HARs name.
var urgencies = map[string]int{"VeryLow": 1, "Low": 2, "Medium": 3, "High": 4, "VeryHigh": 5}

// urgency returns the resource's last priority, from 1 to 5; 0 if the HAR has none.
func (r *resource) urgency() int {
	return urgencies[cmp.Or(r.entry.Priority, r.entry.InitialPriority)]
}

func (r *resource) isHTTP1() bool {
	name := cmp.Or(r.entry.Protocol, r.entry.Response.HTTPVersion)
	return strings.HasPrefix(strings.ToLower(name), "http/1")
}

// delaysLoad reports whether a page's load event may wait for the resource.
func (r *resource) delaysLoad() bool {
	switch r.entry.ResourceType {
	case "xhr", "fetch", "ping", "beacon", "prefetch", "eventsource", "websocket", "cspviolationreport", "preflight":
		return false
	}
	return true
}

// link is a span of the path with the resource that took it.
type link struct {
	span
	phase    Phase
	resource *resource // in ClientPhase the next one; nil: onLoad
}

// chain walks back over the resources of a page.
type chain struct {
	page      *capture.Page
	onLoad    int64
	resources []*resource // in the order of the HAR
	document  *resource   // the first to be requested
	causes    *causes     // filled in by walk
	links     []link      // found by the walk, the last first
	at        int64       // the walk has explained the time after this
}

// newChains builds the chains of the pages that have an onLoad. Entries that name no
// page belong to the first page.
func newChains(h *capture.HAR) []*chain {
	var list []*chain
	byPage := map[string]*chain{}
	for i := range h.Log.Pages {
		page := &h.Log.Pages[i]
		c := &chain{page: page, onLoad: nanoseconds(page.Timings.OnLoad)}
		if i == 0 {
			byPage[""] = c
		}
		if byPage[page.ID] == nil {
			byPage[page.ID] = c
		}
		if c.onLoad > 0 {
			list = append(list, c)
		}
	}
	for i := range h.Log.Entries {
		e := &h.Log.Entries[i]
		if c := byPage[e.Page]; c != nil && c.onLoad > 0 && !evidence.Inline(e.Request.URL) {
			c.add(newResource(e, c.page.Started))
		}
	}
	return list
}

func (c *chain) add(r *resource) {
	r.number = len(c.resources)
	c.resources = append(c.resources, r)
	if c.document == nil || r.start < c.document.start {
		c.document = r
	}
}

// walk goes back from onLoad, from each resource to its cause.
func (c *chain) walk() []link {
	c.at, c.causes = c.onLoad, newCauses(c.resources)
	seen := map[*resource]bool{}
	var next *resource
	for r := c.last(); r != nil && !seen[r] && c.at > 0; {
		seen[r] = true
		c.back(r.end, ClientPhase, next)
		for i := len(phaseOrder) - 1; i > atBlocked; i-- {
			c.back(r.phases[i].from, phaseOrder[i], r)
		}
		if holder, until := c.holder(r); holder != nil && !seen[holder] {
			c.back(until, Blocked, r)
			next, r = r, holder
			continue
		}
		c.back(r.start, Blocked, r)
		next, r = r, c.cause(r)
		if seen[r] && !seen[c.document] {
			// Resources from a cache take no time, so scripts of the same moment may appear to cause
			// each other. The document precedes them all.
			r = c.document
		}
	}
	c.back(0, ClientPhase, next)
	return c.links
}

// back adds the time between to and the walk's present position.
func (c *chain) back(to int64, phase Phase, r *resource) {
	if to = max(0, to); to < c.at {
		c.links = append(c.links, link{span{to, c.at}, phase, r})
		c.at = to
	}
}

// last returns the resource that decided onLoad: the last to end before it.
func (c *chain) last() *resource {
	var best *resource
	for _, r := range c.resources {
		if r.delaysLoad() && r.end <= c.onLoad+slack && r.start < c.onLoad && (best == nil || endsLater(r, best)) {
			best = r
		}
	}
	return best
}

// holder returns the resource that delayed the sending of r, and until when.
func (c *chain) holder(r *resource) (*resource, int64) {
	blocked := r.phases[atBlocked]
	if blocked.from >= blocked.to {
		return nil, 0
	}
	if r.isHTTP1() {
		if before := c.causes.before(r); before != nil && before.end > blocked.from {
			return before, min(before.end, blocked.to)
		}
	}
	if q := c.causes.opener(r, blocked.from, blocked.to+slack); q != nil {
		ready, _ := q.connected()
		return q, min(ready, blocked.to)
	}
	if blocked.to-blocked.from < prompt {
		return nil, 0
	}
	if room := c.causes.ended.best(blocked.to-prompt, blocked.to+slack, r); room != nil {
		return room, min(room.end, blocked.to)
	}
	return nil, 0
}

// cause returns the resource that triggered the request for r, or nil if the
// user did.
func (c *chain) cause(r *resource) *resource {
	if q := c.causes.redirect(r); q != nil {
		return q
	}
	cause := c.causes.initiator(r)
	if cause == nil && r != c.document {
		cause = c.document
	}
	if cause == nil || cause.end >= r.start {
		return cause
	}
	// A parser that has its document resumes when the script or style sheet
	// that blocks it has arrived.
	if waited := c.causes.blocking.best(cause.end, r.start, r); waited != nil {
		return waited
	}
	return cause
}
