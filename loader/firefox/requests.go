package firefox

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// moments are the times of a request's stages in ms since the Unix epoch, 0 for
// stages it did not reach. Firefox reports them to the microsecond.
type moments struct {
	Request       float64 `json:"requestTime"` // the page made the request
	DNSStart      float64 `json:"dnsStart"`
	DNSEnd        float64 `json:"dnsEnd"`
	ConnectStart  float64 `json:"connectStart"`
	ConnectEnd    float64 `json:"connectEnd"` // TLS included
	TLSStart      float64 `json:"tlsStart"`
	RequestStart  float64 `json:"requestStart"`
	ResponseStart float64 `json:"responseStart"`
	ResponseEnd   float64 `json:"responseEnd"`
}

type header struct {
	Name  string `json:"name"`
	Value struct {
		Type  string `json:"type"` // "string" or "base64"
		Value string `json:"value"`
	} `json:"value"`
}

// networkEvent holds the fields that the events of the module network share
// (WebDriver BiDi, section 7.12.5), and some that only a few have.
type networkEvent struct {
	RedirectCount int         `json:"redirectCount"`
	Timestamp     float64     `json:"timestamp"` // ms since the Unix epoch, whole
	Request       requestData `json:"request"`
	Initiator     struct {
		Type string `json:"type"`
	} `json:"initiator"`
	Response  *response `json:"response"`
	ErrorText string    `json:"errorText"`
}

// requestData is each event's description of its request.
type requestData struct {
	ID            string   `json:"request"`
	URL           string   `json:"url"`
	Method        string   `json:"method"`
	Headers       []header `json:"headers"`
	BodySize      int64    `json:"bodySize"`
	Destination   string   `json:"destination"`
	InitiatorType string   `json:"initiatorType"`
	Timings       moments  `json:"timings"`
}

type response struct {
	Protocol      string   `json:"protocol"`
	Status        int      `json:"status"`
	StatusText    string   `json:"statusText"`
	FromCache     bool     `json:"fromCache"`
	Headers       []header `json:"headers"`
	MimeType      string   `json:"mimeType"`
	BytesReceived int64    `json:"bytesReceived"` // head and body as transferred
	BodySize      int64    `json:"bodySize"`      // as transferred, not decoded
}

// hop identifies a request in a chain of redirects.
type hop struct {
	id    string
	count int
}

// request is one request of the page, assembled from the browser's events.
// Times are ms since the Unix epoch.
type request struct {
	told      requestData // from the latest event
	initiator string
	started   float64
	ended     float64 // 0: in flight
	response  *response
	failure   string

	again     bool   // the page has made a similar request before
	familiar  bool   // the page has received a similar response before
	unawaited string // why the load ended without it; usually empty
}

// requestLog collects the requests of one page in the order in which they were
// made.
type requestLog struct {
	requests []*request
	byHop    map[hop]*request
	open     int // requests in flight
	news     browser.News
	newest   int // number of requests when there was last something new in a response
	loaded   int // number of requests when the page counted as loaded
	notes    browser.Notes
}

func newRequestLog() requestLog { return requestLog{byHop: map[hop]*request{}} }

// onNetwork reports whether a URL is fetched over the network.
func onNetwork(rawURL string) bool {
	return strings.HasPrefix(rawURL, "http://") || strings.HasPrefix(rawURL, "https://")
}

// note records an event. It ignores one that it cannot parse.
func (l *requestLog) note(method string, params json.RawMessage) {
	var e networkEvent
	if json.Unmarshal(params, &e) != nil || !onNetwork(e.Request.URL) {
		return
	}
	if e.Response == nil && (method == "network.responseStarted" || method == "network.responseCompleted") {
		return
	}
	key := hop{e.Request.ID, e.RedirectCount}
	r := l.byHop[key]
	if method == "network.beforeRequestSent" {
		r = &request{told: e.Request, initiator: e.Initiator.Type, started: e.Request.Timings.Request}
		r.again = !l.news.Ask(e.Request.Method, e.Request.URL)
		l.byHop[key] = r
		l.open++
		l.requests = append(l.requests, r)
		return
	}
	if r == nil {
		return
	}
	before := r.ended
	r.told = e.Request
	switch method {
	case "network.responseStarted":
		r.response = e.Response
		r.familiar = !l.news.Answer(e.Request.Method, e.Request.URL, int64(e.Response.Status), e.Response.length())
	case "network.responseCompleted":
		r.response, r.ended = e.Response, cmp.Or(e.Request.Timings.ResponseEnd, e.Timestamp)
	case "network.fetchError":
		r.ended = cmp.Or(e.Request.Timings.ResponseEnd, e.Timestamp)
		if e.ErrorText != aborted || !r.empty() {
			r.failure = cmp.Or(e.ErrorText, "failed")
		}
	}
	if before == 0 && r.ended != 0 {
		l.open--
	}
	if !r.familiar {
		l.news.Came()
		l.newest = len(l.requests)
	}
}

