package chromium

import (
	"fmt"
	"maps"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// request is one request of the page, gathered from the browser's events. Times
// are seconds of CLOCK_MONOTONIC, as the browser gives them.
type request struct {
	id       network.RequestID
	sent     *network.EventRequestWillBeSent
	response *network.Response
	priority network.ResourcePriority
	ended    float64 // 0: under way
	received float64 // octets, head and body as they came
	body     float64
	failure  string
	cache    string
}

// onWire is what of a request and its response went over the wire. The
// browser tells of them in events of their own, which may come before or after
// the request's.
type onWire struct {
	request, response network.Headers
	status            int64 // of the response
}

// requestLog gathers the requests of one page in the order they were made.
type requestLog struct {
	requests []*request
	current  map[network.RequestID]*request // the latest one of a chain of redirects
	headers  map[network.RequestID]onWire   // likewise
	earlier  map[cdp.LoaderID]bool          // documents of the pages before
}

func newRequestLog() requestLog {
	return requestLog{
		current: map[network.RequestID]*request{}, headers: map[network.RequestID]onWire{},
		earlier: map[cdp.LoaderID]bool{},
	}
}

// next is a log for the page after this one. What documents of this page and of
// those before still ask for is no part of it.
func (l *requestLog) next() requestLog {
	n := newRequestLog()
	maps.Copy(n.earlier, l.earlier)
	for _, r := range l.requests {
		if r.sent.LoaderID != "" { // as of workers
			n.earlier[r.sent.LoaderID] = true
		}
	}
	return n
}

// onNetwork tells URLs that are fetched from those that are not.
func onNetwork(rawURL string) bool {
	return strings.HasPrefix(rawURL, "http://") || strings.HasPrefix(rawURL, "https://")
}

func (l *requestLog) note(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !onNetwork(e.Request.URL) || l.earlier[e.LoaderID] {
			return
		}
		if before := l.current[e.RequestID]; before != nil && e.RedirectResponse != nil {
			before.response = e.RedirectResponse
			before.received = e.RedirectResponse.EncodedDataLength
			before.ended = e.Timestamp.Float64()
		}
		r := &request{id: e.RequestID, sent: e, priority: e.Request.InitialPriority}
		l.current[e.RequestID] = r
		l.requests = append(l.requests, r)
	case *network.EventResponseReceived:
		if r := l.current[e.RequestID]; r != nil {
			r.response = e.Response
			if e.Response.FromDiskCache {
				r.cache = "disk"
			}
		}
	case *network.EventDataReceived:
		if r := l.current[e.RequestID]; r != nil {
			r.body += float64(e.DataLength)
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
		if r := l.current[e.RequestID]; r != nil {
			r.ended, r.received = e.Timestamp.Float64(), e.EncodedDataLength
		}
	case *network.EventLoadingFailed:
		if r := l.current[e.RequestID]; r != nil {
			r.ended, r.failure = e.Timestamp.Float64(), e.ErrorText
		}
	}
}

// underWay counts requests that have neither finished nor failed.
func (l *requestLog) underWay() int {
	n := 0
	for _, r := range l.current {
		if r.ended == 0 {
			n++
		}
	}
	return n
}

// navigationStart is the page's time origin in ns since the Unix epoch: the
// document's fetch began fetchStart ms after it.
func (l *requestLog) navigationStart(fetchStart float64, offset int64) int64 {
	if len(l.requests) == 0 {
		return 0
	}
	document := l.requests[0]
	if document.response != nil && document.response.Timing != nil {
		return nanoseconds(document.response.Timing.RequestTime) - int64(fetchStart*1e6) + offset
	}
	return nanoseconds(document.sent.Timestamp.Float64()) + offset
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }

// har writes the requests down as HAR 1.2. offset turns CLOCK_MONOTONIC into
// Unix time.
func (l *requestLog) har(version string, timing capture.Timing, offset int64) *capture.HAR {
	const pageID = "page_1"
	har := &capture.HAR{Log: capture.Log{
		Version: "1.2",
		Creator: capture.Program{Name: "wiretime", Version: "1"},
		Browser: browserProgram(version),
	}}
	if len(l.requests) == 0 {
		return har
	}
	har.Log.Pages = []capture.Page{{
		Started: time.Unix(0, timing.NavigationStart).UTC(),
		ID:      pageID,
		Title:   l.requests[0].sent.Request.URL,
		Timings: capture.PageTimings{
			OnContentLoad: timing.DCL, OnLoad: timing.OnLoad,
			FirstContentfulPaint: timing.FCP, LargestContentfulPaint: timing.LCP,
		},
	}}
	for _, r := range l.requests {
		entry := r.entry(offset)
		if h := l.headers[r.id]; l.current[r.id] == r {
			if h.request != nil {
				entry.Request.Headers = pairs(h.request)
			}
			if h.response != nil {
				entry.Response.Headers = pairs(h.response)
			}
			if h.status == http.StatusNotModified {
				// The browser's own word is that of its cache.
				entry.Response.Status, entry.Response.StatusText = http.StatusNotModified, http.StatusText(http.StatusNotModified)
				entry.Response.BodySize = 0
			}
		}
		entry.Page = pageID
		har.Log.Entries = append(har.Log.Entries, entry)
	}
	return har
}

func browserProgram(version string) capture.Program {
	name, number, _ := strings.Cut(version, "/")
	return capture.Program{Name: name, Version: number}
}

func (r *request) entry(offset int64) capture.Entry {
	sent := r.sent
	e := capture.Entry{
		Started: time.Unix(0, nanoseconds(sent.Timestamp.Float64())+offset).UTC(),
		Request: capture.Request{
			Method: sent.Request.Method, URL: sent.Request.URL,
			Headers: pairs(sent.Request.Headers), QueryString: browser.Query(sent.Request.URL),
			HeadersSize: -1,
		},
		Response:        capture.Response{HeadersSize: -1, BodySize: -1, Error: r.failure},
		Timings:         capture.Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1},
		InitialPriority: string(sent.Request.InitialPriority),
		Priority:        string(r.priority),
		ResourceType:    strings.ToLower(string(sent.Type)),
		FromCache:       r.cache,
	}
	if i := sent.Initiator; i != nil {
		e.Initiator = capture.Initiator{Type: string(i.Type), URL: i.URL, Line: int(i.LineNumber)}
	}
	if r.ended > 0 {
		e.Time = max(0, (r.ended-sent.Timestamp.Float64())*1000)
	}
	if r.response == nil {
		if r.ended == 0 && r.failure == "" {
			e.Response.Error = "no response when the load ended"
		}
		e.Timings.Blocked = e.Time
		return e
	}
	r.describeResponse(&e)
	e.Timings = r.phases(e.Time)
	return e
}

