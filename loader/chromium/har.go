package chromium

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// har returns the requests as HAR 1.2. offset converts CLOCK_MONOTONIC to Unix
// time.
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
		Title:   l.document().sent.Request.URL,
		Comment: l.notes.String(),
		Timings: capture.PageTimings{
			OnContentLoad: timing.DCL, OnLoad: timing.OnLoad,
			FirstContentfulPaint: timing.FCP, LargestContentfulPaint: timing.LCP,
		},
	}}
	for _, r := range l.made() {
		entry := r.entry(offset)
		if h := l.headers[r.id]; l.current[r.id] == r {
			if h.request != nil {
				entry.Request.Headers = pairs(h.request)
			}
			if h.response != nil {
				entry.Response.Headers = pairs(h.response)
			}
			if h.status == http.StatusNotModified {
				// The browser itself reports its cache's status.
				entry.Response.Status, entry.Response.StatusText = http.StatusNotModified, http.StatusText(http.StatusNotModified)
				entry.Response.BodySize = 0
			}
		}
		entry.Page = pageID
		har.Log.Entries = append(har.Log.Entries, entry)
	}
	return har
}

// made returns the requests for which the browser used the network or one of its caches,
// in order. Requests answered by a service worker are left out, but not what the worker
// fetched for them. Requests whose URL the browser itself replaced are left out, too.
func (l *requestLog) made() []*request {
	var list []*request
	for _, r := range l.requests {
		if r.response == nil || !r.response.FromServiceWorker && r.internal == "" {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *request) int { return cmp.Compare(a.sent.Timestamp, b.sent.Timestamp) })
	return list
}

// browserProgram splits a version, as in "Chrome/150.0", into the browser's name and its number.
func browserProgram(version string) capture.Program {
	name, number, _ := strings.Cut(version, "/")
	return capture.Program{Name: name, Version: number}
}

// entry returns a request as an entry of HAR. offset converts CLOCK_MONOTONIC to Unix time.
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
		Unawaited:       r.unawaited,
	}
	if i := sent.Initiator; i != nil {
		e.Initiator = initiator(i)
	}
	if r.ended > 0 {
		e.Time = max(0, (r.ended-sent.Timestamp.Float64())*1000)
	} else if r.unawaited != "" && r.last > 0 {
		e.Time = max(0, (r.last-sent.Timestamp.Float64())*1000)
	}
	if r.response == nil {
		if r.ended == 0 && r.failure == "" && r.unawaited == "" {
			e.Response.Error = "no response when the load ended"
		}
		e.Timings.Blocked = e.Time
		return e
	}
	r.describeResponse(&e)
	e.Timings = r.phases(e.Time)
	return e
}

// describeResponse adds the response to an entry.
func (r *request) describeResponse(e *capture.Entry) {
	response := r.response
	e.Protocol = response.Protocol
	e.Request.HTTPVersion, e.Response.HTTPVersion = response.Protocol, response.Protocol
	e.Response.Status, e.Response.StatusText = int(response.Status), response.StatusText
	e.Response.Headers = pairs(response.Headers)
	e.Response.TransferSize = int64(r.received)
	e.Response.BodySize = int64(max(0, r.received-response.EncodedDataLength))
	e.Response.Content = capture.Content{Size: int64(r.body), MimeType: response.MimeType}
	e.Response.RedirectURL = field(response.Headers, "location")
	e.ServerIPAddress = strings.Trim(response.RemoteIPAddress, "[]")
	if response.ConnectionID > 0 {
		e.Connection = strconv.FormatInt(int64(response.ConnectionID), 10)
	}
}

// phases splits a request's time. The browser reports moments in ms after the
// request left the queue of the page's process. The time between them, and
// before the first, counts as blocked, so that the phases add up to the total.
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

// pairs returns header fields sorted by name, one for each line.
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

// field returns a header field's value, or "". name is in lower case.
func field(headers network.Headers, name string) string {
	for n, value := range headers {
		if strings.EqualFold(n, name) {
			return fmt.Sprint(value)
		}
	}
	return ""
}

// initiator says why a request was made. For a script it is the innermost script with a
// URL in the chain of calls and awaits.
func initiator(i *network.Initiator) capture.Initiator {
	from := capture.Initiator{Type: string(i.Type), URL: i.URL, Line: int(i.LineNumber)}
	for stack := i.Stack; stack != nil && from.URL == ""; stack = stack.Parent {
		for _, frame := range stack.CallFrames {
			if frame.URL != "" {
				from.URL, from.Line = frame.URL, int(frame.LineNumber)+1 // which CDP counts from 0
				break
			}
		}
	}
	return from
}