// length returns the length announced in the head of a response, or -1.
func (r *response) length() int64 {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "content-length") {
			return browser.Length(h.Value.Value)
		}
	}
	return -1
}

// due returns when the last awaited request is due, since the Unix epoch.
func (l *requestLog) due(awaited []browser.Awaited, loaded time.Time) time.Duration {
	if len(awaited) == 0 {
		return 0
	}
	ended := map[string]time.Duration{}
	for _, r := range l.requests {
		ended[r.told.URL] = time.Duration(r.ended * float64(time.Millisecond))
	}
	return browser.Due(awaited, ended, time.Duration(loaded.UnixNano()))
}

// aborted is Firefox's error for a response that it withholds from a page.
const aborted = "NS_BINDING_ABORTED"

// empty reports whether a response has no content, by definition or as announced. Firefox
// calls such a response from another origin aborted, since it is not an image, a script or
// whatever the page had requested.
func (r *request) empty() bool {
	if r.response == nil {
		return false
	}
	return browser.Empty(r.told.Method, int64(r.response.Status)) || r.response.length() == 0
}

// underWay counts the requests in flight.
func (l *requestLog) underWay() int { return l.open }

// close ends the log of a page that counts as loaded: unfinished requests began too late
// to count, or are what the load gave up waiting for.
func (l *requestLog) close(gaveUp bool) {
	var left browser.Left
	for i, r := range l.requests {
		open := r.ended == 0
		switch {
		case gaveUp && (r.familiar && i >= l.newest || open && r.response == nil && r.again):
			r.unawaited = browser.Repeated
		case open && i >= l.loaded:
			r.unawaited = browser.TooLate
		case open && gaveUp && r.response != nil:
			r.unawaited = browser.NeverEnded
		default:
			continue
		}
		left.Add(r.told.Method, r.told.URL, r.unawaited)
	}
	left.Note(&l.notes)
}

// unfinished returns the requests in flight.
func (l *requestLog) unfinished() []browser.Unfinished {
	var list []browser.Unfinished
	for _, r := range l.requests {
		if r.ended == 0 {
			list = append(list, browser.Unfinished{Method: r.told.Method, URL: r.told.URL, Answered: r.response != nil})
		}
	}
	return list
}

// navigationStart returns the page's time origin in ns since the Unix epoch:
// the document was requested fetchStart ms after it.
func (l *requestLog) navigationStart(fetchStart float64) int64 {
	if len(l.requests) == 0 {
		return 0
	}
	return nanoseconds(l.requests[0].started - fetchStart)
}

func nanoseconds(milliseconds float64) int64 { return int64(milliseconds * 1e6) }

// har returns the requests as HAR 1.2.
func (l *requestLog) har(version string, timing capture.Timing) *capture.HAR {
	const pageID = "page_1"
	har := &capture.HAR{Log: capture.Log{
		Version: "1.2",
		Creator: capture.Program{Name: "wiretime", Version: "1"},
		Browser: capture.Program{Name: "Firefox", Version: version},
	}}
	if len(l.requests) == 0 {
		return har
	}
	har.Log.Pages = []capture.Page{{
		Started: time.Unix(0, timing.NavigationStart).UTC(),
		ID:      pageID,
		Title:   l.requests[0].told.URL,
		Comment: l.notes.String(),
		Timings: capture.PageTimings{
			OnContentLoad: timing.DCL, OnLoad: timing.OnLoad,
			FirstContentfulPaint: timing.FCP, LargestContentfulPaint: timing.LCP,
		},
	}}
	for _, r := range l.requests {
		entry := r.entry()
		entry.Page = pageID
		har.Log.Entries = append(har.Log.Entries, entry)
	}
	return har
}

