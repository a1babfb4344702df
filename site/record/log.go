package record

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/browser"
)

// request collects the browser's events about one request. Times are seconds of the
// browser's clock.
type request struct {
	id       network.RequestID
	sent     *network.EventRequestWillBeSent
	asked    target.SessionID // reported the request
	answered target.SessionID // reported the response
	response *network.Response
	raw      bool    // the browser reports the raw response head
	ended    float64 // 0: under way
	received float64 // octets of head and body on the wire
	octets   int64   // of the decoded body
	failure  string  // why the response is missing or incomplete
	cached   bool    // from the cache, or made by the browser

	body    []byte
	hasBody bool
	text    bool // the browser delivers the body as text
}

// onWire is a response's head as it crossed the wire.
type onWire struct {
	header network.Headers
	status int64
}

// log collects the events of all sessions of a page's targets. One session may report a
// request and another its response, or several the same: request IDs are unique within the
// browser.
type log struct {
	// fetch requests a response's body from a session.
	fetch   func(of *request, from target.SessionID)
	changed chan struct{} // receives a value after the state below has changed
	readers sync.WaitGroup
	limits  limits

	mu       sync.Mutex
	requests []*request
	current  map[network.RequestID]*request // the last of a chain of redirects
	open     map[network.RequestID]*request // those of them that are in flight
	heads    map[network.RequestID][]onWire // of the chain, in order
	latest   float64                        // time of the last event
	loaded   float64                        // when the page's load event fired; 0: not yet
	crashed  error
	targets  int      // frames and workers at the moment
	octets   int64    // that the browser has reported
	bodies   int64    // octets of bodies
	full     bool     // a limit is exceeded, and further events are ignored
	sockets  []string // URLs of WebSockets
	reading  int      // bodies
	over     bool     // further events are ignored
}

// newLog returns a log that calls full, once, when it exceeds a limit.
func newLog(requests int, bodies int64, full func(cause error)) *log {
	return &log{limits: limits{requests, bodies, full}, changed: make(chan struct{}, 1), current: map[network.RequestID]*request{}, open: map[network.RequestID]*request{}, heads: map[network.RequestID][]onWire{}}
}

// stir wakes the waiters to look at the state again.
func (l *log) stir() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// note handles an event from the page's session or from that of a frame or worker.
func (l *log) note(from target.SessionID, page bool, event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.full {
		return
	}
	if page {
		l.notePage(event)
	}
	l.noteRequest(from, event)
	l.stir()
}

func (l *log) notePage(event any) {
	switch e := event.(type) {
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			l.loaded = 0 // the event was the previous page's
		}
	case *page.EventLoadEventFired:
		l.loaded = e.Timestamp.Float64()
	case *inspector.EventTargetCrashed:
		l.crashed = errors.New("the page's process crashed")
	}
}

func (l *log) noteRequest(from target.SessionID, event any) {
	switch e := event.(type) {
	case *network.EventWebSocketCreated:
		l.sockets = append(l.sockets, e.URL)
	case *target.EventDetachedFromTarget:
		l.gone(e.SessionID)
	case *network.EventRequestWillBeSent:
		l.begin(from, e)
	case *network.EventRequestServedFromCache:
		if r := l.current[e.RequestID]; r != nil {
			r.cached = true
		}
	case *network.EventResponseReceivedExtraInfo:
		l.heads[e.RequestID] = append(l.heads[e.RequestID], onWire{e.Headers, e.StatusCode})
	case *network.EventResponseReceived:
		if r := l.current[e.RequestID]; r != nil && r.response == nil {
			r.answer(e.Response, e.HasExtraInfo)
			r.answered = from
		}
	case *network.EventDataReceived:
		if r := l.current[e.RequestID]; r != nil && r.answered == from {
			r.octets += e.DataLength
		}
	case *network.EventLoadingFinished:
		if r := l.current[e.RequestID]; r != nil && r.ended == 0 {
			l.end(r, e.Timestamp.Float64(), e.EncodedDataLength)
			l.read(r, from)
		}
	case *network.EventLoadingFailed:
		if r := l.current[e.RequestID]; r != nil && r.ended == 0 {
			l.end(r, e.Timestamp.Float64(), r.received)
			if e.Canceled && r.empty() {
				r.hasBody = true
				return
			}
			r.failure = e.ErrorText
			if e.BlockedReason != "" {
				r.failure = "blocked: " + string(e.BlockedReason)
			}
			l.read(r, from)
		}
	}
}

