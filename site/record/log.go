package record

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/browser"
)

// request is one request, gathered from the browser's events. Times are seconds of the
// browser's clock.
type request struct {
	id       network.RequestID
	sent     *network.EventRequestWillBeSent
	asked    target.SessionID // which told of the request
	answered target.SessionID // which told of the response
	response *network.Response
	raw      bool    // the browser tells of the response's head as it came
	ended    float64 // 0: under way
	received float64 // octets, head and body as they came
	octets   int64   // of the body, content coding undone
	failure  string  // why there is no response, or not all of it
	cached   bool    // or made by the browser itself

	body    []byte
	hasBody bool
	text    bool // the browser gives the body as text
}

// onWire is a response's head as it came over the wire.
type onWire struct {
	header network.Headers
	status int64
}

// log gathers what the sessions of a page's targets tell. One may tell of a request and
// another of its response, or several of the same: the browser has one way of numbering them
// all.
type log struct {
	// fetch asks a session for a response's body.
	fetch   func(of *request, from target.SessionID)
	changed chan struct{} // holds one value after the state below has changed
	readers sync.WaitGroup

	mu       sync.Mutex
	requests []*request
	current  map[network.RequestID]*request // the latest one of a chain of redirects
	heads    map[network.RequestID][]onWire // of the chain, in its order
	latest   float64                        // when it was last told of something
	loaded   float64                        // when the page's load event fired; 0: not yet
	crashed  error
	sockets  []string // URLs of WebSockets
	reading  int      // bodies
	over     bool     // nothing is taken in any more
}

func newLog() *log {
	return &log{changed: make(chan struct{}, 1), current: map[network.RequestID]*request{}, heads: map[network.RequestID][]onWire{}}
}

// stir has whoever waits look at the state again.
func (l *log) stir() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// note takes in what a session tells: that of the page itself, or of one of its frames and
// workers.
func (l *log) note(from target.SessionID, page bool, event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
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
			l.loaded = 0 // that was the page before
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

// begin takes in a request. Each session that hears of a service worker tells of it.
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
			before.hasBody = true // nobody is shown it
			l.end(before, at, e.RedirectResponse.EncodedDataLength)
			// The browser takes https for http of its own accord (RFC 6797).
			before.cached = before.cached || value(e.RedirectResponse.Headers, "non-authoritative-reason") != ""
		}
	}
	r := &request{id: e.RequestID, sent: e, asked: from}
	l.latest = max(l.latest, at)
	l.current[e.RequestID] = r
	l.requests = append(l.requests, r)
}

// answer takes in a response's head. What the server has told of by early hints (RFC 8297)
// is fetched into the cache before anybody asks for it, and nobody tells of that.
func (r *request) answer(response *network.Response, raw bool) {
	r.response, r.raw = response, raw
	if !response.FromEarlyHints {
		r.cached = r.cached || response.FromDiskCache || response.FromServiceWorker || response.FromPrefetchCache
	}
}

// end takes in that a request has ended, and how many octets had come for it. One that needs
// what is on its way for another waits for that, and gets it from the cache.
func (l *log) end(r *request, at, received float64) {
	r.ended, r.received = at, received
	l.latest = max(l.latest, at)
	if a := r.response; a != nil && a.ConnectionID == 0 && a.Timing != nil && received == 0 && !a.FromEarlyHints {
		r.cached = true
	}
}

// read asks for the body of a response that has come.
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

// take takes in what the browser has said of a body.
func (l *log) take(r *request, answer network.GetResponseBodyResult, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading--
	switch {
	case err == nil && (len(answer.Body) > 0 || r.octets == 0):
		r.body, r.hasBody, r.text = answer.Body, true, !answer.Base64encoded
	case r.octets == 0 && r.failure == "": // it knows nothing of bodies without octets
		r.hasBody = true
	}
	l.stir()
}

// gone ends the requests that a target has left under way. Its own document or script is
// there if it ever ran.
func (l *log) gone(id target.SessionID) {
	for _, r := range l.current {
		if r.ended == 0 && (r.answered == id || r.response == nil && r.asked == id) {
			r.ended = l.latest
			r.failure = "its frame or worker ended"
		}
	}
}

// empty says whether a response has no content by definition. Where a page does not read
// one of these, Chromium calls it canceled.
func (r *request) empty() bool {
	return r.response != nil && browser.Empty(r.sent.Request.Method, r.response.Status)
}

// pageLoaded says whether the page's load event has fired.
func (l *log) pageLoaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded > 0
}

// idle says whether the page has loaded and nothing is under way.
func (l *log) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded == 0 || l.reading > 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Collect(maps.Values(l.current)), func(r *request) bool { return r.ended == 0 })
}

// answered says whether there has been a response.
func (l *log) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.requests, func(r *request) bool { return r.response != nil })
}

// crash is how the page's process died, if it did.
func (l *log) crash() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crashed
}

// close ends the log, and returns when what it had begun has ended.
func (l *log) close() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.readers.Wait()
}

// value is a header field's, or empty. Its name is in lower case.
func value(headers network.Headers, name string) string {
	for n, v := range headers {
		if text, ok := v.(string); ok && strings.EqualFold(n, name) {
			return text
		}
	}
	return ""
}