func (r *request) entry() capture.Entry {
	told := r.told
	e := capture.Entry{
		Started: time.Unix(0, nanoseconds(r.started)).UTC(),
		Request: capture.Request{
			Method: told.Method, URL: told.URL,
			Headers: pairs(told.Headers), QueryString: browser.Query(told.URL),
			HeadersSize: -1, BodySize: told.BodySize,
		},
		Response:     capture.Response{HeadersSize: -1, BodySize: -1, Error: r.failure},
		Initiator:    capture.Initiator{Type: r.initiator},
		ResourceType: resourceType(told.Destination, told.InitiatorType),
		Time:         max(0, r.ended-r.started),
		Unawaited:    r.unawaited,
	}
	e.Timings = told.Timings.phases(r.started, r.ended)
	if r.ended == 0 {
		e.Time = 0
		e.Timings = capture.Timings{DNS: -1, Connect: -1, SSL: -1}
		if r.unawaited == "" {
			e.Response.Error = "no whole response when the load ended"
		}
	}
	if r.response != nil {
		r.response.describe(&e)
	}
	return e
}

func (r *response) describe(e *capture.Entry) {
	e.Protocol = r.Protocol
	e.Request.HTTPVersion, e.Response.HTTPVersion = r.Protocol, r.Protocol
	e.Response.Status, e.Response.StatusText = r.Status, r.StatusText
	e.Response.Headers = pairs(r.Headers)
	e.Response.TransferSize, e.Response.BodySize = r.BytesReceived, r.BodySize
	e.Response.Content = capture.Content{Size: r.BodySize, MimeType: r.MimeType}
	for _, h := range e.Response.Headers {
		switch strings.ToLower(h.Name) {
		case "location":
			e.Response.RedirectURL = h.Value
		case "content-encoding":
			e.Response.Content.Size = -1 // the browser learns it too late
		}
	}
	if r.FromCache {
		e.FromCache = "memory" // the only cache, see preferences
	}
}

// phases splits a request's time, from when the page made it until it ended. The
// time between the moments that the browser reports, and before the first,
// counts as blocked, so that the phases add up to the total. A connection opened
// for an earlier request counts from when this one was made.
func (m moments) phases(started, ended float64) capture.Timings {
	last, total := started, 0.0
	span := func(from, to float64) float64 {
		if from == 0 || to == 0 || to < last {
			return -1
		}
		from = max(from, last)
		last = min(to, ended)
		total += max(0, last-from)
		return max(0, last-from)
	}
	p := capture.Timings{SSL: -1}
	p.DNS = span(m.DNSStart, m.DNSEnd)
	p.Connect = span(m.ConnectStart, m.ConnectEnd)
	if p.Connect >= 0 && m.TLSStart > 0 {
		p.SSL = min(p.Connect, max(0, m.ConnectEnd-m.TLSStart))
	}
	p.Wait = max(0, span(m.RequestStart, m.ResponseStart))
	p.Receive = max(0, span(m.ResponseStart, m.ResponseEnd))
	p.Blocked = max(0, ended-started-total)
	return p
}

// resourceType maps a request's destination (Fetch standard, section 2.2.5) to
// CDP's Network.ResourceType, which the other HARs use.
func resourceType(destination, initiator string) string {
	switch destination {
	case "document", "iframe", "frame":
		return "document"
	case "style":
		return "stylesheet"
	case "image", "script", "font", "manifest":
		return destination
	case "audio", "video":
		return "media"
	case "track":
		return "texttrack"
	}
	switch initiator {
	case "xmlhttprequest":
		return "xhr"
	case "fetch":
		return "fetch"
	}
	return "other"
}

func pairs(headers []header) []capture.Pair {
	out := make([]capture.Pair, len(headers))
	for i, h := range headers {
		out[i] = capture.Pair{Name: h.Name, Value: h.Value.Value}
	}
	return out
}
