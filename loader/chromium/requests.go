package chromium

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/browser"
)

// request is one request of the page, assembled from the browser's events.
// Times are seconds of CLOCK_MONOTONIC, as reported by the browser.
type request struct {
	id       network.RequestID
	sent     *network.EventRequestWillBeSent
	asked    target.SessionID // session that reported the request
	answered target.SessionID // session that reported the response: a frame's or worker's own, once it has started
	response *network.Response
	priority network.ResourcePriority
	ended    float64 // 0: in flight
	received float64 // octets of head and body as transferred
	body     float64 // octets, decoded
	failure  string
	cache    string
	internal string // why the browser internally replaced the URL; usually empty

	encoded   float64 // octets of the body as transferred
	last      float64 // when a part of the response last arrived
	again     bool    // the page has made a similar request before
	familiar  bool    // the page has received a similar response before
	unawaited string  // why the load ended without it; usually empty
}

// onWire is what was sent over the wire of a request and its response. The
// browser reports it in separate events, which may come before or after the
// request's.
type onWire struct {
	request, response network.Headers
	status            int64 // of the response
}

// requestLog collects the requests of one page from the sessions of its targets. One
// session may report a request and another its response, or several the same request;
// the browser numbers them all consistently.
type requestLog struct {
	requests []*request
	current  map[network.RequestID]*request // the latest one of a chain of redirects
	open     map[network.RequestID]*request // those of them that are in flight
	headers  map[network.RequestID]onWire   // of the latest one
	sockets  map[network.RequestID]*request // WebSockets, before and after they shook hands
	earlier  map[cdp.LoaderID]bool          // documents of earlier pages
	own      map[cdp.LoaderID]bool          // documents of this page that were there before the log
	latest   float64                        // time of the last event
	news     browser.News
	newest   float64 // when there was last something new in a response
	loaded   int     // number of requests when the page counted as loaded
	notes    browser.Notes
}

func newRequestLog() requestLog {
	return requestLog{
		current: map[network.RequestID]*request{}, open: map[network.RequestID]*request{}, headers: map[network.RequestID]onWire{},
		sockets: map[network.RequestID]*request{}, earlier: map[cdp.LoaderID]bool{},
	}
}

// next returns a log for the next page. It excludes later requests of documents
// of this page and of earlier ones.
func (l *requestLog) next() requestLog {
	n := newRequestLog()
	maps.Copy(n.earlier, l.earlier)
	maps.Copy(n.earlier, l.documents())
	return n
}

// same returns a log for what comes next on the same page.
func (l *requestLog) same() requestLog {
	n := newRequestLog()
	n.earlier, n.own = l.earlier, l.documents()
	return n
}

// documents returns the documents of the page.
func (l *requestLog) documents() map[cdp.LoaderID]bool {
	all := maps.Clone(l.own)
	if all == nil {
		all = map[cdp.LoaderID]bool{}
	}
	for _, r := range l.requests {
		if r.sent.LoaderID != "" { // empty for workers
			all[r.sent.LoaderID] = true
		}
	}
	return all
}

// onNetwork reports whether a URL is fetched over the network.
func onNetwork(rawURL string) bool {
	return strings.HasPrefix(rawURL, "http://") || strings.HasPrefix(rawURL, "https://")
}

// note records an event of a session.
func (l *requestLog) note(from target.SessionID, event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		l.begin(from, e)
	case *network.EventResponseReceived:
		if r := l.current[e.RequestID]; r != nil && r.response == nil {
			r.answer(e.Response)
			r.answered = from
			l.hear(r, e.Timestamp)
		}
	case *network.EventDataReceived:
		if r := l.current[e.RequestID]; r != nil && r.answered == from {
			r.body += float64(e.DataLength)
			r.encoded += float64(e.EncodedDataLength)
			l.arrive(r, e.Timestamp)
		}
	case *network.EventResourceChangedPriority:
		if r := l.current[e.RequestID]; r != nil {
			r.priority = e.NewPriority
		}
	case *network.EventRequestServedFromCache:
		if r := l.current[e.RequestID]; r != nil {
			r.cache = "memory"
		}
	case *network.EventRequestWillBeSentExtraInfo:
		h := l.headers[e.RequestID]
		h.request = e.Headers
		l.headers[e.RequestID] = h
	case *network.EventResponseReceivedExtraInfo:
		h := l.headers[e.RequestID]
		h.response, h.status = e.Headers, e.StatusCode
		l.headers[e.RequestID] = h
	case *network.EventLoadingFinished:
		if r := l.current[e.RequestID]; r != nil && r.ended == 0 {
			l.end(r, e.Timestamp, e.EncodedDataLength)
		}
	case *network.EventLoadingFailed:
		if r := l.current[e.RequestID]; r != nil && r.ended == 0 {
			l.end(r, e.Timestamp, r.received)
			if !e.Canceled || !r.empty() {
				r.failure = e.ErrorText
			}
		}
	default:
		l.noteSocket(event)
	}
}

