package critical

import (
	"cmp"
	"net/url"
	"slices"
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
	url        string
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
	r := &resource{entry: e, url: e.Request.URL}
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
	resources []*resource // in the order of the HAR
	document  *resource   // the first to be requested
	links     []link      // found by the walk, the last first
	at        int64       // the walk has explained the time after this
}

// newChain builds the chain of a page from its entries. Entries that name no
// page belong to the first page.
func newChain(h *capture.HAR, page *capture.Page, isFirst bool) *chain {
	c := &chain{}
	for i := range h.Log.Entries {
		e := &h.Log.Entries[i]
		if e.Page != page.ID && (e.Page != "" || !isFirst) || evidence.Inline(e.Request.URL) {
			continue
		}
		r := newResource(e, page.Started)
		c.resources = append(c.resources, r)
		if c.document == nil || r.start < c.document.start {
			c.document = r
		}
	}
	return c
}

// walk goes back from onLoad, from each resource to its cause.
func (c *chain) walk(onLoad int64) []link {
	c.at = onLoad
	seen := map[*resource]bool{}
	var next *resource
	for r := c.last(onLoad); r != nil && !seen[r] && c.at > 0; {
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
func (c *chain) last(onLoad int64) *resource {
	return c.latest(func(r *resource) bool { return r.delaysLoad() && r.end <= onLoad+slack && r.start < onLoad })
}

// latest returns the resource that ends last among those that fit; on a tie the
// first.
func (c *chain) latest(fits func(*resource) bool) *resource {
	var best *resource
	for _, r := range c.resources {
		if fits(r) && (best == nil || r.end > best.end) {
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
	shares := func(q *resource) bool {
		return q != r && q.entry.Connection != "" && q.entry.Connection == r.entry.Connection && q.entry.ServerIPAddress == r.entry.ServerIPAddress
	}
	if r.isHTTP1() {
		before := c.latest(func(q *resource) bool {
			return shares(q) && q.phases[atSend].from < r.phases[atSend].from && q.end > blocked.from
		})
		if before != nil {
			return before, min(before.end, blocked.to)
		}
	}
	for _, q := range c.resources {
		if ready, opened := q.connected(); opened && shares(q) && ready > blocked.from && ready <= blocked.to+slack {
			return q, min(ready, blocked.to)
		}
	}
	if blocked.to-blocked.from < prompt {
		return nil, 0
	}
	room := c.latest(func(q *resource) bool { return q != r && q.end > blocked.to-prompt && q.end <= blocked.to+slack })
	if room != nil {
		return room, min(room.end, blocked.to)
	}
	return nil, 0
}

// cause returns the resource that triggered the request for r, or nil if the
// user did.
func (c *chain) cause(r *resource) *resource {
	if q := c.redirect(r); q != nil {
		return q
	}
	cause := c.initiator(r)
	if cause == nil && r != c.document {
		cause = c.document
	}
	if cause == nil || cause.end >= r.start {
		return cause
	}
	// A parser that has its document resumes when the script or style sheet
	// that blocks it has arrived.
	waited := c.latest(func(q *resource) bool {
		blocks := q.entry.ResourceType == "script" || q.entry.ResourceType == "stylesheet"
		return q != r && blocks && q.end > cause.end && q.end <= r.start
	})
	if waited != nil {
		return waited
	}
	return cause
}

// redirect returns the resource whose response redirected the browser to r.
func (c *chain) redirect(r *resource) *resource {
	return c.latest(func(q *resource) bool {
		if q == r || q.entry.Response.RedirectURL == "" || q.end > r.start+slack {
			return false
		}
		base, err := url.Parse(q.url)
		if err != nil {
			return false
		}
		target, err := base.Parse(q.entry.Response.RedirectURL)
		return err == nil && evidence.Address(target.String()) == evidence.Address(r.url)
	})
}

// initiator returns the resource that r's HAR entry names: the latest of its URL
// requested before r.
func (c *chain) initiator(r *resource) *resource {
	name := r.entry.Initiator.URL
	if name == "" {
		return nil
	}
	var best *resource
	index := slices.Index(c.resources, r)
	for i, q := range c.resources {
		isBefore := q.start < r.start || q.start == r.start && i < index
		if q != r && isBefore && evidence.Address(q.url) == evidence.Address(name) && (best == nil || q.start > best.start) {
			best = q
		}
	}
	return best
}