// begin records a request. Every session that sees a service worker reports its requests.
func (l *log) begin(from target.SessionID, e *network.EventRequestWillBeSent) {
	if !strings.HasPrefix(e.Request.URL, "http://") && !strings.HasPrefix(e.Request.URL, "https://") {
		return
	}
	at := e.Timestamp.Float64()
	if before := l.current[e.RequestID]; before != nil {
		if before.sent.Timestamp == e.Timestamp && before.sent.Request.URL == e.Request.URL {
			return
		}
		if e.RedirectResponse != nil {
			before.answer(e.RedirectResponse, e.RedirectHasExtraInfo)
			before.hasBody = true // the body of a redirect is never delivered
			l.end(before, at, e.RedirectResponse.EncodedDataLength)
			// The browser upgraded http to https on its own (RFC 6797).
			before.cached = before.cached || value(e.RedirectResponse.Headers, "non-authoritative-reason") != ""
		}
	}
	r := &request{id: e.RequestID, sent: e, asked: from}
	l.latest = max(l.latest, at)
	l.current[e.RequestID], l.open[e.RequestID] = r, r
	l.requests = append(l.requests, r)
}

// answer records a response's head. The browser fetches resources announced by Early Hints
// (RFC 8297) into the cache before the page requests them, and does not report those
// fetches.
func (r *request) answer(response *network.Response, raw bool) {
	r.response, r.raw = response, raw
	if !response.FromEarlyHints {
		r.cached = r.cached || response.FromDiskCache || response.FromServiceWorker || response.FromPrefetchCache
	}
}

// end records the end of a request and its octets. A request for a resource that another
// request is fetching waits for that one and is served from the cache.
func (l *log) end(r *request, at, received float64) {
	r.ended, r.received = at, received
	delete(l.open, r.id)
	l.latest = max(l.latest, at)
	if a := r.response; a != nil && a.ConnectionID == 0 && a.Timing != nil && received == 0 && !a.FromEarlyHints {
		r.cached = true
	}
}

// read requests the body of a finished response.
func (l *log) read(r *request, from target.SessionID) {
	if r.response == nil || r.cached {
		return
	}
	if r.empty() {
		r.hasBody = true
		return
	}
	l.reading++
	l.readers.Go(func() { l.fetch(r, from) })
}

// take records the browser's answer about a body.
func (l *log) take(r *request, answer network.GetResponseBodyResult, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading--
	switch {
	case err == nil && (len(answer.Body) > 0 || r.octets == 0):
		l.bodies += int64(len(answer.Body))
		if l.limit(); l.bodies <= l.limits.bodies {
			r.body, r.hasBody, r.text = answer.Body, true, !answer.Base64encoded
		}
	case r.octets == 0 && r.failure == "": // the browser has no entry for empty bodies
		r.hasBody = true
	}
	l.stir()
}

// gone ends the requests that a detached target left unfinished. The target's own document
// or script is complete if it ever ran.
func (l *log) gone(id target.SessionID) {
	for key, r := range l.open {
		if r.answered == id || r.response == nil && r.asked == id {
			r.ended = l.latest
			r.failure = "its frame or worker ended"
			delete(l.open, key)
		}
	}
}

// empty reports whether a response has no content by definition. Chromium calls such a
// response canceled if the page does not read it.
func (r *request) empty() bool {
	return r.response != nil && browser.Empty(r.sent.Request.Method, r.response.Status)
}

// pageLoaded reports whether the page's load event has fired.
func (l *log) pageLoaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded > 0
}

// idle reports whether the page has loaded and no request is pending.
func (l *log) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded > 0 && l.reading == 0 && len(l.open) == 0
}

// answered reports whether there has been a response.
func (l *log) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.requests, func(r *request) bool { return r.response != nil })
}

// crash returns the error of a crashed page process, or nil.
func (l *log) crash() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crashed
}

// close ends the log and waits for the body reads in progress.
func (l *log) close() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.readers.Wait()
}

// value returns a header field's value, or "". name must be in lower case.
func value(headers network.Headers, name string) string {
	for n, v := range headers {
		if text, ok := v.(string); ok && strings.EqualFold(n, name) {
			return text
		}
	}
	return ""
}