// begin records a request. Each session that knows a service worker reports it.
func (l *requestLog) begin(from target.SessionID, e *network.EventRequestWillBeSent) {
	if !onNetwork(e.Request.URL) || l.earlier[e.LoaderID] {
		return
	}
	if before := l.current[e.RequestID]; before != nil {
		if before.sent.Timestamp == e.Timestamp && before.sent.Request.URL == e.Request.URL {
			return
		}
		if e.RedirectResponse != nil {
			before.answer(e.RedirectResponse)
			l.hear(before, e.Timestamp)
			before.internal = field(e.RedirectResponse.Headers, "non-authoritative-reason")
			l.end(before, e.Timestamp, e.RedirectResponse.EncodedDataLength)
		}
	}
	r := &request{id: e.RequestID, sent: e, asked: from, priority: e.Request.InitialPriority}
	r.again = !l.news.Ask(e.Request.Method, e.Request.URL)
	l.latest = max(l.latest, e.Timestamp.Float64())
	l.current[e.RequestID], l.open[e.RequestID] = r, r
	l.requests = append(l.requests, r)
}

// httpCache is where Chromium keeps reusable responses: on the disk, or in memory for
// profiles like those of visits.
const httpCache = "disk"

// answer records the head of a response. Resources announced by early hints (RFC 8297)
// are fetched into the cache before the page requests them, and the browser does not
// report that.
func (r *request) answer(response *network.Response) {
	r.response = response
	if response.FromDiskCache && !response.FromEarlyHints {
		r.cache = httpCache
	}
}

// end records that a request has ended, and how many octets it received. A request for
// something already in flight waits for it, and gets it from the cache.
func (l *requestLog) end(r *request, at cdp.MonotonicTime, received float64) {
	r.ended, r.received = at.Float64(), received
	delete(l.open, r.id)
	l.arrive(r, at)
	l.latest = max(l.latest, r.ended)
	if answer := r.response; answer != nil && answer.ConnectionID == 0 && answer.Timing != nil && received == 0 && !answer.FromEarlyHints {
		r.cache = cmp.Or(r.cache, httpCache)
	}
}

// gone ends the requests that a target has left in flight. If a frame moves to another
// process, its next document moves with it.
func (l *requestLog) gone(id target.SessionID, what target.ID) {
	l.abandon(func(r *request) bool {
		told := r.answered == id || r.response == nil && r.asked == id
		return told && !(r.isDocument() && string(r.sent.FrameID) == string(what))
	})
}

// frameGone ends the requests of a frame that was removed from its page.
func (l *requestLog) frameGone(id cdp.FrameID) {
	l.abandon(func(r *request) bool { return r.sent.FrameID == id })
}

// frameNavigated ends the requests of a frame's earlier documents. The frame may already
// be loading the next one.
func (l *requestLog) frameNavigated(id cdp.FrameID, document cdp.LoaderID) {
	began := l.latest
	if r := l.current[network.RequestID(document)]; r != nil { // not of about:blank
		began = r.sent.Timestamp.Float64()
	}
	l.abandon(func(r *request) bool {
		return r.sent.FrameID == id && r.sent.LoaderID != "" && r.sent.LoaderID != document && r.sent.Timestamp.Float64() < began
	})
}

func (l *requestLog) abandon(which func(*request) bool) {
	for id, r := range l.open {
		if !which(r) {
			continue
		}
		r.ended = l.latest
		delete(l.open, id)
		// A document, or a worker's own script, has arrived if a target has started
		// with it.
		if own := r.response != nil && (r.isDocument() || r.asked != r.answered); !own {
			r.failure = "its frame or worker ended"
		}
	}
}

func (r *request) isDocument() bool { return r.sent.Type == network.ResourceTypeDocument }

// empty reports whether a response has no content by definition. If the page does not
// read such a response, Chromium calls it cancelled.
func (r *request) empty() bool {
	return r.response != nil && browser.Empty(r.sent.Request.Method, r.response.Status)
}

// upgraded returns the host of a page requested without TLS, if it is HSTS-preloaded in
// the browser.
func (l *requestLog) upgraded() string {
	for _, r := range l.requests {
		if !r.isDocument() || r.internal != "HSTS" {
			continue
		}
		if u, err := url.Parse(r.sent.Request.URL); err == nil {
			return u.Hostname()
		}
	}
	return ""
}

// document returns the page's own request. The previous page's service worker may have
// made one earlier.
func (l *requestLog) document() *request {
	for _, r := range l.requests {
		if r.isDocument() {
			return r
		}
	}
	return l.requests[0]
}

// reloaded returns why a reload has failed, and the browser shows an error page; nil if it has not.
func (l *requestLog) reloaded() error {
	if len(l.requests) == 0 {
		return errors.New("the browser reloaded the page without a request")
	}
	if d := l.document(); d.response == nil && d.failure != "" {
		return errors.New(d.failure)
	}
	return nil
}

// due returns when the last awaited request is due, on CLOCK_MONOTONIC.
func (l *requestLog) due(awaited []browser.Awaited, loaded float64) time.Duration {
	if len(awaited) == 0 {
		return 0
	}
	ended := map[string]time.Duration{}
	for _, r := range l.requests {
		ended[r.sent.Request.URL] = time.Duration(nanoseconds(r.ended))
	}
	return browser.Due(awaited, ended, time.Duration(nanoseconds(loaded)))
}

// navigationStart returns the page's time origin in ns since the Unix epoch:
// the document's fetch began fetchStart ms after it.
func (l *requestLog) navigationStart(fetchStart float64, offset int64) int64 {
	if len(l.requests) == 0 {
		return 0
	}
	document := l.document()
	if document.response != nil && document.response.Timing != nil {
		return nanoseconds(document.response.Timing.RequestTime) - int64(fetchStart*1e6) + offset
	}
	return nanoseconds(document.sent.Timestamp.Float64()) + offset
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }
