package fetch

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"wiretime/capture"
)

// userAgent is how the loader names itself, to servers and in HAR.
const userAgent = "wiretime-fetch"

// readSize is how much of a body is read at a time: no less than a frame of HTTP/2,
// which would be acknowledged in parts otherwise.
const readSize = 32 << 10

// request is one resource that is asked for. Its moments are durations since
// navigationStart, -1 where it did not come to that.
type request struct {
	http      *http.Request
	origin    *origin
	kind      string // of the resource; empty: as its content type says
	initiator string // URL; empty: the user

	started  time.Duration // the page asked for it
	sending  time.Duration // the connection was ready for it
	sent     time.Duration
	answered time.Duration // the response began to arrive
	ended    time.Duration // it had arrived whole, or failed

	connection  *connection
	first       bool    // over its connection
	dns         float64 // ms that the look-up took; -1: made for another request
	response    *http.Response
	body        int64 // octets
	transferred int64 // octets, head and body; -1: not known
	err         error
}

func newRequest(h *http.Request, o *origin) *request {
	return &request{http: h, origin: o, sending: -1, sent: -1, answered: -1, ended: -1, transferred: -1}
}

// over notes the connection that a request goes over. The first one to a host
// tells of the look-up, the first one over a connection of how it was opened.
func (r *request) over(c *connection) {
	r.connection, r.first, c.told = c, !c.told, true
	r.dns, r.origin.dns = r.origin.dns, -1
}

// read takes in a response whose head has arrived.
func (r *request) read(response *http.Response) error {
	defer response.Body.Close()
	r.response = response
	buffer := make([]byte, readSize)
	for {
		n, err := response.Body.Read(buffer)
		r.body += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the body after %d octets: %w", r.body, err)
		}
	}
}

// final reads responses up to the first that is not an interim one, which have no
// body (RFC 9110 section 15.2).
func final(read func() (*http.Response, error)) (*http.Response, error) {
	for {
		response, err := read()
		if err != nil || response.StatusCode >= http.StatusOK {
			return response, err
		}
	}
}

// failure is the error of a request that failed, for people.
func (r *request) failure() error { return fmt.Errorf("fetch %s: %w", r.http.URL, r.err) }

// duration reads a moment that was set by another goroutine; -1 if it was not.
func duration(moment *atomic.Int64) time.Duration {
	if d := moment.Load(); d > 0 {
		return time.Duration(d)
	}
	return -1
}

// timing is the load's, as far as it came.
func (v *Visit) timing() capture.Timing {
	t := capture.Timing{NavigationStart: v.began.UnixNano(), DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}
	if len(v.asked) == 0 || v.asked[0].err != nil {
		return t
	}
	t.TTFB, t.DCL = milliseconds(v.asked[0].answered), milliseconds(v.asked[0].ended)
	var last time.Duration
	for _, r := range v.asked {
		if r.err != nil {
			return t
		}
		last = max(last, r.ended)
	}
	t.OnLoad, t.LastResource = milliseconds(last), milliseconds(last)
	return t
}

// har writes the load down as HAR 1.2, in the shape that the browser's loads have.
func (v *Visit) har(timing capture.Timing) *capture.HAR {
	const pageID = "page_1"
	har := &capture.HAR{Log: capture.Log{
		Version: "1.2",
		Creator: capture.Program{Name: "wiretime", Version: "1"},
		Browser: capture.Program{Name: userAgent, Version: "1"},
	}}
	if len(v.asked) == 0 {
		return har
	}
	har.Log.Pages = []capture.Page{{
		Started: v.began.UTC(), ID: pageID, Title: v.asked[0].http.URL.String(),
		Timings: capture.PageTimings{OnContentLoad: timing.DCL, OnLoad: timing.OnLoad, FirstContentfulPaint: -1, LargestContentfulPaint: -1},
	}}
	for _, r := range v.asked {
		entry := r.entry(v.began)
		entry.Page = pageID
		har.Log.Entries = append(har.Log.Entries, entry)
	}
	return har
}

func (r *request) entry(began time.Time) capture.Entry {
	e := capture.Entry{
		Started: began.Add(r.started).UTC(),
		Time:    milliseconds(r.ended - r.started),
		Request: capture.Request{
			Method: r.http.Method, URL: r.http.URL.String(),
			Headers: pairs(r.http.Header), QueryString: pairs(r.http.URL.Query()), HeadersSize: -1,
		},
		Response:     capture.Response{HeadersSize: -1, BodySize: -1, TransferSize: -1},
		Initiator:    capture.Initiator{Type: "other", URL: r.initiator},
		ResourceType: r.kind,
	}
	if c := r.connection; c != nil {
		e.Connection, e.ServerIPAddress = strconv.Itoa(c.number), c.remote
	}
	if r.err != nil {
		e.Response.Error = r.err.Error()
	}
	if r.response != nil {
		r.describeResponse(&e)
	}
	e.Timings = r.phases(e.Time)
	return e
}

func (r *request) describeResponse(e *capture.Entry) {
	e.Protocol = r.origin.visit.protocol.Spoken
	version := e.Protocol
	if strings.HasPrefix(r.response.Proto, "SPDY/") {
		version = r.response.Proto
	}
	e.Request.HTTPVersion, e.Response.HTTPVersion = version, version
	e.Response.Status = r.response.StatusCode
	_, e.Response.StatusText, _ = strings.Cut(r.response.Status, " ")
	e.Response.Headers = pairs(r.response.Header)
	e.Response.TransferSize, e.Response.BodySize = r.transferred, r.body
	e.Response.RedirectURL = r.response.Header.Get("Location")
	e.Response.Content.Size = r.body
	// A type that cannot be read is as good as none.
	e.Response.Content.MimeType, _, _ = mime.ParseMediaType(r.response.Header.Get("Content-Type"))
	if e.ResourceType == "" {
		e.ResourceType = resourceType(e.Response.Content.MimeType)
	}
}

// phases splits a request's time of total ms. What lies before and between the
// moments that are known is time that the request was held up, so that the phases
// add up to the whole.
func (r *request) phases(total float64) capture.Timings {
	p := capture.Timings{Blocked: total, DNS: -1, Connect: -1, SSL: -1}
	if r.answered < 0 {
		return p
	}
	if r.first {
		p.DNS, p.Connect, p.SSL = r.dns, r.connection.connect, r.connection.ssl
	}
	p.Send = milliseconds(r.sent - r.sending)
	p.Wait = milliseconds(r.answered - r.sent)
	p.Receive = milliseconds(r.ended - r.answered)
	p.Blocked = max(0, total-max(0, p.DNS)-max(0, p.Connect)-p.Send-p.Wait-p.Receive)
	return p
}

// resourceType is what browsers would call a resource of the given content type.
func resourceType(contentType string) string {
	kind, subtype, _ := strings.Cut(contentType, "/")
	switch {
	case kind == "image", kind == "font":
		return kind
	case kind == "audio", kind == "video":
		return "media"
	case contentType == "text/css":
		return "stylesheet"
	case contentType == "text/html":
		return "document"
	case strings.HasSuffix(subtype, "javascript"):
		return "script"
	}
	return "other"
}

// pairs are the fields of a header, or of a query, sorted by their names.
func pairs[M http.Header | url.Values](fields M) []capture.Pair {
	var out []capture.Pair
	for name, values := range fields {
		for _, value := range values {
			out = append(out, capture.Pair{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(out, func(a, b capture.Pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}