func (r *request) describeResponse(e *capture.Entry) {
	response := r.response
	e.Protocol = response.Protocol
	e.Request.HTTPVersion, e.Response.HTTPVersion = response.Protocol, response.Protocol
	e.Response.Status, e.Response.StatusText = int(response.Status), response.StatusText
	e.Response.Headers = pairs(response.Headers)
	e.Response.TransferSize = int64(r.received)
	e.Response.BodySize = int64(r.body)
	e.Response.Content = capture.Content{Size: int64(r.body), MimeType: response.MimeType}
	e.Response.RedirectURL = location(response.Headers)
	e.ServerIPAddress = strings.Trim(response.RemoteIPAddress, "[]")
	if response.ConnectionID > 0 {
		e.Connection = strconv.FormatInt(int64(response.ConnectionID), 10)
	}
}

// phases splits a request's time. The browser gives moments, in ms after the
// request left the queue of the page's process; whatever lies between them, and
// before the first, is time that the request was held up: blocked. So the
// phases add up to the whole.
func (r *request) phases(total float64) capture.Timings {
	t := r.response.Timing
	if t == nil {
		return capture.Timings{Blocked: total, DNS: -1, Connect: -1, SSL: -1}
	}
	span := func(from, to float64) float64 {
		if from < 0 || to < 0 {
			return -1
		}
		return max(0, to-from)
	}
	p := capture.Timings{
		DNS:     span(t.DNSStart, t.DNSEnd),
		Connect: span(t.ConnectStart, t.ConnectEnd),
		SSL:     span(t.SslStart, t.SslEnd),
		Send:    max(0, span(t.SendStart, t.SendEnd)),
		Wait:    max(0, span(t.SendEnd, t.ReceiveHeadersStart)),
	}
	if t.ReceiveHeadersStart > 0 && r.ended > 0 {
		p.Receive = max(0, (r.ended-t.RequestTime)*1000-t.ReceiveHeadersStart)
	}
	p.Blocked = max(0, total-max(0, p.DNS)-max(0, p.Connect)-p.Send-p.Wait-p.Receive)
	return p
}

func pairs(headers network.Headers) []capture.Pair {
	out := make([]capture.Pair, 0, len(headers))
	for name, value := range headers {
		for line := range strings.SplitSeq(fmt.Sprint(value), "\n") {
			out = append(out, capture.Pair{Name: name, Value: line})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func location(headers network.Headers) string {
	for name, value := range headers {
		if strings.EqualFold(name, "location") {
			return fmt.Sprint(value)
		}
	}
	return ""
}
